"""What Spark's watermark does, in a page of Python: which windows close when, which rows are late.

#  cut 0                cut 1                        cut 2
#  rows -> watermark 0  rows, minus pairs with       rows, minus pairs with
#  closes up to it      end <= watermark 0 ...       end <= watermark 1 ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from exactness.case import Event
from penstock.windows.specs import WindowSpec

SPARKS_FIRST_WATERMARK = 0  # the epoch: what ends before 1970 is late from the start


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """A window of one spec, in microseconds since the epoch."""

    name: str
    start: int
    end: int


@dataclass(slots=True)
class Model:
    """What is expected of a whole run, cut by cut."""

    watermarks: list[int] = field(default_factory=list)  # before each cut, then after the last
    kept: list[list[tuple[Event, Window]]] = field(default_factory=list)
    missed: list[list[tuple[Event, Window]]] = field(default_factory=list)


def windows_of(micros: int | None, spec: WindowSpec) -> Iterator[Window]:
    """Yield the windows that hold a time; a row without a time is in none."""
    if micros is None:
        return
    start = micros - (micros - spec.offset_micros) % spec.slide_micros
    while start + spec.length_micros > micros:
        yield Window(spec.name, start, start + spec.length_micros)
        start -= spec.slide_micros


def modelled(
    cuts: Sequence[Sequence[Event]], specs: Sequence[WindowSpec], delay_micros: int
) -> Model:
    """Run the model: a (row, window) pair is late if the window ended before the row's cut."""
    model = Model()
    watermark = SPARKS_FIRST_WATERMARK
    for cut in cuts:
        model.watermarks.append(watermark)
        pairs = [(row, w) for row in cut for spec in specs for w in windows_of(row.micros, spec)]
        model.kept.append([pair for pair in pairs if pair[1].end > watermark])
        model.missed.append([pair for pair in pairs if pair[1].end <= watermark])
        watermark = advanced(watermark, cut, delay_micros)
    model.watermarks.append(watermark)
    return model


def advanced(watermark: int, cut: Sequence[Event], delay_micros: int) -> int:
    """Return the watermark after a cut, in whole milliseconds as Spark counts."""
    times = [row.micros for row in cut if row.micros is not None]
    if not times:
        return watermark
    return max(watermark, _whole_millis(max(times)) - _whole_millis(delay_micros))


def _whole_millis(micros: int) -> int:
    return micros - micros % 1_000
