"""A topology as a micro-batch runs it, as arrays: thousands of operators cost little more than one.

In Penstock an operator gets all rows that the one before it puts out. Where a simulated operator
takes a share of them only, a filter that costs nothing stands between the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.simulation.topology import SimulatedTopology

Whole = NDArray[np.int64]
Numbers = NDArray[np.float64]

# What products of selectivities may be off by; a row more or less for that would be wrong.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class BatchOperators:
    """Sources, filters and operators, each after what it reads.

    ``out_per_row`` is how many rows each puts out per row of the load, ``seconds_per_row`` what a
    row that it takes in costs. ``stage`` is the number of the component that each runs in, and
    ``level`` of a stage how many stages must be over before it begins.
    """

    names: tuple[str, ...]
    inputs: tuple[tuple[str, ...], ...]
    sources: int
    out_per_row: Numbers
    seconds_per_row: Numbers
    reader: Whole
    read: Whole
    stage: Whole
    level: Whole

    @property
    def stages(self) -> int:
        """How many components there are."""
        return len(self.level)

    def rows_out(self, done_rows: int, rows: int) -> Whole:
        """Return what each puts out in a batch of so many rows, after ``done_rows`` of the load.

        Rows are whole; what is left of one comes with a later batch, so that none is lost.
        """
        after = np.floor(self.out_per_row * (done_rows + rows) + _ROUNDING)
        before = np.floor(self.out_per_row * done_rows + _ROUNDING)
        return np.asarray(after - before, dtype=np.int64)

    def rows_in(self, rows_out: Whole) -> Whole:
        """Return what each takes in, when this is what they put out; a source, what it gives."""
        taken = np.zeros_like(rows_out)
        np.add.at(taken, self.reader, rows_out[self.read])
        taken[: self.sources] = rows_out[: self.sources]
        return taken


def batch_operators(topology: SimulatedTopology, *, fused: bool) -> BatchOperators:
    """Lay a topology out; unless ``fused``, every operator is a stage of its own."""
    layout = _Layout(topology)
    number = {name: index for index, name in enumerate(layout.names)}
    edges = [
        (number[name], number[parent])
        for name, parents in zip(layout.names, layout.inputs, strict=True)
        for parent in parents
    ]
    stage, level = _stages(layout, number, fused)
    return BatchOperators(
        names=tuple(layout.names),
        inputs=tuple(layout.inputs),
        sources=len(topology.sources),
        out_per_row=np.array(layout.out),
        seconds_per_row=np.array(layout.seconds),
        reader=np.array([reader for reader, _ in edges], dtype=np.int64),
        read=np.array([read for _, read in edges], dtype=np.int64),
        stage=stage,
        level=level,
    )


class _Layout:
    def __init__(self, topology: SimulatedTopology) -> None:
        self.names: list[str] = []
        self.inputs: list[tuple[str, ...]] = []
        self.out: list[float] = []
        self.seconds: list[float] = []
        per_row = topology.rows_per_row()
        row_seconds = topology.row_seconds()
        for source in topology.sources:
            self._add(source.name, (), source.share, 0.0)
        gives = dict(zip(self.names, self.out, strict=True))
        for operator in topology.operators:
            gives[operator.name] = per_row[operator.name] * operator.selectivity
        for operator in topology.operators:
            inputs = []
            for parent, share in operator.inputs.items():
                name = parent
                if share < 1.0:
                    name = f"{parent} to {operator.name}"
                    while name in gives:
                        name += "'"
                    self._add(name, (parent,), gives[parent] * share, 0.0)
                inputs.append(name)
            taken = row_seconds[operator.name]
            self._add(operator.name, tuple(inputs), gives[operator.name], taken)

    def _add(self, name: str, inputs: tuple[str, ...], out: float, seconds: float) -> None:
        self.names.append(name)
        self.inputs.append(inputs)
        self.out.append(out)
        self.seconds.append(seconds)


def _stages(layout: _Layout, number: dict[str, int], fused: bool) -> tuple[Whole, Whole]:
    """Cut the operators into components as ``penstock.topology.components`` does.

    A chain is one component. A border stands where branches meet, and where one stream is read by
    several.
    """
    readers = [0] * len(layout.names)
    for parents in layout.inputs:
        for parent in parents:
            readers[number[parent]] += 1
    stage: list[int] = []
    level: list[int] = []
    for parents in layout.inputs:
        before = [number[parent] for parent in parents]
        alone = len(before) == 1 and readers[before[0]] == 1
        # Without fusing, a filter still belongs to what reads it, and a source to its reader.
        may_join = fused or (alone and (layout.seconds[before[0]] == 0.0))
        if alone and may_join:
            stage.append(stage[before[0]])
            continue
        stage.append(len(level))
        level.append(max((level[stage[each]] + 1 for each in before), default=0))
    return np.array(stage, dtype=np.int64), np.array(level, dtype=np.int64)
