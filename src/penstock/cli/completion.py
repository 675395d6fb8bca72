"""Values that a shell completes; nothing here may take long or fail."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

# Those that know them load PySpark, which nobody wants to wait for; a test holds them together.
WORKLOADS = (
    "progressive",
    "erratic",
    "poisson",
    "map2",
    "self-similar",
    "random-walk",
    "steady",
    "ramp",
    "sine",
    "spikes",
)


def complete_policy(incomplete: str) -> list[str]:
    """Complete the name of a policy or, after its colon, one of its settings.

    >>> complete_policy("aut")
    ['auto-scale-plus']
    >>> complete_policy("auto-scale-plus:mar")
    ['auto-scale-plus:margin=']
    """
    from penstock.elasticity.policy_names import ADAPTING, settings_of

    name, colon, written = incomplete.partition(":")
    if not colon:
        return _beginning(incomplete, ["static", *ADAPTING])
    before, comma, last = written.rpartition(",")
    start = f"{name}:{before}{comma}"
    return [f"{start}{each}=" for each in _beginning(last, settings_of(name))]


def complete_workload(incomplete: str) -> list[str]:
    """Complete the name of a workload, or the path of a trace."""
    return [*_beginning(incomplete, WORKLOADS), *complete_path(incomplete)]


def complete_topology(incomplete: str) -> list[str]:
    """Complete the name of a topology, or the path of one."""
    shipped = Path(__file__).parent.parent / "simulation" / "topologies"
    names = sorted(each.stem for each in shipped.glob("*.yaml"))
    return [*_beginning(incomplete, names), *complete_path(incomplete)]


def complete_path(incomplete: str) -> list[str]:
    """Complete a path, where a shell would not do so by itself because there are other values.

    >>> complete_path("/no such place/x")
    []
    """
    directory, slash, start = incomplete.rpartition("/")
    try:
        found = sorted(Path(f"{directory}{slash}" or ".").iterdir())
    except OSError:
        return []
    shown = [each for each in found if start.startswith(".") or not each.name.startswith(".")]
    return [
        f"{directory}{slash}{each.name}{'/' if each.is_dir() else ''}"
        for each in shown
        if each.name.startswith(start)
    ]


def _beginning(start: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(start)]
