"""Runs micro-batches: load, compile, share, windows, sinks, commit, plan."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from penstock.elasticity.decision import Policy
from penstock.elasticity.observation import Observation
from penstock.engine.checkpoint import Checkpoint
from penstock.engine.commit_log import CommitRecord
from penstock.engine.compiler import CompiledBatch, Compiler, Plan
from penstock.engine.execution import run_jobs
from penstock.engine.failures import as_query_error
from penstock.engine.measurement import Measured
from penstock.engine.monitor import Monitor
from penstock.engine.progress import Progress
from penstock.engine.session import configure
from penstock.engine.slots import Slots
from penstock.engine.stage_times import StageTimes
from penstock.engine.steps import OnStep, Step
from penstock.engine.tables import Tables
from penstock.engine.task_metrics import BATCH_PROPERTY, TaskMetrics
from penstock.errors import PenstockError, QueryError
from penstock.journal.events import BatchSkipped
from penstock.journal.writer import JournalWriter
from penstock.placement.placement import Placement
from penstock.topology.dag import Topology
from penstock.topology.jobs import Job, jobs
from penstock.topology.operators import Output


@dataclass(frozen=True, slots=True)
class Setting:
    """What a runner is made with, apart from the topology and its checkpoint."""

    policy: Policy
    placement: Placement
    slots: Slots
    trigger_seconds: float | None
    clock: Callable[[], float]
    on_step: OnStep | None = None


class StopRequested(Exception):
    """Keeps a micro-batch from starting while the query is being stopped."""


class Runner:
    """The function that Spark calls with every micro-batch."""

    def __init__(
        self,
        spark: SparkSession,
        topology: Topology,
        checkpoint: Checkpoint,
        setting: Setting,
        journal: JournalWriter,
    ) -> None:
        self.topology = topology
        self.jobs = jobs(topology)
        self.checkpoint = checkpoint
        self._context = spark.sparkContext
        self._setting = setting
        self._journal = journal
        self._metrics = TaskMetrics(self._context)
        self._times = StageTimes(self._context)
        self._tables = Tables(setting.clock)
        self._compiler = Compiler(topology, setting.placement, self._metrics.report, self._tables)
        self._configured = False
        self._run_id = uuid.uuid4().hex
        self.busy = threading.Lock()
        self.stopping = False
        self.breaking_off = False
        self._threads: set[int] = set()
        self.failure: PenstockError | None = None
        self.progress: Callable[[], Progress | None] = lambda: None
        start = self._frame(batch_id=-1, batch_seconds=0.0)
        self.monitor = Monitor(topology, self.jobs, setting.policy, journal.write, start)

    @property
    def slots_in_use(self) -> int:
        """How many slots the plan for the next batch uses."""
        return min(self.monitor.decision.slots, self._setting.slots.available(self._context))

    @property
    def watermarks_micros(self) -> Mapping[str, int | None]:
        """The watermark of every source, as of the newest commit."""
        latest = self.checkpoint.log.latest
        return latest.watermarks_micros if latest else {}

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """Run one micro-batch; Spark sends it again after a crash until it returns."""
        with self.busy:
            if self.stopping:
                raise StopRequested(f"micro-batch {batch_id} was not started")
            self._threads = {threading.get_ident()}
            try:
                self._batch(df, batch_id)
            except BaseException as error:
                if self.breaking_off:
                    raise StopRequested(f"micro-batch {batch_id} was broken off") from None
                self.failure = as_query_error(error)
                raise
            finally:
                self._threads = set()

    def is_running_here(self) -> bool:
        """Whether the calling thread is one in which a micro-batch runs."""
        return threading.get_ident() in self._threads

    def close(self) -> None:
        """Free what is kept between batches."""
        self._tables.release()

    def _batch(self, df: DataFrame, batch_id: int) -> None:
        started = time.perf_counter()
        log = self.checkpoint.log
        if log.is_committed(batch_id):
            self._journal.write(BatchSkipped(batch_id))
            return
        log.check_follows(batch_id)
        self._reached(Step.LOAD, batch_id)
        if not self._configured:
            configure(df.sparkSession)
            self._configured = True
        self._context.setLocalProperty(BATCH_PROPERTY, self._tag(batch_id))
        compiled = self._compiler.compile(df, self._plan())
        self._reached(Step.COMPILE, batch_id)
        try:
            run_jobs(
                self.jobs,
                lambda job: self._run_job(job, compiled, batch_id),
                lambda job: self._context.cancelJobsWithTag(self._tag(batch_id, job.name)),
            )
            measured, newest = self._collect(compiled, batch_id)
        finally:
            compiled.release()
        watermarks = self._advance(newest)
        self._reached(Step.WINDOWS, batch_id)
        self._commit(batch_id, watermarks)
        self._reached(Step.COMMIT, batch_id)
        frame = self._frame(batch_id, time.perf_counter() - started)
        self.monitor.after_batch(frame, measured, watermarks, self.progress())
        self._reached(Step.PLAN, batch_id)

    def _run_job(self, job: Job, compiled: CompiledBatch, batch_id: int) -> None:
        self._threads.add(threading.get_ident())
        frame = compiled.frames[job.name]
        tag = self._tag(batch_id, job.name)
        self._context.addJobTag(tag)
        try:
            if job.writes:
                output = self.topology[job.name]
                assert isinstance(output, Output)
                output.sink.write(frame, batch_id)
            else:
                frame.write.format("noop").mode("overwrite").save()
        finally:
            self._context.removeJobTag(tag)
        self._reached(Step.SINKS if job.writes else Step.SHARE, batch_id)

    def _collect(
        self, compiled: CompiledBatch, batch_id: int
    ) -> tuple[Measured, dict[str, int | None]]:
        settled = self._times.settle()
        if not settled and any(source.watermark for source in self.topology.sources):
            raise QueryError(
                f"Spark did not report the event times of micro-batch {batch_id}, so the watermark "
                "can't move on exactly. Start the query again; the batch is run once more. If it "
                "comes back, raise spark.scheduler.listenerbus.eventqueue.capacity."
            )
        counted = {name: c.read(compiled.kept) for name, c in compiled.counters.items()}
        times = {job.name: self._times.of(self._tag(batch_id, job.name)) for job in self.jobs}
        tallies = self._metrics.take(self._tag(batch_id))
        rows = {name: count.rows for name, count in counted.items()}
        newest = {name: count.newest_micros for name, count in counted.items()}
        return Measured(tallies, rows, times), newest

    def _advance(self, newest: Mapping[str, int | None]) -> dict[str, int | None]:
        now = self.watermarks_micros
        return {
            source.name: source.watermark.advance(now.get(source.name), newest.get(source.name))
            for source in self.topology.sources
            if source.watermark is not None
        }

    def _commit(self, batch_id: int, watermarks: Mapping[str, int | None]) -> None:
        record = CommitRecord(
            query_id=self.checkpoint.query_id,
            batch_id=batch_id,
            committed_at_seconds=self._setting.clock(),
            decision=self.monitor.decision,
            watermarks_micros=watermarks,
        )
        self.checkpoint.log.commit(record)

    def _frame(self, batch_id: int, batch_seconds: float) -> Observation:
        return Observation(
            batch_id=batch_id,
            at_seconds=self._setting.clock(),
            batch_seconds=batch_seconds,
            trigger_seconds=self._setting.trigger_seconds,
            slots=self._setting.slots.available(self._context),
        )

    def _plan(self) -> Plan:
        available = self._setting.slots.available(self._context)
        decision, tasks = self.monitor.decision, {}
        for component in self._compiler.components:
            if component.runs_python:
                named = [decision.tasks.get(op.name) for op in component.operators]
                wanted = max([n for n in named if n is not None], default=decision.slots)
                tasks[component.name] = min(wanted, available)
        return Plan(tasks, self.watermarks_micros)

    def _tag(self, batch_id: int, job: str = "") -> str:
        return f"penstock:{self._run_id}:{batch_id}:{job}".rstrip(":")

    def _reached(self, step: Step, batch_id: int) -> None:
        if self._setting.on_step is not None:
            self._setting.on_step(step, batch_id)
