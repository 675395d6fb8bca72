"""A topology as the simulator knows it: operators, what they hand on, how long they take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from penstock.elasticity.propagation import Node, in_order
from penstock.errors import ConfigurationError
from penstock.simulation.laws import Keys, Law
from penstock.sources.keys import UniformKeys

_ONLY_KEY_0 = UniformKeys(1)
MOST_ROWS_PER_ROW = 1_000_000
"""What an operator may put out for a row that it takes in."""
MOST_ROWS_IN_ALL = 1_000_000_000
"""What may come to an operator for a row of the load."""


@dataclass(frozen=True, slots=True)
class SimulatedSource:
    """Where rows come from; ``share`` of the load is its own, ``keys`` is what they are drawn from.

    Rows of a source without ``keys`` all have the key 0.
    """

    name: str
    share: float = 1.0
    keys: Keys | None = None

    @property
    def drawn_keys(self) -> Keys:
        """What its rows' keys are drawn from, whether or not anybody said so."""
        return self.keys or _ONLY_KEY_0


@dataclass(frozen=True, slots=True)
class SimulatedOperator:
    """An operator of a simulated topology.

    ``inputs`` are the operators and sources it reads and, for each, the share it takes of what
    that one puts out. ``selectivity`` is how many rows it puts out per row it takes in.
    """

    name: str
    inputs: Mapping[str, float]
    law: Law
    selectivity: float = 1.0


@dataclass(frozen=True, slots=True)
class SimulatedTopology:
    """Sources and operators, in an order in which every operator comes after what it reads.

    >>> from penstock.simulation.laws import Constant
    >>> parse = SimulatedOperator("parse", {"tweets": 1.0}, Constant(0.001), selectivity=0.5)
    >>> score = SimulatedOperator("score", {"parse": 0.4}, Constant(0.01))
    >>> topology = SimulatedTopology("demo", (SimulatedSource("tweets"),), (score, parse))
    >>> [each.name for each in topology.operators], topology.rows_per_row()
    (['parse', 'score'], {'tweets': 1.0, 'parse': 1.0, 'score': 0.2})
    >>> round(topology.seconds_per_row(), 6)
    0.003
    """

    name: str
    sources: tuple[SimulatedSource, ...]
    operators: tuple[SimulatedOperator, ...]
    about: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _check(self)
        by_name = {each.name: each for each in self.operators}
        ordered = [by_name[node.name] for node in in_order(self.nodes()) if node.name in by_name]
        object.__setattr__(self, "operators", tuple(ordered))
        name, rows = max(self.rows_per_row().items(), key=lambda each: each[1])
        if not rows <= MOST_ROWS_IN_ALL:
            raise ConfigurationError(
                f"topology '{self.name}': '{name}' takes in {rows:.3g} rows per row of the load, "
                f"and {MOST_ROWS_IN_ALL:,} at most can be; lower the selectivity of what it reads"
            )

    def nodes(self) -> tuple[Node, ...]:
        """Return it as the policies' propagation knows it: rows in per row that a parent takes."""
        out = {each.name: each.selectivity for each in self.operators}
        out |= {each.name: 1.0 for each in self.sources}
        operators = (
            Node(each.name, {name: out[name] * share for name, share in each.inputs.items()})
            for each in self.operators
        )
        return (*(Node(each.name) for each in self.sources), *operators)

    def rows_by_source(self) -> dict[str, dict[str, float]]:
        """Return how many rows each source and operator takes in, per row of every source."""
        nodes = in_order(self.nodes())
        found: dict[str, dict[str, float]] = {}
        for source in self.sources:
            reached = found[source.name] = {}
            for node in nodes:
                reached[node.name] = float(node.name == source.name) + sum(
                    reached[parent] * rows for parent, rows in node.shares.items()
                )
        return found

    def rows_per_row(self) -> dict[str, float]:
        """Return how many rows each source and operator takes in, per row of the whole load."""
        by_source = self.rows_by_source()
        return {
            name: sum(each.share * by_source[each.name][name] for each in self.sources)
            for name in by_source[self.sources[0].name]
        }

    def row_seconds(self) -> dict[str, float]:
        """Return what a row takes in each operator, on average over the keys that come to it."""
        by_source = self.rows_by_source()
        found = {}
        for operator in self.operators:
            rows = [each.share * by_source[each.name][operator.name] for each in self.sources]
            means = [operator.law.mean_seconds(each.drawn_keys) for each in self.sources]
            # Where no row ever comes, it doesn't matter.
            weights = rows if any(rows) else [1.0] * len(rows)
            found[operator.name] = _mean(means, weights)
        return found

    def seconds_per_row(self) -> float:
        """Return the slot time of a row of the load and of all that becomes of it."""
        rows, seconds = self.rows_per_row(), self.row_seconds()
        return sum(rows[name] * each for name, each in seconds.items())


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    products = (value * weight for value, weight in zip(values, weights, strict=True))
    return sum(products) / sum(weights)


def _check(topology: SimulatedTopology) -> None:
    where = f"topology '{topology.name}'"
    if not topology.sources or not topology.operators:
        raise ConfigurationError(f"{where} has no source or no operator; give at least one of each")
    names = [each.name for each in topology.sources] + [each.name for each in topology.operators]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ConfigurationError(f"{where}: two are called '{twice[0]}'; give each its own name")
    known = set(names)
    shares = [each.share for each in topology.sources]
    if not all(isfinite(each) and each > 0 for each in shares) or abs(sum(shares) - 1) > 1e-6:
        raise ConfigurationError(
            f"{where}: its sources have the shares {shares} of the load; write numbers above 0 "
            "that add up to 1"
        )
    for each in topology.operators:
        if not each.inputs:
            raise ConfigurationError(f"{where}: '{each.name}' reads nothing; give it inputs")
        for parent, share in each.inputs.items():
            if parent not in known:
                raise ConfigurationError(
                    f"{where}: '{each.name}' reads '{parent}', which is not there. "
                    f"There are: {', '.join(names)}."
                )
            if not (isfinite(share) and 0 <= share <= 1):
                raise ConfigurationError(
                    f"{where}: '{each.name}' takes the share {share} of '{parent}'; write one from "
                    "0 to 1, and more rows than came in as the selectivity of the parent"
                )
        if not 0 <= each.selectivity <= MOST_ROWS_PER_ROW:
            raise ConfigurationError(
                f"{where}: '{each.name}' has the selectivity {each.selectivity}; write rows out "
                f"per row in, from 0 to {MOST_ROWS_PER_ROW:,}"
            )
