"""A Spark standalone cluster on this machine, for as long as tests need it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyspark

HOST = "127.0.0.1"
# Of the tests' own environment only this would reach executors and give them this tree's packages.
_DRIVERS_OWN = ("PYTHONPATH", "PYSPARK_PYTHON")
# On few cores a daemon would spend its first seconds compiling.
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True)
class OwnDisk:
    """Directories that a worker sees otherwise than the rest of the machine."""

    hidden: Path
    read_only: Path

    def command(self) -> list[str]:
        """Return what goes before a worker's command to start it in a mount namespace of its own.

        An empty disk lies over ``hidden``: what is written there from outside is not seen inside.
        """
        mounts = 'mount -t tmpfs tmpfs "$1" && mount --bind "$2" "$2"'
        mounts += ' && mount -o remount,ro,bind "$2" && shift 2 && exec "$@"'
        own = ["sh", "-c", mounts, "sh", str(self.hidden), str(self.read_only)]
        return [*namespace_command(), *own]


@cache
def namespace_command() -> tuple[str, ...]:
    """Return the command for a mount namespace that this user may make; empty if there is none."""
    with tempfile.TemporaryDirectory() as empty:
        for command in (("unshare", "-m"), ("unshare", "-r", "-m")):
            attempt = [*command, "mount", "-t", "tmpfs", "tmpfs", empty]
            try:
                done = subprocess.run(attempt, capture_output=True, check=False)
            except OSError:
                continue
            if done.returncode == 0:
                return command
    return ()


@contextmanager
def cluster(
    where: Path,
    workers: int = 2,
    cores: int = 2,
    memory: str = "1g",
    last_disk: OwnDisk | None = None,
) -> Iterator[str]:
    """Start a master and workers; yield the master's address; stop them whatever happens.

    The last of the workers has ``last_disk``.
    """
    home = Path(pyspark.__file__).parent
    environment = {name: text for name, text in os.environ.items() if name not in _DRIVERS_OWN} | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_WORKER_DIR": str(where / "work"),
        "SPARK_LOCAL_DIRS": str(where / "local"),
        "SPARK_DAEMON_JAVA_OPTS": _QUICK,
    }
    started: list[subprocess.Popen[str]] = []
    port = _free_port()
    address = f"spark://{HOST}:{port}"
    daemon = [str(home / "bin" / "spark-class")]
    try:
        master = ["--host", HOST, "--port", str(port), "--webui-port", "0"]
        master = [*daemon, "org.apache.spark.deploy.master.Master", *master]
        started.append(_start(environment, master))
        _wait_for(started[-1], "I have been elected leader")
        worker = ["--host", HOST, "--cores", str(cores), "--memory", memory]
        worker = [*worker, "--webui-port", "0", address]
        worker = [*daemon, "org.apache.spark.deploy.worker.Worker", *worker]
        for number in range(workers):
            is_last = number == workers - 1
            disk = last_disk.command() if is_last and last_disk is not None else []
            started.append(_start(environment, [*disk, *worker]))
        for process in started[1:]:
            _wait_for(process, "Successfully registered with master")
        yield address
    finally:
        for process in reversed(started):
            _stop(process)


def _start(environment: dict[str, str], command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
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
