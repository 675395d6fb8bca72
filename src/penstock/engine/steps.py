"""The seven steps of a micro-batch, by name."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Step(StrEnum):
    """A step of a micro-batch.

    Whoever asks is told when a step's work is done. ``SHARE`` and ``SINKS`` are told once for every
    stream that was kept and every sink that was written, so that there is a moment between two.
    ``WINDOWS`` is told when an operator's partials are written, and again when the windows are
    planned that the watermark closes; without windows, when the watermark has moved on.
    """

    LOAD = "load"
    COMPILE = "compile"
    SHARE = "share"
    WINDOWS = "windows"
    SINKS = "sinks"
    COMMIT = "commit"
    PLAN = "plan"


OnStep = Callable[[Step, int], None]
