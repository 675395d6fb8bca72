"""Writes the journal of a simulated run: one that every reader takes for that of a live run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.errors import ConfigurationError
from penstock.journal.events import (
    BatchFinished,
    DecisionMade,
    ForecastMade,
    KnownEvent,
    QueryStarted,
    QueryStopped,
    SlotsChanged,
)
from penstock.journal.lines import Event, to_json
from penstock.journal.location import refuse_impossible
from penstock.journal.segments import SegmentAppender, segment_numbers
from penstock.journal.topology_events import PlannedOperator, TopologyPlanned
from penstock.simulation.topology import SimulatedTopology
from penstock.version import __version__

# A simulation has no date. Its journal begins on a Thursday at midnight, 1 January 2026, UTC.
EPOCH_SECONDS = 1_767_225_600.0
_SEGMENT_BYTES = 16 * 1024 * 1024
_MOST_SEGMENTS = 10_000


def check_no_journal(directory: Path) -> None:
    """Refuse a directory with a journal in it: two runs in one would read as one run."""
    refuse_impossible(directory)
    try:
        numbers = segment_numbers(directory)
    except OSError as error:
        raise _unusable(directory, error) from None
    if numbers:
        raise ConfigurationError(
            f"journal: there is one in {directory} already. Name another directory, or delete it "
            "first."
        )


def planned_operators(topology: SimulatedTopology) -> tuple[PlannedOperator, ...]:
    """Return the operators of a simulated topology, each a component of its own."""
    sources = [PlannedOperator(each.name, "source", each.name) for each in topology.sources]
    operators = [
        PlannedOperator(each.name, "map", each.name, tuple(each.inputs), detail="simulated")
        for each in topology.operators
    ]
    return (*sources, *operators)


class JournalRecorder:
    """Takes down a simulated run in ``directory``, which must not hold a journal yet.

    Times are those of the simulation, from ``began_seconds`` (epoch) on. Nothing is dropped: a
    simulation waits for its disk.

    >>> import tempfile
    >>> from penstock.journal import read
    >>> from penstock.elasticity.decision import Decision
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with JournalRecorder(directory, "clicks", "clicks -> score") as journal:
    ...         journal.decision(-1, Decision(4, "the start"), at_seconds=0.0)
    ...     [type(event.body).__name__ for event in read(directory)]
    ['QueryStarted', 'DecisionMade', 'SlotsChanged', 'QueryStopped']
    """

    def __init__(
        self,
        directory: str | Path,
        name: str,
        topology: str,
        began_seconds: float = EPOCH_SECONDS,
        operators: tuple[PlannedOperator, ...] = (),
    ) -> None:
        self.directory = Path(directory)
        check_no_journal(self.directory)
        self._segments = SegmentAppender(self.directory, _SEGMENT_BYTES, _MOST_SEGMENTS)
        self._name, self._topology, self._operators = name, topology, operators
        self._began_seconds = self._at_seconds = began_seconds
        self._seq = 0
        self._planned: int | None = None
        self._slots: int | None = None

    def batch(self, seen: Observation) -> None:
        """Take down a micro-batch, and before it that other slots are there than before."""
        at = self._began_seconds + seen.at_seconds
        if self._seq == 0:
            self._start(seen.slots)
        if self._slots is None:
            self._planned = self._slots = seen.slots
        elif seen.slots != self._slots:
            came = seen.slots > self._slots
            self._slots = seen.slots
            self._tell_slots(at, "slots came" if came else "slots went")
        shown = replace(seen, at_seconds=at)
        self._write(at, BatchFinished(shown, committed_seconds=at))

    def decision(self, batch_id: int, decision: Decision, at_seconds: float) -> None:
        """Take down a decision, what it expects, and that slots were asked for."""
        at = self._began_seconds + at_seconds
        if self._seq == 0:
            self._start(decision.slots)
        forecast = ForecastMade.of(batch_id, decision)
        if forecast is not None:
            self._write(at, forecast)
        self._write(at, DecisionMade(batch_id, decision))
        if decision.slots != self._planned:
            self._planned = decision.slots
            if self._slots is None or decision.slots < self._slots:
                self._slots = decision.slots
            self._tell_slots(at, decision.reason)

    def close(self, reason: str = "the simulated load was over", error: str | None = None) -> None:
        """End the journal."""
        if self._seq == 0:
            self._start(1)
        self._write(self._at_seconds, QueryStopped(reason, error))
        self._segments.close()

    def __enter__(self) -> JournalRecorder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.close("the simulation was broken off", f"{type(error).__name__}: {error}")

    def _start(self, slots: int) -> None:
        started = QueryStarted(
            query_id=f"simulated {self._name}",
            name=self._name,
            topology=self._topology,
            penstock_version=__version__,
            spark_version="simulated",
            slots=slots,
        )
        self._write(self._began_seconds, started)
        if self._operators:
            self._write(self._began_seconds, TopologyPlanned(0, self._operators))

    def _tell_slots(self, at_seconds: float, reason: str) -> None:
        planned, there = self._planned or 1, self._slots or 1
        changed = SlotsChanged(planned, planned, there, there, reason)
        self._write(at_seconds, changed)

    def _write(self, at_seconds: float, body: KnownEvent) -> None:
        self._seq += 1
        self._at_seconds = max(self._at_seconds, at_seconds)
        line = to_json(Event(self._seq, self._at_seconds, body))
        try:
            self._segments.append(line.encode() + b"\n")
        except OSError as error:
            raise _unusable(self.directory, error) from None


def _unusable(directory: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"journal: {directory} can't be used ({error.strerror}). Name another directory, or mend "
        "that."
    )
