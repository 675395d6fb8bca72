"""What was measured in one micro-batch: the input of every policy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperatorObservation:
    """One operator in one micro-batch.

    ``busy_seconds`` is the time its tasks spent in it, summed over the tasks. For a Python operator
    it is measured; for an SQL operator, which Spark compiles together with its neighbours, it is an
    equal share of the JVM time of the stage (``estimated`` is then true).
    """

    name: str
    rows_in: int
    rows_out: int
    busy_seconds: float
    tasks: int
    slowest_task_seconds: float
    mean_task_seconds: float
    failed_rows: int = 0
    estimated: bool = False

    @property
    def selectivity(self) -> float | None:
        """Rows out per row in; None where nothing came in.

        >>> OperatorObservation("f", 200, 50, 0.1, 2, 0.06, 0.05).selectivity
        0.25
        """
        return self.rows_out / self.rows_in if self.rows_in else None


@dataclass(frozen=True, slots=True)
class SourceObservation:
    """One source in one micro-batch; ``waiting_rows`` is None where the source does not tell."""

    name: str
    rows: int
    waiting_rows: int | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything measured in one micro-batch."""

    batch_id: int
    at_seconds: float
    batch_seconds: float
    trigger_seconds: float | None
    slots: int
    operators: tuple[OperatorObservation, ...] = ()
    sources: tuple[SourceObservation, ...] = ()
    jobs: int = 0

    @property
    def rows_in(self) -> int:
        """Rows that all sources together gave to this micro-batch."""
        return sum(source.rows for source in self.sources)

    @property
    def waiting_rows(self) -> int | None:
        """Rows waiting at all sources, or None when no source tells."""
        told = [s.waiting_rows for s in self.sources if s.waiting_rows is not None]
        return sum(told) if told else None
