"""Which intermediate results are worth keeping, from the specs and measured sizes.

A ladder costs, per pane of event time: reading what the results are made of, building and writing
the blocks, and an extra write in the closings that keep something. Candidates are geometric ladders
on the grid of each spec, windows and slides that the specs have anyway, and, where all aggregates
have an inverse, the last window of a spec. The best one is bettered rung by rung.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from penstock.windows.ladder_costs import LadderBill, LadderCosts, Sizes, bill
from penstock.windows.panes import PanedSpec, Panes
from penstock.windows.rungs import Ladder, Rung

RATIOS = range(2, 17)
_ROUNDS = 8


def choose_ladder(
    panes: Panes,
    sizes: Sizes,
    costs: LadderCosts | None = None,
    *,
    invertible: bool = False,
    current: Ladder | None = None,
) -> Ladder:
    """Return the cheapest ladder for a set of specs.

    ``invertible`` says that every aggregate can take rows away exactly. Given a ``current`` one,
    that one stays unless the best is cheaper by ``costs.margin``: blocks that were kept are lost
    by a change.

    >>> from penstock.windows.panes import paned
    >>> from penstock.windows.specs import sliding
    >>> choose_ladder(paned([sliding("1 minute", "10 seconds")]), Sizes(1_000)).rungs
    ()
    >>> choose_ladder(paned([sliding("1 day", "10 seconds")]), Sizes(1_000)).is_nested
    True
    """
    costs = costs or LadderCosts()
    search = _Search(panes, sizes, costs)
    nothing = Ladder()
    starts = [nothing, *_geometric(panes), *_windows(panes)]
    if invertible:
        starts += [replace(some, inverse=inverse) for some in starts for inverse in _chains(panes)]
    best = search.bettered(search.cheapest(starts), list(_single_rungs(panes)))
    if current is not None and not search.is_worth_a_change(current, best):
        best = replace(current, reason="")
    return replace(best, reason=_reason(panes, search.bill(nothing), search.bill(best), best))


class _Search:
    """Weighs ladders; each is weighed once."""

    def __init__(self, panes: Panes, sizes: Sizes, costs: LadderCosts) -> None:
        self._panes, self._sizes, self._costs = panes, sizes, costs
        self._bills: dict[tuple[tuple[Rung, ...], tuple[int, ...]], LadderBill] = {}

    def bill(self, ladder: Ladder) -> LadderBill:
        key = (ladder.rungs, ladder.inverse)
        if key not in self._bills:
            self._bills[key] = bill(self._panes, ladder, self._sizes, self._costs)
        return self._bills[key]

    def cheapest(self, ladders: Iterable[Ladder]) -> Ladder:
        return min(ladders, key=lambda ladder: self.bill(ladder).rank)

    def bettered(self, ladder: Ladder, pool: Sequence[Rung]) -> Ladder:
        """Add or leave out one rung at a time as long as that pays."""
        for _ in range(_ROUNDS):
            shorter = [
                replace(ladder, rungs=tuple(r for r in ladder.rungs if r != rung))
                for rung in ladder.rungs
            ]
            longer = [
                replace(ladder, rungs=tuple(sorted({*ladder.rungs, rung})))
                for rung in pool
                if rung not in ladder.rungs
            ]
            better = self.cheapest([ladder, *shorter, *filter(self._is_worth_weighing, longer)])
            if better == ladder:
                break
            ladder = better
        return ladder

    def _is_worth_weighing(self, ladder: Ladder) -> bool:
        """Blocks that half overlap hardly ever pay, save windows that are built anyway."""
        lengths = {spec.length for spec in self._panes.specs}
        return ladder.is_nested or all(rung.width in lengths for rung in ladder.rungs)

    def is_worth_a_change(self, current: Ladder, best: Ladder) -> bool:
        kept, new = self.bill(current), self.bill(best)
        is_better_kind = new.rank[0] < kept.rank[0]
        return is_better_kind or new.total < kept.total * (1 - self._costs.margin)


def _geometric(panes: Panes) -> Iterator[Ladder]:
    """Yield ladders of one ratio on the panes or on the slides of each spec."""
    for spec in panes.specs:
        for base in {1, spec.slide}:
            for ratio in RATIOS:
                widths = _powers(base, ratio, spec.length)
                if widths:
                    yield Ladder(tuple(Rung(w, spec.offset % w) for w in widths))


def _powers(base: int, ratio: int, length: int) -> list[int]:
    widths, width = [], base
    while width <= length // 2:
        if width > 1:
            widths.append(width)
        width *= ratio
    return widths


def _windows(panes: Panes) -> Iterator[Ladder]:
    """Yield a ladder of the windows that other specs can use: these are built anyway."""
    usable = [rung for spec in panes.specs for rung in _window_rungs(panes, spec)]
    if usable:
        yield Ladder(tuple(sorted(set(usable))))


def _window_rungs(panes: Panes, spec: PanedSpec) -> list[Rung]:
    is_of_use = any(other.length > spec.length for other in panes.specs)
    if spec.length < 2 or not is_of_use or spec.length % spec.slide:
        return []
    if spec.length // spec.slide > max(RATIOS):
        return []
    starts = range(spec.offset, spec.offset + spec.length, spec.slide)
    return [Rung(spec.length, start % spec.length) for start in starts]


def _single_rungs(panes: Panes) -> Iterator[Rung]:
    """Yield rungs to try one by one: windows, slides, and small multiples of slides."""
    seen = set()
    for spec in panes.specs:
        widths = {spec.length, *(spec.slide * ratio for ratio in (1, 2, 3, 4, 6, 8, 12, 16))}
        for width in sorted(widths):
            rung = Rung(width, spec.offset % width) if width > 1 else None
            longest = max(other.length for other in panes.specs)
            if rung is not None and rung not in seen and width <= longest:
                seen.add(rung)
                yield rung


def _chains(panes: Panes) -> Iterator[tuple[int, ...]]:
    sliding = [i for i, spec in enumerate(panes.specs) if spec.slide < spec.length]
    for index in sliding:
        yield (index,)
    if len(sliding) > 1:
        yield tuple(sliding)


def _inputs(number: float) -> str:
    """Write how many inputs there are.

    >>> _inputs(1.2), _inputs(1440.0)
    ('1 input', '1,440 inputs')
    """
    return f"{number:,.0f} input{'' if round(number) == 1 else 's'}"


def _reason(panes: Panes, nothing: LadderBill, chosen: LadderBill, ladder: Ladder) -> str:
    if ladder.is_empty:
        return (
            f"nothing is kept: a result merges {_inputs(nothing.inputs_per_result)} on average, "
            f"and keeping blocks would cost more than it saves"
        )
    return (
        f"keeps {ladder.describe(panes)}: a result merges {chosen.inputs_per_result:,.1f} inputs "
        f"on average with what is kept, {nothing.inputs_per_result:,.0f} without"
    )
