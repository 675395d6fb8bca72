"""Partials of a user's aggregate, made by the tasks that own their keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from penstock.engine.aggregate_steps import MeasuredKeys
from penstock.engine.key_grouping import KeyGrouping
from penstock.engine.partials import PartialFrame, Partials
from penstock.engine.python_step import Tally
from penstock.engine.task_metrics import TaskReport
from penstock.engine.user_aggregation import UserAggregation
from penstock.journal.events import KnownEvent
from penstock.placement.key_groups import KeyGroups
from penstock.placement.placement import Placement
from penstock.topology.operators import Compute


class KeyedPartials:
    """Moves rows by their key before partials are made of them, and learns what keys cost.

    Spark's own aggregates don't need it: they are combined before rows move, so that a key is a few
    rows however hot it is.
    """

    def __init__(self, grouping: KeyGrouping, measured: MeasuredKeys) -> None:
        self._grouping = grouping
        self._measured = measured

    @classmethod
    def of(
        cls, compute: Compute, placement: Placement, report: TaskReport, learnt: Mapping[str, Any]
    ) -> KeyedPartials | None:
        """Return it for operators that need it where the placement has key groups."""
        is_keyed = bool(compute.keys) and isinstance(compute.aggregation, UserAggregation)
        if not is_keyed or not isinstance(placement, KeyGroups):
            return None
        grouping = KeyGrouping(placement, compute.name, learnt)
        measured = MeasuredKeys(compute.name, placement.groups, report, len(compute.keys))
        return cls(grouping, measured)

    @property
    def hands_over(self) -> bool:
        """Whether groups have just moved, and what they left behind must be merged first."""
        return self._grouping.hands_over

    def frame_of(
        self, partials: Partials, df: DataFrame, closed: int, tasks: int, *, ordered: bool
    ) -> PartialFrame:
        """Return the partials of a batch's rows, made where their keys belong."""

        def place(rows: DataFrame) -> DataFrame:
            return self._grouping.place(rows, partials.keys, tasks, ordered=ordered)

        return partials.by_key(df, closed, place, self._measured)

    def learn(self, tallies: Sequence[Tally], tasks: int, next_window: int, closed: int) -> None:
        """Take in what the tasks of a batch measured."""
        loads = [tally.keys for tally in tallies if tally.keys is not None]
        self._grouping.learn(loads, tasks, next_window, closed)

    def events(self, batch_id: int, pause_seconds: float) -> Iterator[KnownEvent]:
        """Yield what has changed in where keys go."""
        yield from self._grouping.events(batch_id, pause_seconds)

    def to_json(self) -> dict[str, Any]:
        """Return what the next run should know, as plain JSON values."""
        return self._grouping.to_json()
