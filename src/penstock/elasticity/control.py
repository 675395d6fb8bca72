"""What somebody outside may ask of a running query: to pause scaling, limit slots, or fix them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.elasticity.decision import Decision
from penstock.elasticity.rails.rail import in_slots
from penstock.elasticity.wish import MOST
from penstock.errors import ConfigurationError

HELD_BY = "control"
_BY_CONTROL = "; by control "


@dataclass(frozen=True, slots=True)
class Control:
    """What a query's owner asks for beside its policy; nothing set gives the policy the say.

    Parameters
    ----------
    paused
        The slots in force stay, whatever the policy decides.
    min_slots, max_slots
        The fewest and the most slots. They hold also while scaling is paused.
    forced_slots
        So many slots, whatever the policy decides. It leaves nothing to pause, so that ``paused``
        is refused beside it, and lies within ``min_slots`` and ``max_slots`` where these are set.

    >>> Control(min_slots=4, max_slots=2)
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: Control(min_slots=4, max_slots=2) leaves no number of \
slots. Write max_slots of 4 or more.

    """

    paused: bool = False
    min_slots: int | None = None
    max_slots: int | None = None
    forced_slots: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.paused, bool):
            raise ConfigurationError(
                f"Control(paused={self.paused!r}) can't work. Write True or False."
            )
        for name in ("min_slots", "max_slots", "forced_slots"):
            _check_slots(name, getattr(self, name))
        least, most, forced = self.min_slots, self.max_slots, self.forced_slots
        if least is not None and most is not None and least > most:
            raise ConfigurationError(
                f"Control(min_slots={least}, max_slots={most}) leaves no number of slots. "
                f"Write max_slots of {least} or more."
            )
        if forced is not None and self.paused:
            raise ConfigurationError(
                f"Control(paused=True, forced_slots={forced}) asks for two things: forced slots "
                "never change, so there is nothing to pause. Write one of the two."
            )
        if forced is not None and not (least or 1) <= forced <= (most or MOST):
            raise ConfigurationError(
                f"Control(min_slots={least}, max_slots={most}, forced_slots={forced}): the forced "
                "number is outside of the limits. Write one within them, or leave them out."
            )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for, and the policy has the say."""
        return self == Control()

    def describe(self) -> str:
        """Say what is asked for.

        >>> Control(paused=True, max_slots=4).describe(), Control().describe()
        ('scaling is paused; at most 4 slots', 'the policy decides')
        """
        said = ["scaling is paused"] if self.paused else []
        if self.forced_slots is not None:
            said.append(f"{in_slots(self.forced_slots)} forced")
        if self.min_slots is not None:
            said.append(f"at least {in_slots(self.min_slots)}")
        if self.max_slots is not None:
            said.append(f"at most {in_slots(self.max_slots)}")
        return "; ".join(said) or "the policy decides"


def carried_out(
    control: Control,
    wanted: Decision,
    in_force: Decision | None = None,
    most_slots: int | None = None,
) -> Decision:
    """Return the decision to carry out, given what the policy wants and what is asked for.

    ``in_force`` is what a pause keeps; where nothing is, it keeps what is wanted. ``most_slots``
    is how many there can be, None where nobody says: what is asked for gives way to it. A policy's
    wish that is changed, or no longer counts, has "control" in ``held_by``.

    >>> wanted = Decision(8, "demand 7.4 slots; asking for 8", {"parse": 6})
    >>> found = carried_out(Control(max_slots=4), wanted)
    >>> found.slots, found.tasks, found.held_by
    (4, {'parse': 4}, ('control',))
    >>> found.reason
    'demand 7.4 slots; asking for 8; by control at most 4 slots: so 4'
    """
    if control.is_empty:
        return wanted
    kept = in_force.slots if control.paused and in_force is not None else wanted.slots
    slots = kept if control.forced_slots is None else control.forced_slots
    slots = min(max(slots, control.min_slots or 1), control.max_slots or MOST)
    possible = slots if most_slots is None else max(1, min(slots, most_slots))
    has_the_say = control.paused or control.forced_slots is not None
    if not has_the_say and slots == wanted.slots:
        return wanted
    reason = f"{wanted.reason}{_BY_CONTROL}{control.describe()}"
    if possible < slots:
        reason += f", of which there can be {possible}"
    reason += f": so {possible}"
    return replace(
        wanted,
        slots=possible,
        reason=reason,
        tasks=_tasks(wanted, possible),
        held_by=(*wanted.held_by, HELD_BY),
    )


def before_control(carried_out: Decision) -> Decision:
    """Return a decision of an earlier run without what a control added to its reason.

    >>> before_control(Decision(4, "asking for 8; by control at most 4 slots: so 4")).reason
    'asking for 8'
    """
    reason, _, _ = carried_out.reason.partition(_BY_CONTROL)
    held_by = tuple(each for each in carried_out.held_by if each != HELD_BY)
    return replace(carried_out, reason=reason, held_by=held_by)


def _tasks(wanted: Decision, slots: int) -> dict[str, int]:
    """Return the tasks of operators on other slots than planned: as many more, or what there is."""
    grown = max(slots, wanted.slots)
    return {
        name: min(slots, -(-tasks * grown // wanted.slots)) for name, tasks in wanted.tasks.items()
    }


def _check_slots(name: str, slots: object) -> None:
    is_whole = isinstance(slots, int) and not isinstance(slots, bool)
    if slots is not None and not (is_whole and 1 <= slots <= MOST):  # type: ignore[operator]
        raise ConfigurationError(
            f"Control({name}={slots!r:.40}) can't work. Write a whole number from 1 to {MOST:,}, "
            "or None."
        )
