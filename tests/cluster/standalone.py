"""A Spark standalone cluster on this machine, for as long as a test needs it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark

import penstock

HOST = "127.0.0.1"
START_SECONDS = 60


@contextmanager
def cluster(where: Path, workers: int = 2, cores: int = 2, memory: str = "1g") -> Iterator[str]:
    """Start a master and workers; yield the master's address; stop them whatever happens."""
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_WORKER_DIR": str(where / "work"),
        "SPARK_LOCAL_DIRS": str(where / "local"),
    }
    started: list[subprocess.Popen[str]] = []
    port = _free_port()
    address = f"spark://{HOST}:{port}"
    try:
        master = ["--host", HOST, "--port", str(port), "--webui-port", "0"]
        started.append(_start(home, environment, "master.Master", master))
        _wait_for(started[-1], "I have been elected leader")
        for _ in range(workers):
            worker = ["--host", HOST, "--cores", str(cores), "--memory", memory]
            worker += ["--webui-port", "0", address]
            started.append(_start(home, environment, "worker.Worker", worker))
            _wait_for(started[-1], "Successfully registered with master")
        yield address
    finally:
        for process in reversed(started):
            _stop(process)


def run_job(
    job: Path,
    where: Path,
    workers: int = 2,
    cores: int = 2,
    memory: str = "1g",
    within_seconds: float = 300,
) -> dict[str, Any]:
    """Run a job on a cluster whose executors do not have Penstock; return what it told as JSON."""
    packages = packages_without_penstock(where / "packages")
    source = Path(penstock.__file__).parent.parent
    environment = os.environ | {
        "PYSPARK_PYTHON": bare_python(),
        "PYTHONPATH": f"{packages}{os.pathsep}{source}",
    }
    with cluster(where / "cluster", workers, cores, memory) as master:
        done = subprocess.run(
            [sys.executable, str(job), master, packages, str(where)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=within_seconds,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4_000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _start(
    home: Path, environment: dict[str, str], kind: str, arguments: list[str]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _wait_for(process: subprocess.Popen[str], words: str) -> None:
    """Read the log until it says so; then let it run on into nothing."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if words in line:
            drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
            process.stderr.close()
            process.drain = drain  # type: ignore[attr-defined]
            return
    raise RuntimeError(f"the cluster did not start:\n{''.join(seen)}")


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    drain = getattr(process, "drain", None)
    if drain is not None:
        drain.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def packages_without_penstock(where: Path) -> str:
    """Return a directory with all that is installed here, Penstock apart, for executors to use."""
    site = Path(pyspark.__file__).parent.parent
    where.mkdir()
    for entry in site.iterdir():
        if "penstock" not in entry.name.lower() and entry.suffix != ".pth":
            (where / entry.name).symlink_to(entry)
    return str(where)


def bare_python() -> str:
    """Return the interpreter that this virtual environment was made from."""
    return str(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
