"""The patterns that live sources know, as loads."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.simulation.load import Load
from penstock.simulation.workloads.workload import steps_of
from penstock.simulation.written_settings import made_of, number
from penstock.sources.patterns import Pattern, Ramp, Sine, Spikes, Steady, trace_of_pattern

PATTERNS: Mapping[str, type[Pattern]] = {
    "steady": Steady,
    "ramp": Ramp,
    "sine": Sine,
    "spikes": Spikes,
}


def load_of_pattern(kind: str, given: Mapping[str, object], where: str) -> Load:
    """Make the load of a pattern; ``seconds`` is how long it lasts, 600 unless given.

    >>> load_of_pattern("ramp", {"start": "0", "end": "8", "seconds": "4"}, "ramp").trace.counts
    (1, 3, 5, 7)
    """
    settings = dict(given)
    seconds = number(settings.pop("seconds", 600), f"{where}: seconds")
    pattern = made_of(PATTERNS[kind], settings, where)
    steps_of(seconds, 1.0)
    whole = int(seconds) if seconds == int(seconds) else seconds
    return Load(trace_of_pattern(pattern, whole))  # type: ignore[arg-type]
