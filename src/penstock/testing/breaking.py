"""Break a run off at a chosen step, then start it again.

>>> on_step = fail_at("sinks", batch=1)
>>> on_step(Step.SINKS, 0)
>>> on_step(Step.SINKS, 1)
Traceback (most recent call last):
    ...
penstock.testing.breaking.BrokenOff: broken off at 'sinks' of micro-batch 1
"""

from __future__ import annotations

import os
import signal
import threading

from penstock.arguments import check_wait, checked, shown
from penstock.engine.steps import OnStep, Step
from penstock.errors import ConfigurationError


class BrokenOff(Exception):
    """Ends a micro-batch in the middle, inside this process."""


@checked
def fail_at(step: Step | str, batch: int) -> OnStep:
    """Return an ``on_step`` for ``run`` that raises when a step of a micro-batch is done."""
    wanted = _step(step)
    _check_batch("fail_at", batch)

    def on_step(reached: Step, batch_id: int) -> None:
        if reached == wanted and batch_id == batch:
            raise BrokenOff(f"broken off at '{wanted.value}' of micro-batch {batch_id}")

    return on_step


@checked
def kill_at(step: Step | str, batch: int | None = None, after_seconds: float = 0.0) -> OnStep:
    """Return an ``on_step`` that kills this process and its whole group, Spark's JVM included.

    SIGKILL, as when a machine dies: nothing is cleaned up. ``batch`` None takes the first that gets
    there. With ``after_seconds`` the step is passed and death comes that much later, in the middle
    of whatever runs then. Start the process in a group of its own, or its parent dies too.
    """
    wanted = _step(step)
    if batch is not None:
        _check_batch("kill_at", batch)
    check_wait("kill_at", "after_seconds", after_seconds)

    def on_step(reached: Step, batch_id: int) -> None:
        if reached != wanted or batch not in (None, batch_id):
            return
        if after_seconds > 0:
            timer = threading.Timer(after_seconds, _kill_group)
            timer.daemon = True
            timer.start()
        else:
            _kill_group()

    return on_step


def _step(step: Step | str) -> Step:
    if step not in set(Step):
        raise ConfigurationError(
            f"a micro-batch has no step {shown(step)}. Write one of {', '.join(Step)}."
        )
    return Step(step)


def _check_batch(owner: str, batch: int) -> None:
    """Refuse a micro-batch that never comes: a test that waits for its failure would pass."""
    if batch < 0:
        raise ConfigurationError(
            f"{owner}(batch={shown(batch)}) never happens. Write a micro-batch from 0 on."
        )


def _kill_group() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)
