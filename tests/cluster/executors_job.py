"""Executors that come and go on a cluster whose executors do not have Penstock. Not a test."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cluster_session import session
from pyspark import TaskContext
from pyspark.sql import SparkSession

import penstock as ps
from penstock import journal

WAIT_SECONDS = 90
ONE_CORE = {"spark__executor__cores": "1"}


def main(master: str, where: str) -> None:
    spark = session(master, **ONE_CORE)
    told: dict[str, Any] = {}
    until(lambda: len(executors(spark)) == 4)  # a standalone cluster begins with all it has
    told["missing"] = ask_for_too_many(spark)
    told["too_few"] = run_with_too_few(spark, where)
    told["busy"] = ask_for_fewer_while_busy(spark, where)
    told["elastic"] = come_and_go(spark)
    told["killed"] = kill_one_in_a_batch(spark, where)
    told["threads_after_stop"] = stop_spark_first(spark)
    spark = session(master, **ONE_CORE | {"spark__executor__cores": "2"})
    told["early"] = attach_before_executors_are_there(spark)
    spark.stop()
    dynamic = {"spark__dynamicAllocation__enabled": "true"}
    spark = session(master, **ONE_CORE, **dynamic)
    told["dynamic"] = refusal(lambda: ps.ExecutorSlots(max=4).attach(spark, print))
    spark.stop()
    print(json.dumps(told))


def ask_for_too_many(spark: SparkSession) -> dict[str, Any]:
    """Ask for more executors than the cluster has room for."""
    said: list[Any] = []
    slots = ps.ExecutorSlots(max=6, patience_seconds=2)
    slots.attach(spark, said.append)
    slots.ask(6)
    until(lambda: any(isinstance(each, journal.FaultSeen) for each in said))
    available, counts = slots.available(spark.sparkContext), slots.counts
    slots.detach()
    faults = [f"{each.what}: {each.detail}" for each in said if isinstance(each, journal.FaultSeen)]
    return {"faults": faults, "available": available, "counts": counts and asdict(counts)}


def run_with_too_few(spark: SparkSession, where: str) -> dict[str, Any]:
    """Run a query that wants more executors than the cluster has room for."""
    df = ps.sources.generate(
        ps.sources.Steady(60), duration_seconds=4, origin="2026-01-01T00:00:00Z", spark=spark
    )
    sink = ps.sinks.parquet(f"{where}/few")
    query = ps.run(
        ps.Stream.read(df).select("id").to(sink),
        checkpoint=f"{where}/few-checkpoint",
        trigger="500 milliseconds",
        policy=ps.Static(6),
        slots=ps.ExecutorSlots(min=6, max=6, patience_seconds=1),
    )
    until(lambda: rows_committed(query) == 240)
    until(lambda: "executors missing" in faults(query))
    query.stop()
    bodies = [event.body for event in journal.read(query.journal_dir)]
    done = [each.observation for each in bodies if isinstance(each, journal.BatchFinished)]
    return {
        "slots": sorted({each.slots_in_use for each in done}),
        "rows": spark.read.parquet(f"{where}/few").distinct().count(),
    }


def faults(query: ps.Query) -> list[str]:
    bodies = [event.body for event in journal.read(query.journal_dir)]
    return [each.what for each in bodies if isinstance(each, journal.FaultSeen)]


def ask_for_fewer_while_busy(spark: SparkSession, where: str) -> dict[str, Any]:
    """Take three of four executors away while two run a task, with little patience."""
    slots = ps.ExecutorSlots(max=4, patience_seconds=1)
    slots.attach(spark, ignore)
    slots.ask(4)
    enough = Path(where) / "enough"

    def wait(rows: Iterator[Any]) -> Iterator[int]:
        while not enough.exists():
            time.sleep(0.1)
        context = TaskContext.get()
        assert context is not None
        yield context.attemptNumber()

    attempts: list[int] = []
    tasks = spark.sparkContext.parallelize(range(2), 2).mapPartitions(wait)
    waiting = threading.Thread(target=lambda: attempts.extend(tasks.collect()))
    waiting.start()
    until(lambda: sum(running(spark).values()) == 2)
    busy = sorted(name for name, tasks in running(spark).items() if tasks)
    slots.ask(1)
    # Who stays may be an idle one: which are busy is known a quarter of a second later.
    until(lambda: len(executors(spark)) < 4)
    time.sleep(1.5)  # in which more could be taken
    left, available = sorted(executors(spark)), slots.available(spark.sparkContext)
    enough.touch()
    waiting.join()
    until(lambda: len(executors(spark)) == 1)
    slots.detach()
    return {"busy": busy, "left": left, "available": available, "attempts": attempts}


def come_and_go(spark: SparkSession) -> dict[str, Any]:
    """Go from 1 executor to 4, and back as far as what they hold allows."""
    said: list[Any] = []
    context = spark.sparkContext
    slots = ps.ExecutorSlots(max=4, patience_seconds=WAIT_SECONDS)
    slots.attach(spark, said.append)
    again = refusal(lambda: slots.attach(spark, print))
    other = refusal(lambda: ps.ExecutorSlots(max=2).attach(spark, print))
    old = set(executors(spark))
    slots.ask(4)
    right_after = slots.available(context)
    until(lambda: slots.available(context) == 4)
    tasks_before_counted = [tasks for name, tasks in executors(spark).items() if name not in old]

    kept = spark.range(0, 200, 1, 2).selectExpr("id", "uuid() AS drawn").persist()
    before = sorted(kept.collect())
    until(lambda: holders(spark))
    began = time.perf_counter()
    slots.ask(1)
    while_leaving = slots.available(context)
    call_seconds = time.perf_counter() - began
    holding = holders(spark)
    until(lambda: holders(spark) == set(executors(spark)) or len(executors(spark)) == 1)
    time.sleep(1.5)  # in which more could be taken
    left, same = set(executors(spark)), sorted(kept.collect()) == before
    kept.unpersist(blocking=True)
    until(lambda: slots.counts == ps.SlotCounts(1, 1, 1, 1))
    slots.detach()
    until(lambda: len(executors(spark)) == 4)  # a standalone cluster gives all it has again
    steps = [each for each in said if isinstance(each, journal.SlotsChanged)]
    return {
        "refused": [again, other],
        "old": len(old),
        "right_after": right_after,
        "tasks_before_counted": tasks_before_counted,
        "while_leaving": while_leaving,
        "call_seconds": call_seconds,
        "holders_left": holding <= left,
        "same": same,
        "steps": [[s.planned, s.requested, s.observed, s.warm, s.reason] for s in steps],
        "faults": [each.detail for each in said if isinstance(each, journal.FaultSeen)],
        "threads": ours(),
    }


def kill_one_in_a_batch(spark: SparkSession, where: str) -> dict[str, Any]:
    """Kill an executor's process, as the kernel would, by a row of a query that runs on it."""

    def wait_or_kill(row: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.02)
        mark = Path(where) / "killed"
        if row["id"] == 450 and not mark.exists():
            mark.touch()
            daemon = os.getppid()
            stat = Path(f"/proc/{daemon}/stat").read_text()
            os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
        return row

    rows = ps.sources.generate(
        ps.sources.Steady(300),
        duration_seconds=8,
        max_rows_per_batch=300,
        origin="2026-01-01T00:00:00Z",
        spark=spark,
    )
    slots = ps.ExecutorSlots(min=4, max=4)
    waited = ps.Stream.read(rows).select("id").map(wait_or_kill, "id bigint")
    query = ps.run(
        waited.to(ps.sinks.parquet(f"{where}/out")),
        checkpoint=f"{where}/checkpoint",
        trigger="1 second",
        policy=ps.Static(4),
        slots=slots,
    )
    fell, back = [], []
    until((Path(where) / "killed").exists)
    until(lambda: fell.append(slots.available(spark.sparkContext)) or min(fell) < 4)
    until(lambda: back.append(slots.available(spark.sparkContext)) or back[-1] == 4)
    until(lambda: rows_committed(query) == 2_400)
    query.stop()
    written = spark.read.parquet(f"{where}/out")
    return {
        "fell_to": min(fell),
        "came_back_to": back[-1],
        "faults": faults(query),
        "rows": written.count(),
        "ids": written.selectExpr("min(id)", "max(id)", "count(DISTINCT id)").first()[:],
        "threads": ours(),
    }


