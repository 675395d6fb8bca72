"""The job of the campaign, run as a process of its own so that it can be killed. Not a test."""

from __future__ import annotations

import sys
from pathlib import Path

from campaign import job
from killed_session import session
from pyspark import cloudpickle

from penstock.testing import kill_at


def main(where: str, step: str, after_seconds: str) -> None:
    cloudpickle.register_pickle_by_value(job)
    spark = session()
    on_step = None if step == "never" else kill_at(step, after_seconds=float(after_seconds))
    print("ready", flush=True)
    work = job.Job(spark, Path(where) / "in", Path(where))
    work.start(on_step=on_step).await_termination()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
