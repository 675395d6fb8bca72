"""Where a topology is drawn: from left to right, operators in the boxes of their components.

Boxes stand in columns, each after those that it reads (the longest path), and operators in them
likewise. What is read from further away has a lane of its own through what lies between. So no two
boxes and no two operators overlap, and no edge runs over one that it does not belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from penstock.topology.components import Components
from penstock.topology.explain_blocks import Block, Box, Exit, Lane, block_of
from penstock.topology.explain_ordering import ordered, settled
from penstock.topology.explain_words import Words
from penstock.topology.operators import DeadLetters

MARGIN, COLUMN_GAP, ROW_GAP, LABEL_GAP, LANE_SIZE = 16.0, 60.0, 24.0, 16.0, 8.0


class Edge(NamedTuple):
    """Rows that one operator hands to another; ``failed`` are those that it set aside."""

    source: str
    target: str
    failed: bool

    @property
    def exit(self) -> Exit:
        """What leaves the operator; several may read it."""
        return Exit(self.source, self.failed)


class Run(NamedTuple):
    """A level part of an edge; curves lead from one to the next."""

    start: float
    end: float
    y: float


@dataclass(frozen=True, slots=True)
class Layout:
    """A drawing: boxes by the names of operators and of components, and the ways of edges."""

    width: float
    height: float
    operators: Mapping[str, Box]
    components: Mapping[str, Box]
    routes: Mapping[Edge, tuple[Run, ...]]


def edges_of(components: Components) -> tuple[Edge, ...]:
    """Return the edges of a topology, each once and after those that it depends on."""
    return tuple(
        dict.fromkeys(
            Edge(name, operator.name, isinstance(operator, DeadLetters))
            for operator in components.topology
            for name in operator.inputs
        )
    )


def layout(components: Components, words: Words) -> Layout:
    """Lay a topology out, with room for its words."""
    homes = components.grouping.homes
    named = {operator.name: homes.get(operator.name) for operator in components.topology}
    return laid_out(named, edges_of(components), words)


def laid_out(homes: Mapping[str, str | None], edges: Sequence[Edge], words: Words) -> Layout:
    """Lay operators out by the components that they run in; None for those that run in none.

    Both come in order: an operator after those that it reads, and an edge after those before it.
    """
    return _Drawing(_blocks(homes, edges, words), edges, words).layout()


def _blocks(homes: Mapping[str, str | None], edges: Sequence[Edge], words: Words) -> list[Block]:
    """Return a block for every component, and one for each sink and each stream of dead letters."""
    residents: dict[str, tuple[str, ...]] = {}
    for name, home in homes.items():
        if home is not None:
            residents[home] = (*residents.get(home, ()), name)
    made: dict[str, Block] = {}
    for name, home in homes.items():
        members = (name,) if home is None else residents[home]
        if members[0] not in made:
            out = [edge for edge in edges if edge.source in members]
            links = [(edge.source, edge.target) for edge in out if edge.target in members]
            exits = dict.fromkeys(edge.exit for edge in out if edge.target not in members)
            made[members[0]] = block_of(members, home, links, tuple(exits), words)
    return list(made.values())


class _Way(NamedTuple):
    """The block that an edge leaves, the lanes that it takes, and the block where it ends."""

    here: int
    lanes: tuple[Lane, ...]
    there: int

    def steps(self) -> Iterator[tuple[int | Lane, int | Lane]]:
        return pairwise([self.here, *self.lanes, self.there])


class _Drawing:
    """Places blocks, which are known by their numbers, and lanes between them."""

    def __init__(self, blocks: list[Block], edges: Sequence[Edge], words: Words) -> None:
        self._blocks, self._edges, self._words = blocks, edges, words
        self._home = {name: n for n, block in enumerate(blocks) for name in block.operators}
        self._column = self._columns()
        self._ways = dict(self._found_ways())
        self._order = self._ordered()
        self._left, self._right = self._across()
        self._top = self._down()

    def layout(self) -> Layout:
        operators: dict[str, Box] = {}
        components: dict[str, Box] = {}
        for number, block in enumerate(self._blocks):
            x, y = self._left[self._column[number]], self._top[number]
            operators |= {name: box.moved(x, y) for name, box in block.operators.items()}
            if block.component is not None:
                components[block.component] = Box(x, y, block.width, block.height)
        bottom = max(top + self._size(each) for each, top in self._top.items())
        routes = {edge: tuple(self._route(edge, operators)) for edge in self._edges}
        return Layout(self._right[-1] + MARGIN, bottom + MARGIN, operators, components, routes)

    def _columns(self) -> list[int]:
        column = [0] * len(self._blocks)
        for edge in self._edges:
            here, there = self._home[edge.source], self._home[edge.target]
            if here != there:
                column[there] = max(column[there], column[here] + 1)
        return column

    def _found_ways(self) -> Iterator[tuple[Edge, _Way]]:
        for edge in self._edges:
            here, there = self._home[edge.source], self._home[edge.target]
            if here != there:
                between = range(self._column[here] + 1, self._column[there])
                yield edge, _Way(here, tuple(Lane(edge.exit, each) for each in between), there)

    def _ordered(self) -> list[list[int | Lane]]:
        columns: list[list[int | Lane]] = [[] for _ in range(max(self._column) + 1)]
        for number, column in enumerate(self._column):
            columns[column].append(number)
        for lane in dict.fromkeys(lane for way in self._ways.values() for lane in way.lanes):
            columns[lane.layer].append(lane)
        links: dict[tuple[int | Lane, int | Lane], float] = {}
        for edge, way in self._ways.items():
            links |= dict.fromkeys(way.steps(), 0.0)
            first = next(way.steps())
            links[first] = self._blocks[way.here].share_at(edge.exit)
        return ordered(columns, links)

    def _across(self) -> tuple[list[float], list[float]]:
        """Return where columns begin and end, with room for labels before them."""
        left: list[float] = []
        right: list[float] = []
        x = MARGIN
        for column in self._order:
            blocks = [self._blocks[each] for each in column if isinstance(each, int)]
            x += max(self._lead(block) for block in blocks) + (COLUMN_GAP if left else 0.0)
            left.append(x)
            x += max(block.width for block in blocks)
            right.append(x)
        return left, right

    def _lead(self, block: Block) -> float:
        width = self._words.label_width(block.component)
        return width + LABEL_GAP if width else 0.0

    def _down(self) -> dict[int | Lane, float]:
        """Return the tops of blocks and lanes, as level as can be with what they read."""
        reads: dict[int | Lane, dict[tuple[int | Lane, Exit], None]] = {}
        for edge, way in self._ways.items():
            for before, after in way.steps():
                reads.setdefault(after, {})[before, edge.exit] = None
        tops: dict[int | Lane, float] = {}
        for column in self._order:
            wanted = []
            for each in column:
                heights = [self._leaves_at(*before, tops) for before in reads.get(each, ())]
                entry = self._blocks[each].entry if isinstance(each, int) else LANE_SIZE / 2
                wanted.append((sum(heights) / len(heights) if heights else 0.0) - entry)
            found = settled(wanted, [self._size(each) for each in column], ROW_GAP)
            tops |= zip(column, found, strict=True)
        highest = min(tops.values())
        return {each: round(top - highest) + MARGIN for each, top in tops.items()}

    def _leaves_at(self, each: int | Lane, exit_: Exit, tops: Mapping[int | Lane, float]) -> float:
        if isinstance(each, int):
            return tops[each] + self._blocks[each].leaves_at(exit_)
        return tops[each] + LANE_SIZE / 2

    def _size(self, each: int | Lane) -> float:
        return self._blocks[each].height if isinstance(each, int) else LANE_SIZE

    def _route(self, edge: Edge, operators: Mapping[str, Box]) -> Iterable[Run]:
        source, target = operators[edge.source], operators[edge.target]
        runs = [Run(source.right, source.right, source.middle)]
        way = self._ways.get(edge)
        if way is None:
            return [*runs, Run(target.x, target.x, target.middle)]
        here = self._column[way.here]
        for lane in self._blocks[way.here].lanes[edge.exit]:
            box = lane.moved(self._left[here], self._top[way.here])
            runs.append(Run(box.x, box.right, box.middle))
        runs[-1] = runs[-1]._replace(end=self._right[here])
        for each in way.lanes:
            y = self._top[each] + LANE_SIZE / 2
            runs.append(Run(self._left[each.layer], self._right[each.layer], y))
        start = self._left[self._column[way.there]] - self._lead(self._blocks[way.there])
        return [*runs, Run(start, target.x, target.middle)]
