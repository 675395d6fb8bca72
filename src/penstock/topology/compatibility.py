"""Whether a checkpoint that one topology wrote can be carried on by another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.topology.dag import Topology


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a checkpoint depends on: the sources in their order, and the operators with state.

    Functions, filters, sinks, placement and policies keep nothing in a checkpoint, so they are not
    here and may change freely.
    """

    sources: tuple[str, ...]
    times: Mapping[str, str | None] = field(default_factory=dict)
    states: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, topology: Topology) -> Fingerprint:
        """Take the fingerprint of a topology."""
        states = {op.name: op.state_signature() for op in topology}
        return cls(
            sources=tuple(source.name for source in topology.sources),
            times={source.name: source.time for source in topology.sources},
            states={name: dict(state) for name, state in states.items() if state is not None},
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "sources": list(self.sources),
            "times": dict(self.times),
            "states": {name: dict(state) for name, state in self.states.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fingerprint:
        """Read what ``to_json`` wrote."""
        states = {name: dict(state) for name, state in data["states"].items()}
        sources, times = tuple(data["sources"]), dict(data["times"].items())
        if not all(isinstance(name, str) for name in sources):
            raise TypeError(f"the sources are {data['sources']!r}")
        if not all(time is None or isinstance(time, str) for time in times.values()):
            raise TypeError(f"the time columns are {data['times']!r}")
        return cls(sources, times, states)


def breaking_changes(before: Fingerprint, now: Fingerprint) -> tuple[str, ...]:
    """Name every change after which a checkpoint can't be carried on, in plain sentences.

    >>> breaking_changes(Fingerprint(("a", "b")), Fingerprint(("b", "c")))
    ("source 'a' is gone", "source 'c' is new")
    >>> breaking_changes(Fingerprint(("a", "b")), Fingerprint(("b", "a")))
    ()
    """
    changes = [f"source '{name}' is gone" for name in before.sources if name not in now.sources]
    changes += [f"source '{name}' is new" for name in now.sources if name not in before.sources]
    for name, time in before.times.items():
        if name in now.times and now.times[name] != time:
            changes.append(
                f"source '{name}' had {_time_column(time)} and now has "
                f"{_time_column(now.times[name])}"
            )
    changes += [
        f"'{name}', which keeps state, is gone"
        for name in sorted(before.states.keys() - now.states.keys())
    ]
    for name in sorted(before.states.keys() & now.states.keys()):
        old, new = before.states[name], now.states[name]
        changes += [
            f"'{name}' changed its {what} from {old.get(what)} to {new.get(what)}"
            for what in sorted(old.keys() | new.keys())
            if old.get(what) != new.get(what)
        ]
    return tuple(changes)


def _time_column(name: str | None) -> str:
    return "no time column" if name is None else f"the time column '{name}'"
