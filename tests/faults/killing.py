"""Runs a job in a process of its own, and kills it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from penstock.engine.steps import Step

JOB = Path(__file__).with_name("killed_job.py")
LIMIT_SECONDS = 180


def run_job(
    where: Path,
    step: str = "never",
    after: float = 0.0,
    wait: float | None = None,
    job: Path = JOB,
) -> int:
    """Run the job in a process group of its own; kill the group ``wait`` seconds after its start.

    Returns its exit code: 0 at the end of the stream, -9 when it was killed.
    """
    process = subprocess.Popen(
        [sys.executable, str(job), str(where), step, str(after)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if wait is not None:
            try:
                return process.wait(wait)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        return process.wait(LIMIT_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def kills(count: int, seed: int, steps: Sequence[Step] = tuple(Step)) -> list[dict[str, object]]:
    """Return how each run dies: at every step in turn, shortly after a step, at any moment."""
    dice = random.Random(seed)
    plan: list[dict[str, object]] = []
    for number in range(count):
        step = steps[number % len(steps)].value
        if number < count * 5 // 8:
            plan.append({"step": step})
        elif number < count * 7 // 8:
            plan.append({"step": step, "after": dice.uniform(0.0, 0.3)})
        else:
            plan.append({"wait": dice.uniform(0.0, 6.0)})
    return plan
