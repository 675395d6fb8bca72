"""Which processes a Spark cluster on this machine is made of, and what memory each has."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import psutil

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
DRIVER = "org.apache.spark.deploy.SparkSubmit"
JCMD_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Seen:
    """A process and its resident memory; ``since`` tells it from another that gets its number.

    ``kind`` is ``driver_jvm``, ``driver_python``, ``executor`` or ``worker``: a Python that runs
    tasks of an executor.
    """

    kind: str
    pid: int
    since: float
    resident_mb: float


def look(driver_pid: int | None) -> list[Seen]:
    """Find the driver, executors and workers among what this process has started."""
    found = []
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process().children(recursive=True)
        executors = {each.pid for each in children if _is(each, EXECUTOR)}
        for each in children:
            kind = _kind(each, driver_pid, executors)
            if kind is not None:
                found += _seen(each, kind)
    return found


def _kind(process: psutil.Process, driver_pid: int | None, executors: set[int]) -> str | None:
    if process.pid == driver_pid:
        return "driver_python"
    if process.pid in executors:
        return "executor"
    if _is(process, DRIVER):
        return "driver_jvm"
    with suppress(psutil.Error):
        # A daemon forks the workers; it runs no task itself.
        daemon = process.parent()
        if daemon is not None and daemon.ppid() in executors and _is(process, "pyspark.daemon"):
            return "worker"
    return None


def _is(process: psutil.Process, word: str) -> bool:
    with suppress(psutil.Error):
        return any(word in part for part in process.cmdline())
    return False


def _seen(process: psutil.Process, kind: str) -> Iterator[Seen]:
    with suppress(psutil.Error):
        resident = process.memory_info().rss / 1e6
        yield Seen(kind, process.pid, round(process.create_time(), 2), round(resident, 2))


def heap_after_collection_mb(pid: int) -> float | None:
    """Have a JVM collect its garbage; return what its heap still holds, None if it is gone.

    ``jcmd`` and ``jstat`` are part of a JDK.
    """
    try:
        _tool("jcmd", str(pid), "GC.run")
        names, values = (line.split() for line in _tool("jstat", "-gc", str(pid)).splitlines()[:2])
    except (subprocess.SubprocessError, ValueError):
        return None
    kilobytes = dict(zip(names, values, strict=True))
    used = sum(float(kilobytes[name]) for name in ("S0U", "S1U", "EU", "OU"))
    return round(used * 1024 / 1e6, 2)


def _tool(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=JCMD_SECONDS, check=True)
    return done.stdout
