"""Runs the jobs of a micro-batch: those that wait for nothing side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from graphlib import TopologicalSorter
from queue import SimpleQueue

from pyspark import InheritableThread

from penstock.topology.jobs import Job

RunJob = Callable[[Job], None]


def run_jobs(jobs: Sequence[Job], run: RunJob, cancel: RunJob) -> None:
    """Run every job after those that it waits for; cancel the others when one fails, and raise.

    A job that has nobody beside it runs in the calling thread. Others get threads that carry
    Spark's local properties, so that stopping the query cancels their jobs too.
    """
    by_name = {job.name: job for job in jobs}
    order = TopologicalSorter({job.name: job.after for job in jobs})
    order.prepare()
    finished: SimpleQueue[tuple[str, BaseException | None]] = SimpleQueue()
    running: dict[str, Job] = {}
    failure: BaseException | None = None
    while order.is_active():
        ready = [by_name[name] for name in order.get_ready()] if failure is None else []
        if len(ready) == 1 and not running:
            run(ready[0])
            order.done(ready[0].name)
            continue
        for job in ready:
            running[job.name] = job
            _in_thread(job, run, finished)
        if not running:
            break
        name, error = finished.get()
        del running[name]
        if error is not None and failure is None:
            failure = error
            for other in running.values():
                cancel(other)
        order.done(name)
    if failure is not None:
        raise failure


def _in_thread(
    job: Job, run: RunJob, finished: SimpleQueue[tuple[str, BaseException | None]]
) -> threading.Thread:
    def target() -> None:
        error: BaseException | None = None
        try:
            run(job)
        except BaseException as caught:
            error = caught
        finished.put((job.name, error))

    thread = InheritableThread(target=target, name=f"penstock-{job.name}", daemon=True)
    thread.start()
    return thread
