"""How a user wants panes to be split over tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from penstock.arguments import is_finite
from penstock.errors import ConfigurationError
from penstock.windows.pid import Pid

How = Literal["pid", "none", "even"]

ALPHA_STEP = 0.3
"""How far one step of the controller moves alpha at most."""


@dataclass(frozen=True, slots=True)
class PaneSplitting:
    """How the panes of a preference query are split over the tasks of a micro-batch.

    ``"pid"`` splits the panes that have more rows than a threshold, which a PID controller moves
    so that the tasks are utilised to ``set_point``: only as much as is needed, since each part more
    is one more to be merged. ``"none"`` gives each pane to one task, ``"even"`` each pane to all
    tasks. The gains are those of Elastic-PPQ, for one step a micro-batch.

    ``merges`` says whether tasks with nothing to do may merge partial results of another task's
    window; without it a window is formed by one task.

    >>> PaneSplitting.written("even").how
    'even'
    """

    how: How = "pid"
    set_point: float = 0.9
    kp: float = 1.8
    ki: float = 0.0
    kd: float = 2.0
    merges: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.how, str) or self.how not in get_args(How):
            raise ConfigurationError(
                f"panes cannot be split {self.how!r}. Write PaneSplitting('pid'), 'none' or 'even'."
            )
        point = self.set_point
        if not is_finite(point) or not 0 < point <= 1:
            raise ConfigurationError(
                f"PaneSplitting(set_point={point!r}) is not how utilised tasks can be. Write a "
                "number above 0, 1 at most, such as 0.9."
            )
        self.pid  # noqa: B018 - refuses gains that make no sense

    @property
    def pid(self) -> Pid:
        """The controller of alpha: tasks that are utilised too much lower it."""
        return Pid(
            self.set_point,
            kp=self.kp,
            ki=self.ki,
            kd=self.kd,
            lowest=-ALPHA_STEP,
            highest=ALPHA_STEP,
            acting="reverse",
        )

    @classmethod
    def written(cls, given: PaneSplitting | How | None) -> PaneSplitting:
        """Return what a user wrote in full: one by its name, None for the default."""
        if isinstance(given, PaneSplitting):
            return given
        return cls() if given is None else cls(given)
