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
        """Read what ``to_json`` wrote; what it can't have written is a TypeError or KeyError."""
        states = {
            str(name): {str(what): str(is_now) for what, is_now in state.items()}
            for name, state in data["states"].items()
        }
        times = {
            str(name): None if time is None else str(time) for name, time in data["times"].items()
        }
        return cls(tuple(str(name) for name in data["sources"]), times, states)


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
