"""Blocks: wider pieces between panes and windows, for when all windows are formed at once.

A window that slides often would take every pane many times over. With aligned blocks of panes it is
whole blocks and the loose panes at its two ends; with blocks of blocks, fewer pieces still. Which
widths pay is a shortest path over them: what windows cost between two widths that follow each
other does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from penstock.windows.panes import PanedSpec

MAX_RATIO = 64
SAMPLES = 24
# In rows merged for each pane: to bring the panes of a key together, and to build one more width,
# which is a copy of the row and its place in a table that no longer fits the cache.
FIXED_COST = 3.0
WIDTH_COST = 2.0


@dataclass(frozen=True, slots=True)
class Blocks:
    """Widths of blocks in panes, each a multiple of the one before; blocks start at ``phase``."""

    widths: tuple[int, ...] = ()
    phase: int = 0


def chosen_blocks(specs: Sequence[PanedSpec]) -> Blocks:
    """Choose the widths for which the fewest rows are merged in all.

    >>> from penstock.windows.panes import paned
    >>> from penstock.windows.specs import sliding, tumbling
    >>> chosen_blocks(paned([tumbling("1 hour")]).specs).widths
    ()
    >>> chosen_blocks(paned([sliding("1 hour", "1 minute")]).specs).widths
    (4, 16)
    """
    phase = max(specs, key=lambda spec: spec.length / spec.slide).offset
    best = _cheapest(specs, phase)
    found = Blocks(best, phase)
    worth = merging_cost(specs, found) + FIXED_COST < merging_cost(specs, Blocks())
    return found if best and worth else Blocks()


def merging_cost(specs: Sequence[PanedSpec], blocks: Blocks) -> float:
    """Return the cost of building the blocks and forming all windows, in rows for each pane."""
    widths = (1, *blocks.widths)
    built = 1 + WIDTH_COST * len(blocks.widths) if blocks.widths else 0
    parents = (*blocks.widths, None)
    steps = zip(widths, parents, strict=True)
    return built + sum(_loose(specs, width, parent, blocks.phase) for width, parent in steps)


def _cheapest(specs: Sequence[PanedSpec], phase: int) -> tuple[int, ...]:
    """Find the cheapest chain of widths, from the widest down."""
    candidates = _candidates(specs)
    best: dict[int, tuple[float, tuple[int, ...]]] = {}
    for width in reversed(candidates):
        ways = [(_loose(specs, width, None, phase), ())]
        for parent, (cost, chain) in best.items():
            if parent % width == 0 and parent <= width * MAX_RATIO:
                loose = _loose(specs, width, parent, phase)
                ways.append((WIDTH_COST + loose + cost, (parent, *chain)))  # type: ignore[arg-type]
        best[width] = min(ways)
    return best[1][1]


def _candidates(specs: Sequence[PanedSpec]) -> list[int]:
    longest = max(spec.length for spec in specs)
    slides = {spec.slide for spec in specs}
    found = {1} | {spec.length for spec in specs}
    for base in {1, gcd(*slides), *slides}:
        for times in (base, base * 3):
            width = times
            while width < longest:
                found.add(width)
                width *= 2
    return sorted(found)


def _loose(specs: Sequence[PanedSpec], width: int, parent: int | None, phase: int) -> float:
    """Return the pieces of a width that windows take for each pane, not being in a whole parent."""
    return sum(_loose_of(spec, width, parent, phase) for spec in specs)


def _loose_of(spec: PanedSpec, width: int, parent: int | None, phase: int) -> float:
    period = (parent or width) // gcd(spec.slide, parent or width)
    count = min(period, SAMPLES)
    total = 0
    for sample in range(count):
        start = spec.offset + spec.slide * (sample * period // count) - phase
        end = start + spec.length
        first, last = -(-start // width), end // width
        if last <= first:
            continue
        pieces = last - first
        if parent is not None:
            whole = end // parent - -(-start // parent)
            pieces -= max(0, whole) * (parent // width)
        total += pieces
    return total / count / spec.slide
