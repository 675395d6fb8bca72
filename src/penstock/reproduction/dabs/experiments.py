"""The six experiments of DABS-Storm's section 7.3, and what its text says of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.reproduction.dabs.setup import Stream, TopologyName


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """One figure of the paper: a topology and a stream.

    ``dephased`` is what the text prints, in per cent by method. ``ranks`` are by method, too: 1 has
    the fewest dephased tuples of the three that adapt.
    """

    figure: int
    topology: TopologyName
    stream: Stream
    dephased: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return f"{self.topology}, {self.stream}"


EXPERIMENTS = (
    Experiment(
        12,
        "insensitive",
        "progressive",
        dephased={"incremental": 29.0, "AutoScale+": 7.0},
        ranks={"AutoScale+": 1},
    ),
    Experiment(
        13,
        "insensitive",
        "erratic",
        dephased={"incremental": 19.0, "learning": 13.0, "AutoScale+": 18.0},
        ranks={"learning": 1, "AutoScale+": 2, "incremental": 3},
    ),
    Experiment(14, "sensitive", "progressive", ranks={"learning": 1}),
    Experiment(15, "sensitive", "erratic", dephased={"AutoScale+": 4.8}, ranks={"incremental": 3}),
    # The conclusion says 10 % of "complex real workflows", not of which stream.
    Experiment(
        16, "complex", "progressive", dephased={"AutoScale+": 10.0}, ranks={"AutoScale+": 1}
    ),
    Experiment(17, "complex", "erratic", dephased={"AutoScale+": 10.0}, ranks={"AutoScale+": 1}),
)
