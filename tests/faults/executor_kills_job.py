"""The job of the campaign on a cluster, whose executors and workers are killed. Not a test."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "cluster"))

from campaign import job
from cluster_session import session
from pyspark import cloudpickle

import penstock as ps


def main(master: str, where: str, killed: str) -> None:
    """Run micro-batch after micro-batch; at each of them an executor or a worker is killed."""
    cloudpickle.register_pickle_by_value(job)
    spark = session(
        master,
        spark__executor__cores="1",
    )
    work = job.Job(spark, Path(where) / "in", Path(where))
    work.source.mkdir(parents=True, exist_ok=True)
    told = []
    for number, kind in enumerate(killed.split(",")):
        job.write_batch(work.source, number)
        mark = work.executor_mark if kind == "executor" else work.worker_mark
        mark.touch()
        try:
            work.start().await_termination()
            problem = f"the {kind} was not killed" if mark.exists() else ""
        except ps.PenstockError as error:
            problem = str(error)[:600]
        told.append({"kind": kind, "problem": problem})
    job.write_batch(work.source, len(told))
    work.start().await_termination()
    print(json.dumps({"told": told, "differences": work.differences()}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
