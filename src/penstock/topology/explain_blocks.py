"""One component of a drawing: its operators in layers, and lanes for rows that leave it early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from penstock.topology.explain_ordering import ordered, settled
from penstock.topology.explain_words import Words

OPERATOR_HEIGHT, LANE_HEIGHT = 44.0, 8.0
LAYER_GAP, OPERATOR_GAP = 34.0, 14.0
HEADER, PADDING, TEXT_PADDING = 42.0, 14.0, 12.0


class Box(NamedTuple):
    """A rectangle, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.x + self.width

    @property
    def middle(self) -> float:
        """The height at which edges meet it."""
        return self.y + self.height / 2

    def moved(self, x: float, y: float) -> Box:
        """Return it so far to the right and down."""
        return self._replace(x=self.x + x, y=self.y + y)


class Exit(NamedTuple):
    """What leaves a component: an operator's rows, or those that it failed on."""

    operator: str
    failed: bool


class Lane(NamedTuple):
    """Room for an edge to pass through a layer."""

    exit: Exit
    layer: int


@dataclass(frozen=True, slots=True)
class Block:
    """A component, or an operator that is in none, with boxes counted from its own corner.

    ``entry`` is the height at which rows come in, ``lanes`` are the ways of those that leave
    through further layers.
    """

    component: str | None
    width: float
    height: float
    entry: float
    operators: Mapping[str, Box]
    lanes: Mapping[Exit, tuple[Box, ...]]

    def leaves_at(self, exit_: Exit) -> float:
        """Return the height at which something leaves it."""
        return [self.operators[exit_.operator], *self.lanes[exit_]][-1].middle

    def share_at(self, exit_: Exit) -> float:
        """Return the same as a share of its height, from 0 at the top."""
        return self.leaves_at(exit_) / (self.height + 1)


def block_of(
    operators: Sequence[str],
    component: str | None,
    links: Sequence[tuple[str, str]],
    exits: Sequence[Exit],
    words: Words,
) -> Block:
    """Lay out the operators of a component, of which the first is its entrance.

    ``links`` are between them, each after those that it depends on.
    """
    depth = dict.fromkeys(operators, 0)
    for one, other in links:
        depth[other] = max(depth[other], depth[one] + 1)
    layers, tops = _layers(depth, links, exits)
    rooms = [
        max(words.operator_width(each) for each in layer if isinstance(each, str))
        + 2 * TEXT_PADDING
        for layer in layers
    ]
    inner = width = sum(rooms) + LAYER_GAP * (len(rooms) - 1)
    if component:
        width = max(inner + 2 * PADDING, words.component_width(component) + 2 * TEXT_PADDING)
    x, y = (width - inner) / 2, HEADER if component else 0.0
    boxes: dict[str | Lane, Box] = {}
    for layer, room in zip(layers, rooms, strict=True):
        boxes |= {each: Box(x, tops[each] + y, room, _height(each)) for each in layer}
        x += room + LAYER_GAP
    bottom = max(box.y + box.height for box in boxes.values())
    last = len(layers)
    return Block(
        component,
        width,
        bottom + (PADDING if component else 0.0),
        boxes[operators[0]].middle,
        {each: boxes[each] for each in operators},
        {each: tuple(boxes[lane] for lane in _lanes(each, depth, last)) for each in exits},
    )


def _layers(
    depth: Mapping[str, int], links: Sequence[tuple[str, str]], exits: Sequence[Exit]
) -> tuple[list[list[str | Lane]], dict[str | Lane, float]]:
    """Return what is in each layer, and its top."""
    count = max(depth.values()) + 1
    layers: list[list[str | Lane]] = [[] for _ in range(count)]
    for name, layer in depth.items():
        layers[layer].append(name)
    steps: list[tuple[str | Lane, str | Lane]] = list(links)
    for each in exits:
        lanes = _lanes(each, depth, count)
        for lane in lanes:
            layers[lane.layer].append(lane)
        steps += pairwise([each.operator, *lanes])
    layers = ordered(layers, dict.fromkeys(steps, 0.0))
    middles: dict[str | Lane, float] = {}
    for row in layers:
        wanted = [_wanted(each, steps, middles) - _height(each) / 2 for each in row]
        found = settled(wanted, [_height(each) for each in row], OPERATOR_GAP)
        middles |= {e: top + _height(e) / 2 for e, top in zip(row, found, strict=True)}
    highest = min(middle - _height(each) / 2 for each, middle in middles.items())
    return layers, {e: round(middle - _height(e) / 2 - highest) for e, middle in middles.items()}


def _wanted(
    each: str | Lane,
    steps: Sequence[tuple[str | Lane, str | Lane]],
    middles: Mapping[str | Lane, float],
) -> float:
    """Return the height at which the edges to something would be level."""
    near = [middles[one] for one, other in steps if other == each and one in middles]
    return sum(near) / len(near) if near else 0.0


def _lanes(exit_: Exit, depth: Mapping[str, int], layers: int) -> list[Lane]:
    return [Lane(exit_, layer) for layer in range(depth[exit_.operator] + 1, layers)]


def _height(each: str | Lane) -> float:
    return LANE_HEIGHT if isinstance(each, Lane) else OPERATOR_HEIGHT
