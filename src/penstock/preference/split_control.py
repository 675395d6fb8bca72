"""When a pane is too large for one task: the threshold that a PID controller moves.

The threshold is alpha times what is usual, the mean and a standard deviation of the last parts'
sizes; alpha moves by what the controller makes of the utilisation of the tasks (Elastic-PPQ,
section 3.1, Fig. 5). One step is made for each micro-batch that has rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite
from statistics import fmean, pstdev
from typing import Any

from penstock.preference.pane_splitting import PaneSplitting
from penstock.windows.pid import PidState

LEAST_ALPHA, MOST_ALPHA = 0.1, 20.0
FEW_PARTS = 16
"""With fewer parts in a batch those of the batches before tell what is usual, too."""
ROOM = 1.5
"""The threshold is at most so many times the largest pane: tasks have more or less of it."""


@dataclass(frozen=True, slots=True)
class PanesSeen:
    """How the panes of a micro-batch were split: the rows of each part, by pane."""

    parts: Mapping[int, tuple[int, ...]]

    @property
    def panes(self) -> int:
        """How many panes had rows."""
        return len(self.parts)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The rows of every part."""
        return tuple(rows for parts in self.parts.values() for rows in parts)

    @property
    def parts_per_pane(self) -> float:
        """In how many parts a pane was split on average, 1 where there were none.

        >>> PanesSeen({4: (100, 100, 20), 5: (70,)}).parts_per_pane
        2.0
        """
        return len(self.sizes) / len(self.parts) if self.parts else 1.0

    @property
    def pane_rows(self) -> tuple[int, ...]:
        """The rows of every pane."""
        return tuple(sum(parts) for parts in self.parts.values())


@dataclass(frozen=True, slots=True)
class SplitState:
    """What is known after a micro-batch, for the threshold of the next.

    ``usual_rows`` is the mean and a standard deviation of the ``sizes`` of the last parts, None
    before there were any; ``pane_rows`` the mean size of a pane. ``share`` is the part of a pane's
    rows that comes from one upstream task, None where nobody has seen.
    """

    alpha: float = 1.0
    usual_rows: float | None = None
    pane_rows: float = 0.0
    share: float | None = None
    sizes: tuple[int, ...] = ()
    pid: PidState = field(default_factory=PidState)

    @property
    def threshold_rows(self) -> float | None:
        """The rows at which a part ends; None before anything is known: after every row."""
        return None if self.usual_rows is None else self.alpha * self.usual_rows

    def usual_parts(self, tasks: int) -> int:
        """Return in how many parts a pane of the usual size is split."""
        threshold = self.threshold_rows
        if threshold is None or threshold <= 0:
            return tasks
        return max(1, min(tasks, ceil(self.pane_rows / threshold)))

    def to_json(self) -> dict[str, Any]:
        """Write it as plain JSON values."""
        return {
            "alpha": self.alpha,
            "usual_rows": self.usual_rows,
            "pane_rows": self.pane_rows,
            "share": self.share,
            "sizes": list(self.sizes),
            "integral": self.pid.integral,
            "measured": self.pid.measured,
        }

    @classmethod
    def from_json(cls, document: Any) -> SplitState:
        """Read what ``to_json`` wrote; ValueError where it is something else."""
        try:
            usual, share = document["usual_rows"], document["share"]
            measured = document["measured"]
            state = cls(
                alpha=_number(document["alpha"]),
                usual_rows=None if usual is None else _number(usual),
                pane_rows=_number(document["pane_rows"]),
                share=None if share is None else _number(share),
                sizes=tuple(int(rows) for rows in document["sizes"]),
                pid=PidState(
                    integral=_number(document["integral"]),
                    measured=None if measured is None else _number(measured),
                ),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no state of pane splitting: {error!r}") from None
        if not LEAST_ALPHA <= state.alpha <= MOST_ALPHA:
            raise ValueError(f"alpha is {state.alpha}, not from {LEAST_ALPHA} to {MOST_ALPHA}")
        return state


@dataclass(frozen=True, slots=True)
class SplitControl:
    """Moves the threshold, as a ``PaneSplitting`` says.

    Where the set point can't be reached alpha goes to its lowest, and panes are split as far as
    there are tasks (Proposition 1). Alpha is not raised beyond what leaves the largest pane whole:
    splitting no pane at all can't be done more, and alpha would have to come back from 20 when the
    next burst is there.

    >>> control = SplitControl(PaneSplitting())
    >>> state, why = control.after(SplitState(), PanesSeen({1: (100, 100)}), 1.5)
    >>> state.threshold_rows, why
    (70.0, 'the tasks are utilised 1.50, above 0.90: split more')
    """

    splitting: PaneSplitting

    def after(
        self, state: SplitState, seen: PanesSeen, utilisation: float, share: float | None = None
    ) -> tuple[SplitState, str]:
        """Return the state after a micro-batch, and why the threshold moved.

        ``share`` is the part of a pane's rows that came from one upstream task.
        """
        if not seen.parts or not isfinite(utilisation):
            return state, "no rows came"
        sizes = seen.sizes
        if len(sizes) < FEW_PARTS:
            sizes = (*state.sizes, *sizes)[-FEW_PARTS:]
        usual = fmean(sizes) + pstdev(sizes)
        step = self.splitting.pid.step(state.pid, utilisation, dt=1.0)
        highest = min(MOST_ALPHA, max(1.0, ROOM * max(seen.pane_rows) / usual))
        wanted = state.alpha + step.output
        alpha = max(LEAST_ALPHA, min(wanted, highest))
        after = SplitState(
            alpha=alpha,
            usual_rows=usual,
            pane_rows=fmean(seen.pane_rows),
            share=state.share if share is None else share,
            sizes=sizes[-FEW_PARTS:],
            pid=step,
        )
        return after, self._reason(utilisation, step.output, is_held=wanted > highest)

    def _reason(self, rho: float, change: float, *, is_held: bool) -> str:
        point = self.splitting.set_point
        said = f"the tasks are utilised {rho:.2f}, {_beside(rho, point)} {point:.2f}"
        if change < 0:
            return f"{said}: split more"
        if change > 0 and is_held:
            return f"{said}: no pane is too large for one task"
        return f"{said}: split less" if change > 0 else f"{said}: as before"


def share_of_panes(upstream: Sequence[Mapping[int, int]]) -> float | None:
    """Return the part of its pane's rows that a row's upstream task has, on average over rows.

    ``upstream`` are the rows of each pane, by upstream task. It is 1 where every pane comes from
    one task, 1/4 where four tasks have as much of each; None where there are no rows.

    >>> share_of_panes([{1: 50, 2: 50}, {1: 50, 2: 50}]), share_of_panes([{1: 100}, {2: 30}])
    (0.5, 1.0)
    """
    totals: dict[int, int] = {}
    for rows in upstream:
        for pane, count in rows.items():
            totals[pane] = totals.get(pane, 0) + count
    total = sum(totals.values())
    if not total:
        return None
    squares = sum(
        count * count / totals[pane]
        for rows in upstream
        for pane, count in rows.items()
        if totals[pane]
    )
    return squares / total


def _beside(rho: float, point: float) -> str:
    return "above" if rho > point else "below" if rho < point else "at"


def _number(value: Any) -> float:
    number = float(value)
    if not isfinite(number):
        raise ValueError(f"{value!r} is no number")
    return number
