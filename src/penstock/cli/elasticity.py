"""How many slots a run may use, as the options of ``penstock run`` say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.cli.quiet_spark import is_local
from penstock.elasticity.decision import Policy
from penstock.elasticity.policy_names import policy_named
from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Elasticity:
    """The policy by its name and settings, and how few and how many slots it may use.

    >>> Elasticity("replica-pool:utilisation=0.8", max_slots=4).chosen_policy().utilisation
    0.8
    """

    policy: str = "static"
    min_slots: int | None = None
    max_slots: int | None = None

    @property
    def adapts(self) -> bool:
        """Whether the number of slots changes while the query runs."""
        return self.policy.partition(":")[0] != "static"

    def chosen_policy(self) -> Policy:
        """Return the policy, held to the bounds."""
        if self.min_slots is not None and not self.adapts:
            raise ConfigurationError(
                f"a least number of slots ({self.min_slots}) is for a policy that adapts, and "
                f"{self.policy} uses always as many. Write --policy auto-scale-plus with it, or "
                "leave it out."
            )
        return policy_named(self.policy, self.min_slots or 1, self.max_slots)

    def slots(self, master: str) -> Any:
        """Return where slots come from: executors of a cluster, or the cores of this machine."""
        from penstock import catalogue

        if is_local(master) or not self.adapts:
            return catalogue.LocalSlots(max=self.max_slots)
        if self.max_slots is None:
            raise ConfigurationError(
                f"--policy {self.policy} may ask the cluster for executors. "
                "Say for how many cores of them at most, such as --max-slots 20."
            )
        return catalogue.ExecutorSlots(min=self.min_slots or 1, max=self.max_slots)


def slot_bounds(
    slots: str | None, least: int | None, most: int | None
) -> tuple[int | None, int | None]:
    """Read ``--slots``, which is short for ``--min-slots`` and ``--max-slots``.

    >>> slot_bounds("8", None, None), slot_bounds("2..8", None, None), slot_bounds(None, 1, 4)
    ((None, 8), (2, 8), (1, 4))
    """
    if slots is not None:
        if least is not None or most is not None:
            raise ConfigurationError(
                "--slots is short for --min-slots and --max-slots. Write it, or them."
            )
        least, most = _parsed(slots)
    if least is not None and most is not None and least > most:
        raise ConfigurationError(
            f"at least {least} slots is more than at most {most}. Write the smaller number first."
        )
    return least, most


def _parsed(text: str) -> tuple[int | None, int]:
    first, dots, last = (part.strip() for part in text.partition(".."))
    numbers = [first, last] if dots else [first]
    if not all(number.isdecimal() and int(number) >= 1 for number in numbers):
        raise ConfigurationError(
            f"--slots {text} is no number of slots. Write the most, such as --slots 8, or the "
            "fewest and the most: --slots 2..8"
        )
    return (int(first), int(last)) if dots else (None, int(first))
