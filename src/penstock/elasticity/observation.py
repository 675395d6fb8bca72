"""What was measured in one micro-batch: the input of every policy."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class OperatorObservation:
    """One operator in one micro-batch.

    ``busy_seconds`` is the time its tasks spent in it, summed over the tasks. For a Python operator
    it is measured; for an SQL operator, which Spark compiles together with its neighbours, it is an
    equal share of the JVM time of the stage (``estimated`` is then true). ``cpu_seconds`` is how
    much of it they had a core, where that is known. ``inputs`` are the operators it reads, each of
    which gives it all rows it puts out, but where ``received_rows`` says what came from each: dead
    letters are other rows than those. Where operators have queues of their own,
    ``waiting_rows`` is what is left in this one's.

    Of a stage of a preference query, ``utilisation`` is the time that its tasks take over the time
    they have, uneven tasks counted, and ``parts_per_pane`` in how many parts its panes were split.
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
    cpu_seconds: float | None = None
    inputs: tuple[str, ...] = ()
    waiting_rows: int = 0
    received_rows: tuple[int, ...] = ()
    utilisation: float | None = None
    parts_per_pane: float | None = None

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
    """Everything measured in one micro-batch.

    ``at_seconds`` is when it was committed, in seconds since the epoch, and the only clock that a
    policy has. ``slots`` is how many slots exist and can be used, ``used_slots`` how many of them
    the plan used (None: all), ``most_slots`` how many there could be (None: nobody says), and
    ``cores`` how many processor cores they share (None: each has its own). ``waiting_rows`` of a
    source are those that this batch left behind.
    """

    batch_id: int
    at_seconds: float
    batch_seconds: float
    trigger_seconds: float | None
    slots: int
    operators: tuple[OperatorObservation, ...] = ()
    sources: tuple[SourceObservation, ...] = ()
    jobs: int = 0
    used_slots: int | None = None
    most_slots: int | None = None
    cores: int | None = None

    @property
    def started_seconds(self) -> float:
        """When the micro-batch began, in seconds since the epoch.

        >>> Observation(0, 100.0, 0.5, None, slots=2).started_seconds
        99.5
        """
        return self.at_seconds - self.batch_seconds

    def idle_at(self, at_seconds: float, slots: int) -> Observation:
        """Return what there is to see when nothing has come since.

        >>> clicks = SourceObservation("clicks", rows=50, waiting_rows=7)
        >>> seen = Observation(4, 100.0, 0.5, 1.0, slots=2, sources=(clicks,))
        >>> idle = seen.idle_at(120.0, slots=3)
        >>> idle.batch_id, idle.batch_seconds, idle.rows_in, idle.waiting_rows, idle.slots
        (4, 0.0, 0, 0, 3)
        """
        operators = tuple(
            OperatorObservation(
                each.name, 0, 0, 0.0, 0, 0.0, 0.0, estimated=each.estimated, inputs=each.inputs
            )
            for each in self.operators
        )
        sources = tuple(
            SourceObservation(each.name, 0, None if each.waiting_rows is None else 0)
            for each in self.sources
        )
        return replace(
            self,
            at_seconds=at_seconds,
            batch_seconds=0.0,
            slots=slots,
            operators=operators,
            sources=sources,
            jobs=0,
        )

    @property
    def slots_in_use(self) -> int:
        """Slots that the micro-batch used, 1 at least: it ran, whatever is left of them since.

        >>> Observation(0, 100.0, 0.5, None, slots=4, used_slots=2).slots_in_use
        2
        """
        used = self.slots if self.used_slots is None else min(self.used_slots, self.slots)
        return max(1, used)

    @property
    def rows_in(self) -> int:
        """Rows that all sources together gave to this micro-batch."""
        return sum(source.rows for source in self.sources)

    @property
    def waiting_rows(self) -> int | None:
        """Rows waiting at all sources, or None when no source tells."""
        told = [s.waiting_rows for s in self.sources if s.waiting_rows is not None]
        return sum(told) if told else None