def rows_committed(query: ps.Query) -> int:
    bodies = [event.body for event in journal.read(query.journal_dir)]
    return sum(b.observation.rows_in for b in bodies if isinstance(b, journal.BatchFinished))


def attach_before_executors_are_there(spark: SparkSession) -> dict[str, Any]:
    """Have fewer slots than the cluster, from the moment the session is there until detaching."""
    slots = ps.ExecutorSlots(max=3)
    slots.attach(spark, ignore)
    most = slots.most
    slots.ask(3)
    until(lambda: slots.counts == ps.SlotCounts(2, 2, 2, 2))
    slots.detach()
    until(lambda: len(executors(spark)) == 2)
    return {"most": most, "after": len(executors(spark))}


def stop_spark_first(spark: SparkSession) -> list[str]:
    """End Spark under slots that nobody detached; return the threads that are left."""
    slots = ps.ExecutorSlots(max=4)
    slots.attach(spark, ignore)
    slots.ask(4)
    spark.stop()
    until(lambda: not ours())
    slots.detach()
    return ours()


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {WAIT_SECONDS} s: line {sys._getframe(1).f_lineno}")
        time.sleep(0.05)


def executors(spark: SparkSession) -> dict[str, int]:
    """Return how many tasks each executor has done."""
    return {each["id"]: each["completedTasks"] for each in _stored(spark, "executorList")}


def running(spark: SparkSession) -> dict[str, int]:
    """Return how many tasks each executor runs."""
    return {each["id"]: each["activeTasks"] for each in _stored(spark, "executorList")}


def holders(spark: SparkSession) -> set[str]:
    """Return the executors that hold cached data."""
    return {each["id"] for each in _stored(spark, "executorList") if each["rddBlocks"]}


def _stored(spark: SparkSession, what: str) -> list[dict[str, Any]]:
    jvm: Any = spark._jvm
    mapper = jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
    stored = getattr(spark.sparkContext._jsc.sc().statusStore(), what)(True)
    return [
        each for each in json.loads(mapper.writeValueAsString(stored)) if each["id"] != "driver"
    ]


def ours() -> list[str]:
    """Return the threads that look after executors."""
    names = ("penstock-executors", "penstock-warm")
    return [each.name for each in threading.enumerate() if each.name in names]


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except ps.ConfigurationError as error:
        return str(error)
    return "was not refused"


def ignore(event: object) -> None:
    pass


if __name__ == "__main__":
    main(*sys.argv[1:])
