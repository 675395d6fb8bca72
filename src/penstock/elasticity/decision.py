"""What a policy answers, and what a policy is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Protocol, SupportsIndex, runtime_checkable

from penstock.elasticity.observation import Observation
from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Decision:
    """How many slots there should be, and how many tasks each component gets.

    ``tasks`` is by operator; a component gets what the most demanding of its operators is given,
    and as many tasks as there are slots where none is. ``reason`` is a sentence a person
    understands. Numbers are whole and at least 1.

    >>> Decision(0, "nothing to do")
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: a decision for 0 slots can't be carried out. Slots and \
tasks are whole numbers, 1 or more.
    """

    slots: int
    reason: str
    tasks: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slots", _whole(self.slots, "slots"))
        tasks = {str(name): _whole(n, f"tasks of '{name}'") for name, n in self.tasks.items()}
        object.__setattr__(self, "tasks", tasks)


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


@runtime_checkable
class Policy(Protocol):
    """Turns what was measured into a decision for the next micro-batch."""

    def decide(self, observation: Observation) -> Decision:
        """Say how the micro-batch after ``observation`` should run."""
        ...
