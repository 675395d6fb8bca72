"""What a policy answers, and what a policy is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Any, Protocol, SupportsIndex, runtime_checkable

from penstock.arguments import shown
from penstock.elasticity.observation import Observation
from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Decision:
    """How many slots there should be, and how many tasks each component gets.

    ``tasks`` is by operator; a component gets what the most demanding of its operators is given,
    and as many tasks as there are slots where none is. ``reason`` is a sentence a person
    understands. Slots and tasks are whole numbers, at least 1.

    A policy that forecasts also says what it expects, so that what came of it can be looked up:
    ``expected_rows`` that each operator gets within ``horizon_seconds``, and the ``demand_slots``
    that this takes, before any guard rail. ``low_rows`` and ``high_rows`` are between which they
    should lie, where it can tell. ``held_by`` names the guard rails that changed the decision.

    >>> Decision(0, "nothing to do")
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: a decision for 0 slots can't be carried out. Slots and \
tasks are whole numbers, 1 or more.
    """

    slots: int
    reason: str
    tasks: Mapping[str, int] = field(default_factory=dict)
    demand_slots: float | None = None
    horizon_seconds: float | None = None
    expected_rows: Mapping[str, float] = field(default_factory=dict)
    held_by: tuple[str, ...] = ()
    low_rows: Mapping[str, float] = field(default_factory=dict)
    high_rows: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slots", _whole(self.slots, "slots"))
        for each in ("tasks", "expected_rows", "low_rows", "high_rows"):
            if not isinstance(getattr(self, each), Mapping):
                raise ConfigurationError(
                    f"Decision({each}={shown(getattr(self, each))}) can't be carried out. Write a "
                    "dict by operator."
                )
        tasks = {str(name): _whole(n, f"tasks of '{name}'") for name, n in self.tasks.items()}
        object.__setattr__(self, "tasks", tasks)
        for each in ("expected_rows", "low_rows", "high_rows"):
            rows = {str(name): _number(n, each) for name, n in getattr(self, each).items()}
            object.__setattr__(self, each, rows)


def _number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(
            f"a decision with {shown(value)} as one of its {what} can't be carried out. Rows are "
            "numbers."
        ) from None


def _whole(number: SupportsIndex, what: str) -> int:
    try:
        whole = index(number)
    except TypeError:
        whole = 0
    if whole < 1 or isinstance(number, bool):
        raise ConfigurationError(
            f"a decision for {number!r} {what} can't be carried out. "
            "Slots and tasks are whole numbers, 1 or more."
        )
    return whole


def decided(by_policy: object) -> Decision:
    """Return what a policy decided, or say that it is no decision.

    >>> decided(3)
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: the policy returned an int. Return Decision(slots, reason).
    """
    if not isinstance(by_policy, Decision):
        kind = type(by_policy).__name__
        article = "an" if kind[:1].lower() in "aeiou" else "a"
        raise ConfigurationError(
            f"the policy returned {article} {kind}. Return Decision(slots, reason)."
        )
    return by_policy


@runtime_checkable
class Policy(Protocol):
    """Turns what was measured into a decision for the next micro-batch."""

    def decide(self, observation: Observation) -> Decision:
        """Say how the micro-batch after ``observation`` should run."""
        ...


@runtime_checkable
class StatefulPolicy(Policy, Protocol):
    """A policy that learns: what it learnt goes with the checkpoint, as JSON."""

    def save(self) -> dict[str, Any]:
        """Return all that it learnt and remembers, in what JSON knows."""
        ...

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned; a state of another kind is refused with ValueError."""
        ...
