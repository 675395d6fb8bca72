"""Workloads by the names and settings that a person writes."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.simulation.load import Load
from penstock.simulation.workloads.erratic import Erratic
from penstock.simulation.workloads.map2 import Map2
from penstock.simulation.workloads.patterned import PATTERNS, load_of_pattern
from penstock.simulation.workloads.poisson import Poisson
from penstock.simulation.workloads.progressive import Progressive
from penstock.simulation.workloads.random_walk import RandomWalk
from penstock.simulation.workloads.rescaled import rescaled
from penstock.simulation.workloads.self_similar import SelfSimilar
from penstock.simulation.workloads.workload import Workload
from penstock.simulation.written_settings import check_names, made_of, number
from penstock.sources.trace_reading import read_trace

WORKLOADS: Mapping[str, type[Workload]] = {
    "progressive": Progressive,
    "erratic": Erratic,
    "poisson": Poisson,
    "map2": Map2,
    "self-similar": SelfSimilar,
    "random-walk": RandomWalk,
}
_EXAMPLE = "map2:rate=1000,dispersion=1000,seconds=600,seed=3"


def workload_names() -> tuple[str, ...]:
    """Return the names of all workloads that can be written without a file."""
    return (*WORKLOADS, *PATTERNS)


def workload_named(text: str, seed: int = 0) -> Load:
    """Make the load of a workload, or of the trace in a file.

    ``text`` is a name or a path and, after a colon, settings. For every load ``scale=2`` doubles
    the rows and ``speed=10`` makes time pass ten times as fast; for a file, ``column=...`` says
    where the counts are. ``seed`` is that of a workload which names none itself.

    >>> workload_named("map2:rate=200,dispersion=100,seconds=60,seed=3,scale=2").duration_seconds
    60.0
    >>> workload_named("steady:rows_per_second=5,seconds=3").trace.counts
    (5, 5, 5)
    """
    name, settings = _parts(text)
    where = f"workload '{name}'"
    scale = number(settings.pop("scale", 1.0), f"{where}: scale")
    speed = number(settings.pop("speed", 1.0), f"{where}: speed")
    if name in WORKLOADS:
        load = made_of(WORKLOADS[name], {"seed": seed, **settings}, where).load()
    elif name in PATTERNS:
        load = load_of_pattern(name, settings, where)
    else:
        load = _of_file(name, settings)
    if scale == speed == 1.0:
        return load
    try:
        return rescaled(load, scale, speed)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from error


def _parts(text: str) -> tuple[str, dict[str, object]]:
    """Take a name and its settings apart; a path may have colons of its own."""
    name, colon, tail = text.partition(":")
    if name not in workload_names():
        name, colon, tail = text.rpartition(":")
        if not colon or "=" not in tail or Path(text).exists():
            return text, {}
    settings: dict[str, object] = {}
    for each in tail.split(",") if colon else []:
        key, equals, value = (part.strip() for part in each.partition("="))
        if not (key and equals and value):
            raise ConfigurationError(
                f"workload '{name}': '{each}' is no setting; write settings as in {_EXAMPLE}"
            )
        if key in settings:
            raise ConfigurationError(f"workload '{name}': '{key}' is there twice; write it once")
        settings[key] = value
    return name, settings


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # no file can have that name
        return False


def _of_file(name: str, settings: dict[str, object]) -> Load:
    path = Path(name)
    if not _is_there(path) and path.suffix == "" and path.name == name:
        near = get_close_matches(name, workload_names(), n=1)
        meant = f"Did you mean '{near[0]}'? " if near else ""
        raise ConfigurationError(
            f"there is no workload '{name}'. {meant}Write one of {', '.join(workload_names())}, "
            f"with settings as in {_EXAMPLE}, or the path of a trace."
        )
    check_names(settings, ("column", "scale", "speed"), f"the trace {name}")
    column = settings.get("column")
    try:
        return Load(read_trace(path, None if column is None else str(column)))
    except ConfigurationError as error:
        if "rate_column" not in str(error):
            raise
        # What it is called from Python; here it is written behind the path.
        raise ConfigurationError(f"{error}: write {name}:column=NAME") from error
