"""What the benchmarks share: a session, memory of a process tree, tables and JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import penstock as ps
from penstock.journal import BatchFinished, Follower


def session(master: str) -> SparkSession:
    """Start Spark as a benchmark wants it: quiet, on this machine, adaptive execution off."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config("spark.driver.memory", "2g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def await_rows(query: ps.Query, rows: int, limit_seconds: float) -> None:
    """Wait until so many rows were committed."""
    until = time.monotonic() + limit_seconds
    with Follower(query.journal_dir) as journal:
        taken = 0
        while taken < rows:
            if time.monotonic() > until or query.await_termination(0.2):
                raise RuntimeError(f"{taken} of {rows} rows were committed")
            bodies = [event.body for event in journal.poll()]
            taken += sum(b.observation.rows_in for b in bodies if isinstance(b, BatchFinished))


def spark_jobs(spark: SparkSession) -> int:
    """Count the jobs that Spark has run so far."""
    store: Any = spark.sparkContext._jsc.sc()
    store.listenerBus().waitUntilEmpty()
    return int(store.statusStore().jobsList(None).size())


def peak_memory_mb(command: list[str], every_seconds: float = 0.1) -> float:
    """Run a command and return the largest sum of resident memory of its whole process tree."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(every_seconds):
            peak = max(peak, sum(map(_resident_mb, _tree(process.pid))))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        if process.wait():
            raise RuntimeError(f"{command} failed")
    finally:
        done.set()
        watcher.join()
    return peak


def _tree(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, queue = [], [root]
    while queue:
        current = queue.pop()
        found.append(current)
        queue.extend(children.get(current, []))
    return found


def _resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_seconds(root: int) -> float:
    """Add up the processor time that a process and all it started have had; Linux alone tells."""
    ticks = 0
    for pid in _tree(root):
        try:
            stat = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # With what children that are gone had used: user, system, and both of the children.
        ticks += sum(int(field) for field in stat[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def show(rows: list[dict[str, Any]], title: str, as_json: bool, summary: str = "") -> None:
    """Print results as a table, or as JSON, and what they come to."""
    if as_json:
        told = {"summary": summary} if summary else {}
        print(json.dumps({"benchmark": title, "results": rows, **told}, indent=1))
        return
    table = Table(title=title)
    for name in rows[0]:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    console = Console(width=140)
    console.print(table)
    if summary:
        console.print(summary)
