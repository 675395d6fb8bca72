"""A case of the exactness suite: rows cut into micro-batches, windows, keys and aggregates.

Plain data, so that a case prints as Python that makes it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from penstock.windows.specs import WindowSpec

# One key's name holds a dot, which Spark reads as a path unless it is quoted.
KEYS = ("area", "shard.no", "grade")
SCHEMA = (
    "id bigint, ts timestamp, area string, `shard.no` int, grade double, "
    "whole bigint, real double, price decimal(9,2), word string, ok boolean"
)


@dataclass(frozen=True, slots=True)
class Event:
    """One input row. ``micros`` is its time since the epoch; the order is that of ``SCHEMA``."""

    id: int
    micros: int | None
    area: str | None = None
    shard: int | None = None
    grade: float | None = None
    whole: int | None = None
    real: float | None = None
    price: Decimal | None = None
    word: str | None = None
    ok: bool | None = None

    def fields(self) -> tuple[object, ...]:
        """Return the values of the columns of ``SCHEMA``."""
        return tuple(getattr(self, name) for name in self.__slots__)


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate: its kind, as in ``ps.count``, and what it is taken of."""

    name: str
    kind: str
    column: str | None = None
    where: str | None = None
    setting: float | int | None = None  # the q of a quantile, the k of top_k


@dataclass(frozen=True, slots=True)
class BreakOff:
    """A run that ends in the middle: at a step of a micro-batch, counted in cuts."""

    step: str
    cut: int


@dataclass(frozen=True, slots=True)
class Case:
    """What Spark and Penstock are both given."""

    delay_micros: int
    specs: tuple[WindowSpec, ...]
    keys: tuple[str, ...]
    measures: tuple[Measure, ...]
    cuts: tuple[tuple[Event, ...], ...]
    restarts: tuple[int, ...] = ()  # after how many cuts the query ends and starts again
    break_offs: tuple[BreakOff, ...] = ()
    is_eager: bool = False  # keep blocks, compact and close in bulk wherever that can be done

    def events(self) -> list[Event]:
        """Return the rows of all cuts."""
        return [event for cut in self.cuts for event in cut]


@dataclass(frozen=True, slots=True)
class Second:
    """Windows over the windows of a case's first spec, by some of its keys."""

    specs: tuple[WindowSpec, ...]
    keys: tuple[str, ...]
