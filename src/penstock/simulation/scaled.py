"""A topology whose operators are all slower, or faster, by the same factor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConfigurationError
from penstock.simulation.laws import Keys, Law
from penstock.simulation.topology import SimulatedTopology


@dataclass(frozen=True, slots=True)
class Scaled:
    """A law whose times are all ``factor`` times as long.

    >>> from penstock.simulation.laws import Constant
    >>> Scaled(Constant(0.002), 3.0).mean_seconds()
    0.006
    """

    law: Law
    factor: float

    def draw(self, keys: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw as the law does."""
        return self.factor * self.law.draw(keys, rng)

    def mean_seconds(self, keys: Keys | None = None) -> float:
        """Return the law's mean, scaled."""
        return self.factor * self.law.mean_seconds(keys)


def scaled(topology: SimulatedTopology, factor: float) -> SimulatedTopology:
    """Return the topology with all execution times multiplied."""
    if not (isfinite(factor) and factor > 0):
        raise ConfigurationError(f"a topology can't be scaled by {factor}; write a number above 0")
    if factor == 1.0:
        return topology
    operators = tuple(replace(each, law=Scaled(each.law, factor)) for each in topology.operators)
    return replace(topology, operators=operators)
