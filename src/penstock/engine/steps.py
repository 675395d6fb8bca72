"""The seven steps of a micro-batch, by name."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Step(StrEnum):
    """A step of a micro-batch.

    Whoever asks is told when a step's work is done. ``SHARE`` and ``SINKS`` are told once for every
    stream that was kept and every sink that was written, so that there is a moment between two.
    Until there are windows, ``WINDOWS`` is the advance of the watermark, which is known when the
    sinks are written.
    """

    LOAD = "load"
    COMPILE = "compile"
    SHARE = "share"
    WINDOWS = "windows"
    SINKS = "sinks"
    COMMIT = "commit"
    PLAN = "plan"


OnStep = Callable[[Step, int], None]
