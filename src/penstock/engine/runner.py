"""Runs micro-batches: load, compile, share, windows, sinks, commit, plan."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.elasticity.observation import Observation
from penstock.engine.admitting import Admitting
from penstock.engine.batch_clock import BatchClock
from penstock.engine.checkpoint import Checkpoint
from penstock.engine.commit_log import CommitRecord
from penstock.engine.compiled_batch import CompiledBatch, Plan
from penstock.engine.compiled_step import StateHome
from penstock.engine.compiler import Compilation, Compiler
from penstock.engine.control_loop import IDLE_SECONDS
from penstock.engine.execution import run_jobs
from penstock.engine.failures import as_query_error, known_failure
from penstock.engine.hottest_keys import KeysSeen
from penstock.engine.keyed_states import KeyedStates
from penstock.engine.measurement import Measured
from penstock.engine.monitor import Monitor
from penstock.engine.patient_sinks import StopRequested, with_patience
from penstock.engine.placing import Placing
from penstock.engine.planned_files import PlannedFiles
from penstock.engine.planned_topology import topology_planned
from penstock.engine.planning import Planning
from penstock.engine.progress import Progress
from penstock.engine.regrouping import Regrouping
from penstock.engine.session import configure
from penstock.engine.setting import Setting
from penstock.engine.shared_disk import SharedDisk
from penstock.engine.shedding import Shedding
from penstock.engine.sink_failures import sink_failure
from penstock.engine.stage_times import StageTimes
from penstock.engine.steps import Step
from penstock.engine.tables import Tables
from penstock.engine.task_metrics import BATCH_PROPERTY, TaskMetrics
from penstock.engine.windowing import Windowing
from penstock.errors import PenstockError, QueryError
from penstock.journal.control_file import WatchedControl
from penstock.journal.events import BatchSkipped, FaultSeen, KnownEvent
from penstock.journal.writer import JournalWriter
from penstock.sinks.files import FileSink
from penstock.sinks.filesystem import HadoopFiles
from penstock.sinks.sink import Sink
from penstock.topology.dag import Topology
from penstock.topology.jobs import Job, dry_operators, jobs
from penstock.topology.operators import Compute, Operator, Output, PythonOperator


class Runner:
    """The function that Spark calls with every micro-batch."""

    def __init__(
        self,
        spark: SparkSession,
        topology: Topology,
        checkpoint: Checkpoint,
        setting: Setting,
        journal: JournalWriter,
        disk: SharedDisk,
    ) -> None:
        self.topology = topology
        self.checkpoint = checkpoint
        self._context = spark.sparkContext
        self._setting = setting
        self._journal = journal
        self._disk = disk
        self._metrics = TaskMetrics(self._context)
        self._times = StageTimes(self._context)
        self._tables = Tables(setting.clock)
        files, record = HadoopFiles(spark), checkpoint.log.latest
        self._planned_files = PlannedFiles(
            files, f"{checkpoint.path}/spark", spark, [source.data for source in topology.sources]
        )
        self._windowing = Windowing(
            topology,
            files,
            checkpoint.path,
            record,
            setting.clock,
            self._compaction_failed,
            setting.placement,
            self._metrics.report,
        )
        windowed = self._windowing.operators
        self.regrouping = Regrouping(
            topology,
            setting.optimiser,
            frozenset(name for name, each in windowed.items() if each.keyed is not None),
            record.plan if record else {},
            [each.consolidate.name for each in windowed.values() if each.is_combined],
        )
        first = record.batch_id + 1 if record else 0
        journal.write(topology_planned(self.regrouping.components, first))
        self.admitting = Admitting(
            spark,
            setting.intake.admission,
            setting.trigger_seconds,
            record.admission if record else {},
        )
        self._keyed = KeyedStates(topology, files, checkpoint.path, record, setting.placement)
        self._shedding = Shedding(topology, files, checkpoint, setting.intake, setting.clock)
        self._set_shape(record.placement if record else {})
        self._keys_seen = KeysSeen()
        self._turns = max(job.round for job in self.jobs) + 1
        self._dry: frozenset[str] = frozenset()
        self._is_first = True
        self._batch_clock = BatchClock(setting.trigger_seconds)
        self._exchange_tasks = 0
        self._configured = False
        self._run_id = uuid.uuid4().hex
        self.busy = threading.Lock()
        self.stopping = False
        self.breaking_off = False
        self._threads: set[int] = set()
        self.failure: PenstockError | None = None
        self.progress: Callable[[], Progress | None] = lambda: None
        self.planning = Planning(
            self._context,
            setting,
            topology,
            journal.write,
            record,
            WatchedControl(journal.directory),
        )
        self.monitor = Monitor(
            topology,
            self.jobs,
            self.planning.loop,
            journal.write,
            lambda: self._shedding.shed_rows,
        )
        self.planning.loop.idle = self._idle

    @property
    def watermarks_micros(self) -> Mapping[str, int | None]:
        """The watermark of every source, as of the newest commit."""
        return {name: mark.micros for name, mark in self._windowing.committed.marks.items()}

    @property
    def places(self) -> list[str]:
        """Where the query writes, as far as it is known."""
        sinks = [output.sink for output in self.topology.outputs]
        return [self.checkpoint.path, *(s.path for s in sinks if isinstance(s, FileSink))]

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """Run one micro-batch; Spark sends it again after a crash until it returns."""
        with self.busy:
            if self.stopping:
                raise StopRequested(f"micro-batch {batch_id} was not started")
            self._threads = {threading.get_ident()}
            try:
                self._batch(df, batch_id)
            except StopRequested:
                raise
            except BaseException as error:
                if self.breaking_off:
                    raise StopRequested(f"micro-batch {batch_id} was broken off") from None
                self.failure = as_query_error(error, self.places)
                if not isinstance(error, Exception):
                    raise
                # Spark logs all that it is told, and the first error's text may hold a secret.
                raise self.failure from None
            finally:
                self._threads = set()

    def _idle(self) -> Observation | None:
        """Return an observation of no rows, where a batch has been due for a while and none came.

        Between the triggers of a query rows may well be coming.
        """
        last, now = self.monitor.last, self._setting.clock()
        if last is None or self.busy.locked() or self.stopping:
            return None
        due = last.started_seconds + (self._setting.trigger_seconds or 0.0)
        if now < max(due, last.at_seconds) + IDLE_SECONDS:
            return None
        return last.idle_at(now, self.planning.available())

    def is_running_here(self) -> bool:
        """Whether the calling thread is one in which a micro-batch runs."""
        return threading.get_ident() in self._threads

    def close(self) -> None:
        """Free what is kept between batches, and leave the slots to themselves."""
        self.planning.close()
        self._windowing.stop()
        self._tables.release()

    def _batch(self, df: DataFrame, batch_id: int) -> None:
        started = time.perf_counter()
        self._batch_clock.begin()
        log = self.checkpoint.log
        if log.is_committed(batch_id):
            self._journal.write(BatchSkipped(batch_id))
            return
        log.check_follows(batch_id)
        self._reached(Step.LOAD, batch_id)
        self._planned_files.check(batch_id)
        self._disk.check_newcomers(batch_id, at_end=False)
        if not self._configured:
            configure(df.sparkSession)
            self._configured = True
        self._regroup(batch_id)
        grouped = self.regrouping.components
        plan = self.planning.plan(self._windowing.committed, grouped, self.regrouping.pinned)
        self._set_exchanges(df.sparkSession, plan.slots)
        self._context.setLocalProperty(BATCH_PROPERTY, self._tag(batch_id))
        self._shedding.begin(batch_id)
        self._keyed.begin(self._context, batch_id, plan, grouped)
        compilation = self._compiler.begin(df, plan)
        self._dry = frozenset()
        try:
            for turn in range(self._turns):
                self._round(compilation, turn, df, batch_id)
            measured = self._collect(compilation.result, batch_id)
            self._learn(measured, plan, batch_id)
            measured = replace(measured, uses=self._windowing.uses())
        finally:
            compilation.result.release()
            self._windowing.release()
        if not self.topology.computes:
            self._reached(Step.WINDOWS, batch_id)
        trigger = self._setting.trigger_seconds
        has_time = trigger is None or time.perf_counter() - started < trigger
        self._disk.check_newcomers(batch_id, at_end=True)
        self._commit(batch_id, has_time=has_time)
        self._reached(Step.COMMIT, batch_id)
        self._is_first = False
        frame = self.planning.frame(batch_id, time.perf_counter() - started, plan.slots)
        self.monitor.after_batch(
            frame,
            measured,
            self.watermarks_micros,
            self.progress(),
            lambda: chain(
                self._placing.events(batch_id),
                self._keys_seen.events(batch_id, measured.tallies, self._placing.mean_seconds),
                self._windowing.events(batch_id, measured),
                self._keyed.events(batch_id),
                self._intake_events(batch_id),
                self._plan_events(),
            ),
        )
        self._reached(Step.PLAN, batch_id)
        self._batch_clock.end()

    def _round(self, compilation: Compilation, turn: int, df: DataFrame, batch_id: int) -> None:
        """Run one round: what reads the sources, or what reads the windows of the last round."""
        compiled = compilation.result
        closed: dict[str, DataFrame] = {}
        dry: frozenset[str] = frozenset()
        if turn > 0:
            results = dict(
                self._windowing.close(
                    turn - 1,
                    df.sparkSession,
                    batch_id,
                    compiled.places,
                    lambda name: self._metrics.so_far(self._tag(batch_id), name),
                    self.planning.tasks_of,
                )
            )
            self._reached(Step.WINDOWS, batch_id)
            closed = {name: rows for name, rows in results.items() if rows is not None}
            # A try that failed may have written windows that this one does not close: the first
            # batch of a run writes also where there is nothing to write.
            empty = () if self._is_first else [name for name in results if name not in closed]
            self._dry = dry = dry_operators(self.topology, self._dry | set(empty))
        compilation.compile(turn, closed, dry)
        if turn == 0:
            self._reached(Step.COMPILE, batch_id)
        run_jobs(
            [job for job in self.jobs if job.round == turn and job.name not in dry],
            lambda job: self._run_job(job, compiled, batch_id),
            lambda job: self._context.cancelJobsWithTag(self._tag(batch_id, job.name)),
        )
        self._run_unread(compiled, batch_id)
        self._settle(batch_id)
        compiled.complete()
        if turn == 0:
            self._shedding.write(batch_id, compiled.places)
            seen = compiled.seen(self.topology.sources)
            beside = self._windowing.seen(self._compiler.measured_by, compiled.places)
            self._windowing.advance(seen | beside)

    def _run_job(self, job: Job, compiled: CompiledBatch, batch_id: int) -> None:
        self._threads.add(threading.get_ident())
        frame = compiled.frames[job.name]
        tag = self._tag(batch_id, job.name)
        self._context.addJobTag(tag)
        try:
            end = self.topology[job.name] if job.writes else None
            if isinstance(end, Output):
                self._write(end.sink, frame, batch_id)
            elif isinstance(end, Compute):
                self._windowing.operators[end.name].write(frame, batch_id)
            else:
                frame.write.format("noop").mode("overwrite").save()
        finally:
            self._context.removeJobTag(tag)
        self._reached(_step_of(end), batch_id)

    def _write(self, sink: Sink, frame: DataFrame, batch_id: int) -> None:
        try:
            with_patience(
                lambda: sink.write(frame, batch_id),
                sink,
                batch_id,
                self._journal.write,
                lambda: self.stopping,
            )
        except (PenstockError, StopRequested, Py4JError, PySparkException):
            raise
        except Exception as error:
            # Spark logs all that it is told, and the first error's text may hold a secret.
            raise known_failure(error, self.places) or sink_failure(sink, error) from None

    def _run_unread(self, compiled: CompiledBatch, batch_id: int) -> None:
        """Run keyed operators that Spark saw no reason to run, as before a filter that none pass.

        It knows nothing of the states that they change.
        """
        for name, frame in compiled.processed.items():
            if self._metrics.whole(self._tag(batch_id), name) < self._keyed.operators[name].tasks:
                frame.write.format("noop").mode("overwrite").save()
        compiled.processed.clear()

    def _settle(self, batch_id: int) -> None:
        """Wait until Spark has told what was measured; the watermark depends on it."""
        settled = self._times.settle()
        if not settled and any(source.watermark for source in self.topology.sources):
            raise QueryError(
                f"Spark did not report the event times of micro-batch {batch_id}, so the watermark "
                "can't move on exactly. Start the query again; the batch is run once more. If it "
                "comes back, raise spark.scheduler.listenerbus.eventqueue.capacity."
            )

    def _collect(self, compiled: CompiledBatch, batch_id: int) -> Measured:
        times = {job.name: self._times.of(self._tag(batch_id, job.name)) for job in self.jobs}
        tallies = self._metrics.take(self._tag(batch_id))
        self._keyed.absorb(tallies)
        counted = compiled.counted() | self._windowing.counted(self._compiler.measured_by)
        return Measured(tallies, counted, times)

    def _learn(self, measured: Measured, plan: Plan, batch_id: int) -> None:
        """Learn where rows should go. The rows are where they belong; nothing here fails them."""
        try:
            self._placing.learn(measured.tallies, plan.tasks)
            batch = self._batch_clock.time(plan.slots)
            self._windowing.learn(measured.tallies, plan.slots, batch)
        except Exception as error:
            self._journal.write(FaultSeen(batch_id, "learning costs failed", str(error)))

    def _commit(self, batch_id: int, *, has_time: bool) -> None:
        record = CommitRecord(
            query_id=self.checkpoint.query_id,
            batch_id=batch_id,
            committed_at_seconds=self._setting.clock(),
            decision=self.planning.shaping,
            marks=self._windowing.running.marks,
            lows=self._windowing.running.lows,
            windows=self._windowing.states(),
            placement=self._placing.states() | self._windowing.learnt(),
            keyed=self._keyed.states(),
            policy=self.planning.loop.state,
            admission=self.admitting.learnt(),
            plan=self.regrouping.to_json(),
            offsets=self.checkpoint.spark_log.checksum(batch_id),
            is_split=self._shedding.is_split,
        )
        self.checkpoint.log.commit(record)
        self._keyed.has_committed(batch_id)
        self._windowing.has_committed(batch_id, has_time=has_time)

    def _regroup(self, batch_id: int) -> None:
        """Let a plan take effect that was asked for: the batch before is whole, this one not begun.

        So the same windows are open for all rows, wherever they are (Enorm, section 6.2).
        """
        change = self.regrouping.due()
        if change is None:
            return
        affected = [self._windowing.operators[name] for name in change.windows]
        if any(operator.is_handed_over for operator in affected):
            return  # not merged yet
        waiting = set(change.windows) - change.handed_over
        if change.strategy == "disruptive" and waiting:
            for name in waiting:  # merged when this batch is committed; the next one waits
                self._windowing.operators[name].is_handed_over = True
            self.regrouping.is_handing_over(waiting)
            return
        started = time.perf_counter()
        for operator in affected:
            operator.wait()
        if change.strategy == "smooth":
            for operator in affected:
                operator.change_smoothly(stayed=change.before.stays(operator.compute))
        for component in dict.fromkeys(change.repartitioned):
            if component in change.after:
                self._keyed.rebalance(component, change.after)
        opened = {
            each.consolidate.name: each.opened_micros for each in self._windowing.operators.values()
        }
        self.regrouping.adopt(change)
        self._set_shape(self._placing.states())
        self.monitor.jobs = self.jobs
        self.regrouping.tell(change, batch_id, opened, time.perf_counter() - started)

    def _set_shape(self, learnt: Mapping[str, Any]) -> None:
        """Prepare what follows from how operators are grouped."""
        grouped = self.regrouping.components
        self.jobs = jobs(self.topology, grouped)
        self._placing = Placing(self._setting.placement, self.topology, grouped, learnt)
        self._compiler = Compiler(
            grouped,
            self._placing,
            self._metrics.report,
            self._tables,
            self._windowing.operators,
            StateHome(self.checkpoint.path, self.checkpoint.query_id),
            self._keyed.routes,
            self._shedding,
        )
        for name, operator in self._windowing.operators.items():
            compute = operator.compute
            is_free = (
                compute.fuse
                and compute.component is None
                and not grouped.is_complete(compute)
                and not isinstance(grouped.of(name).entrance, PythonOperator)
            )
            operator.follow(
                "split" if grouped.is_split(compute) else "combined",
                weighed_every=self._setting.optimiser.period if is_free else 0,
            )

    def _plan_events(self) -> Iterator[KnownEvent]:
        """Tell how the plan changed, and weigh it against others."""
        seen = self.monitor.last
        assert seen is not None
        interval = max(self._setting.trigger_seconds or 0.0, seen.batch_seconds)
        yield from self.regrouping.events(seen, self._windowing, interval, self._keyed.state_bytes)

    def _compaction_failed(self, detail: str) -> None:
        latest = self.checkpoint.log.latest
        self._journal.write(
            FaultSeen(latest.batch_id if latest else -1, "compaction failed", detail)
        )

    def _intake_events(self, batch_id: int) -> Iterator[KnownEvent]:
        """Say what was shed, and limit the next batch."""
        assert self.monitor.last is not None
        yield from self._shedding.events(batch_id)
        yield from self.admitting.after_batch(self.monitor.last, self._shedding.shed_rows)

    def _set_exchanges(self, session: SparkSession, slots: int) -> None:
        """Let exchanges have as many tasks as there are slots in use."""
        if slots != self._exchange_tasks:
            session.conf.set("spark.sql.shuffle.partitions", str(slots))
            self._exchange_tasks = slots

    def _tag(self, batch_id: int, job: str = "") -> str:
        return f"penstock:{self._run_id}:{batch_id}:{job}".rstrip(":")

    def _reached(self, step: Step, batch_id: int) -> None:
        if self._setting.on_step is not None:
            self._setting.on_step(step, batch_id)


def _step_of(end: Operator | None) -> Step:
    """Return the step that a job belongs to, by where it ends."""
    if end is None:
        return Step.SHARE
    return Step.WINDOWS if isinstance(end, Compute) else Step.SINKS
