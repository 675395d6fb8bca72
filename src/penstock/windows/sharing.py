"""Split or combine: whether the partials of a batch are brought together by key when they are kept.

Split writes partials where the rows are: no exchange, but a key has a partial for every task that
met it, and rows are handed over to an aggregate that Spark would otherwise compile together with
what comes before. Combined brings partials together first: an exchange, then one for each pane and
key.
Enorm (section 5.1.1) weighs the same two sides: what split sends on and merges later, which grows
with partial results and key explosion, against what combining costs at once. Panes are shared by
all windows here, so no row is computed once per window in either mode, and no state moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import expm1
from typing import Any, Literal, get_args

Mode = Literal["split", "combined"]

_LEARNING = 0.1  # the weight of one batch


@dataclass(frozen=True, slots=True)
class SharingCosts:
    """Prices, in rows that are exchanged.

    ``write_rows`` and ``read_rows`` are for each partial that is written, or read once;
    ``handed_rows`` for each row that split hands over. ``stage_rows`` is for the exchange of
    combined.

    They were fitted to the times of 48 jobs of 100 to 400,000 keys on two cores;
    ``benchmarks/fusion.py --only grid`` tries them on others.
    """

    exchange_rows: float = 1.0
    write_rows: float = 0.6
    read_rows: float = 0.5
    handed_rows: float = 0.13
    stage_rows: float = 36_000.0


@dataclass(frozen=True, slots=True)
class BatchPartials:
    """What one batch showed.

    ``task_partials`` are the partials of all tasks, before any exchange: what split writes, and
    what the exchange of combined carries. ``combined_partials`` is what combined wrote, None in
    split. ``reads`` is how often a partial will be read, from the plan. ``pane_keys`` bounds what
    combining could reach: keys of a pane times the panes of the batch, where that is known.
    """

    rows: int
    tasks: int
    task_partials: int
    combined_partials: int | None = None
    reads: float = 1.0
    pane_keys: float | None = None

    def __post_init__(self) -> None:
        if self.rows < 0 or self.tasks < 1 or self.task_partials < 0 or self.reads < 0:
            raise ValueError(f"a batch has rows from 0 and tasks from 1: {self}")


@dataclass(frozen=True, slots=True)
class SharingDecision:
    """What to do from the next batch on, and why; costs are rows per batch."""

    mode: Mode
    is_switch: bool
    cost_split: float
    cost_combined: float
    reason: str


@dataclass(frozen=True, slots=True)
class SharingState:
    """What a rule remembers between batches; lives in the commit record.

    ``learned`` is what combining left, as a multiple of what split would have expected. Without it
    a rule would go back and forth where keys are skewed: the estimate is then far too low.
    """

    mode: Mode = "split"
    batches: int = 0
    batches_with_rows: int = 0
    votes: int = 0
    sum_split: float = 0.0
    sum_combined: float = 0.0
    learned: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the state as a commit record holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SharingState:
        """Read a state back; a wrong record is a KeyError, a TypeError or a ValueError."""
        mode = record["mode"]
        if mode not in get_args(Mode):
            raise ValueError(f"the mode is 'split' or 'combined': {record!r}")
        counts = [record[name] for name in ("batches", "batches_with_rows", "votes")]
        sums = [record[name] for name in ("sum_split", "sum_combined")]
        learned = record["learned"]
        if not all(type(count) is int for count in counts):
            raise TypeError(f"batches and votes are whole numbers: {record!r}")
        numbers = [*sums, 0.0 if learned is None else learned]
        if not all(type(number) in (int, float) for number in numbers):
            raise TypeError(f"costs and what was learned are numbers: {record!r}")
        if min(counts) < 0 or not all(0 <= number < float("inf") for number in numbers):
            raise ValueError(f"nothing here is negative or endless: {record!r}")
        return cls(mode, counts[0], counts[1], counts[2], float(sums[0]), float(sums[1]), learned)


@dataclass(frozen=True, slots=True)
class SharingRule:
    """Decides every ``period`` batches; switches when the other mode wins ``votes`` times running.

    The other mode wins a period when it is cheaper by ``margin``, a fraction of the present cost.

    >>> rule, state = SharingRule(period=1, votes=1), SharingState()
    >>> crowded = BatchPartials(rows=10_000_000, tasks=64, task_partials=6_400_000, reads=2)
    >>> state, decision = rule.observe(state, crowded)
    >>> decision.mode, decision.is_switch
    ('combined', True)
    """

    period: int = 20
    margin: float = 0.1
    votes: int = 2
    costs: SharingCosts = SharingCosts()

    def __post_init__(self) -> None:
        if self.period < 1 or self.votes < 1 or not 0 <= self.margin < 1:
            raise ValueError(f"a period and votes from 1, a margin from 0 to below 1: {self}")

    def observe(
        self, state: SharingState, batch: BatchPartials
    ) -> tuple[SharingState, SharingDecision | None]:
        """Take in one batch; at the end of a period that had rows there is a decision."""
        state = replace(state, batches=state.batches + 1)
        if batch.rows > 0:
            learned = _learned(state.learned, batch)
            split = cost_split(batch, self.costs)
            combined = cost_combined(batch, self.costs, 1.0 if learned is None else learned)
            state = replace(
                state,
                batches_with_rows=state.batches_with_rows + 1,
                sum_split=state.sum_split + split,
                sum_combined=state.sum_combined + combined,
                learned=learned,
            )
        if state.batches < self.period:
            return state, None
        if not state.batches_with_rows:
            return SharingState(state.mode, votes=state.votes, learned=state.learned), None
        return self._decide(state)

    def _decide(self, state: SharingState) -> tuple[SharingState, SharingDecision]:
        split = state.sum_split / state.batches_with_rows
        combined = state.sum_combined / state.batches_with_rows
        present, other = (split, combined) if state.mode == "split" else (combined, split)
        votes = state.votes + 1 if other < present * (1 - self.margin) else 0
        is_switch = votes >= self.votes
        mode = _other(state.mode) if is_switch else state.mode
        reason = self._reason(state.mode, present, other, votes)
        decision = SharingDecision(mode, is_switch, split, combined, reason)
        state = SharingState(mode, votes=0 if is_switch else votes, learned=state.learned)
        return state, decision

    def _reason(self, mode: Mode, present: float, other: float, votes: int) -> str:
        costs = f"{_other(mode)} would cost {other:,.0f} rows a batch, {mode} costs {present:,.0f}"
        if votes >= self.votes:
            return f"switch to {_other(mode)}: {costs}, {votes} periods in a row"
        if votes:
            return f"stay {mode} for now: {costs}, {votes} of {self.votes} periods in a row"
        return f"stay {mode}: {costs}; a switch needs {self.margin:.0%} less"


def cost_split(batch: BatchPartials, costs: SharingCosts) -> float:
    """Return what a batch costs, in rows, when its tasks write what they have."""
    return batch.rows * costs.handed_rows + _kept(batch.task_partials, batch.reads, costs)


def cost_combined(batch: BatchPartials, costs: SharingCosts, learned: float = 1.0) -> float:
    """Return what a batch costs, in rows, when partials are brought together by key first."""
    kept = batch.combined_partials
    partials = expected_combined(batch, learned) if kept is None else float(kept)
    exchange = batch.task_partials * costs.exchange_rows + costs.stage_rows
    return exchange + _kept(partials, batch.reads, costs)


def _kept(partials: float, reads: float, costs: SharingCosts) -> float:
    """Return what it costs to write partials, and to read them again when windows close."""
    return partials * (costs.write_rows + reads * costs.read_rows)


def expected_combined(batch: BatchPartials, learned: float = 1.0) -> float:
    """Return how many partials combining would leave, seen from split.

    Each task drew its rows from the same keys, so what one task met tells how many there are, if
    they are about equally frequent; ``learned`` corrects for what was found before.

    >>> round(expected_combined(BatchPartials(rows=80_000, tasks=8, task_partials=8_000)))
    1000
    >>> round(expected_combined(BatchPartials(rows=8_000, tasks=8, task_partials=8_000)))
    8000
    """
    drawn = batch.rows / batch.tasks
    met = min(batch.task_partials / batch.tasks, drawn)
    if met >= drawn:
        expected = float(batch.task_partials)  # no key came twice: nothing to bring together
    else:
        keys = _keys_behind(met, drawn)
        expected = _met(keys, batch.rows)
    bound = float(batch.task_partials) if batch.pane_keys is None else batch.pane_keys
    return min(learned * expected, bound, float(batch.task_partials))


def _learned(before: float | None, batch: BatchPartials) -> float | None:
    if batch.combined_partials is None or not batch.task_partials:
        return before
    ratio = batch.combined_partials / expected_combined(replace(batch, pane_keys=None))
    return ratio if before is None else before + _LEARNING * (ratio - before)


def _keys_behind(met: float, drawn: float) -> float:
    """Return the number of keys of which ``drawn`` rows would meet ``met``."""
    low, high = met, met * drawn + 1
    for _ in range(60):
        middle = (low + high) / 2
        if _met(middle, drawn) < met:
            low = middle
        else:
            high = middle
    return high


def _met(keys: float, rows: float) -> float:
    return -keys * expm1(-rows / keys)


def _other(mode: Mode) -> Mode:
    return "combined" if mode == "split" else "split"
