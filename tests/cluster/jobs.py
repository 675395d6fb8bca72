"""Runs jobs on the tests' cluster, whose executors do not have Penstock, one after another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from standalone import OwnDisk

import penstock

HERE = Path(__file__).parent


class Jobs:
    """The cluster as tests see it: jobs that share one application, and programs on their own.

    An application has all of the cluster, so there is one at a time. The shared one stays until a
    program needs its place, or until it fails; the next job then gets a new one.
    """

    def __init__(self, master: str, python: Path, where: Path, disk: OwnDisk | None) -> None:
        self.master = master
        self.python = python
        self.disk = disk
        self._log = where / "driver.log"
        self._shared: subprocess.Popen[str] | None = None
        self._executors: list[Any] = []
        self._environment = os.environ | {
            "PYSPARK_PYTHON": str(python),
            "PYTHONPATH": str(Path(penstock.__file__).parent.parent),
        }

    def run(self, job: str, *arguments: object, within_seconds: float = 300) -> dict[str, Any]:
        """Run a job in the shared application; return what it told."""
        self._start()
        assert self._shared is not None
        assert self._shared.stdin is not None
        self._shared.stdin.write(json.dumps([job, [str(each) for each in arguments]]) + "\n")
        self._shared.stdin.flush()
        answer = self._answer(within_seconds)
        if "failed" in answer:
            self.close()  # whatever was wrong is not to meet the next job
            raise AssertionError(f"{job} failed:\n{answer['failed']}")
        told: dict[str, Any] = answer["told"]
        return told

    def run_alone(
        self, program: Path, *arguments: object, within_seconds: float = 300
    ) -> dict[str, Any]:
        """Run a program that starts Spark by itself, with all of the cluster; return its JSON."""
        self.close()
        done = subprocess.run(
            [sys.executable, str(program), self.master, *(str(each) for each in arguments)],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=within_seconds,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4_000:]
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told

    def executors(self) -> list[tuple[str, bool]]:
        """Return where each Python of new executors is, and whether it had Penstock."""
        self._start()
        return [(prefix, has_it) for prefix, has_it in self._executors]

    def close(self) -> None:
        """End the shared application."""
        if self._shared is None:
            return
        shared, self._shared = self._shared, None
        try:
            shared.communicate(timeout=60)  # which closes its input: there are no more jobs
        except subprocess.TimeoutExpired:
            shared.kill()
            shared.communicate()

    def _start(self, within_seconds: float = 300) -> None:
        if self._shared is not None and self._shared.poll() is None:
            return
        with self._log.open("w") as log:
            self._shared = subprocess.Popen(
                [sys.executable, str(HERE / "shared_driver.py"), self.master],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._executors = self._answer(within_seconds)["executors"]

    def _answer(self, within_seconds: float) -> dict[str, Any]:
        """Read the next line that is an answer; a driver that takes too long is ended."""
        assert self._shared is not None
        assert self._shared.stdout is not None
        limit = threading.Timer(within_seconds, self._shared.kill)
        limit.start()
        try:
            for line in self._shared.stdout:
                if line.startswith("{"):
                    answer: dict[str, Any] = json.loads(line)
                    return answer
        finally:
            limit.cancel()
        self._shared.wait()
        self._shared = None
        raise AssertionError(
            f"the driver ended, or took over {within_seconds:g} s:\n"
            f"{self._log.read_text()[-4_000:]}"
        )
