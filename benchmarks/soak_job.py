"""The driver of the soak, in a process of its own so that it can be killed. See soak.py.

    python benchmarks/soak_job.py spark://127.0.0.1:7077 OUT

It reads OUT/load.json, goes on from OUT/checkpoint, and ends after the running micro-batch when it
gets SIGTERM.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path

from executors import session
from soak_topology import SoakLoad, outlets
from windows_flat import FORGETFUL

import penstock as ps
from penstock.demo.job import policy

SLOTS = (2, 3)
# All of a heap from the start: what grows then is not a heap that had not been needed yet.
DRIVER_JAVA = "-Xms1g -XX:+AlwaysPreTouch -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
EXECUTOR_JAVA = "-Xms512m -XX:+AlwaysPreTouch -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def main(master: str, out: str) -> None:
    """Run the query until somebody asks it to stop, or it fails."""
    enough = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: enough.set())
    load = SoakLoad(**json.loads((Path(out) / "load.json").read_text()))
    spark = session(
        master,
        **{name.replace(".", "__"): value for name, value in FORGETFUL.items()},
        spark__driver__memory="1g",
        spark__driver__extraJavaOptions=DRIVER_JAVA,
        spark__executor__extraJavaOptions=EXECUTOR_JAVA,
    )
    least, most = SLOTS
    query = ps.run(
        *outlets(load.read(spark), Path(out)),
        checkpoint=f"{out}/checkpoint",
        placement=ps.CostAware(),
        policy=policy(),
        slots=ps.ExecutorSlots(min=least, max=most),
        trigger=load.trigger_seconds,
        name="penstock-soak",
    )
    while not enough.wait(0.2):
        query.await_termination(0.05)
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
