"""What POSG's scheduler and instances tell each other (figure 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from penstock.placement.cost_sketch import CostSketch


@dataclass(frozen=True, slots=True)
class Matrices:
    """From an instance: what its tuples cost since the last time."""

    instance: int
    sketch: CostSketch


@dataclass(frozen=True, slots=True)
class Request:
    """To an instance, together with a tuple: its work by the scheduler, this tuple included."""

    epoch: int
    estimated_seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """From an instance: its work, less what the scheduler estimated when it asked."""

    instance: int
    epoch: int
    difference_seconds: float


class Submission(NamedTuple):
    """The instance for a tuple, and what to ask it along with the tuple."""

    instance: int
    request: Request | None
