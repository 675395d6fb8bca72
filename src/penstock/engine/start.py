"""Starts a topology as one Spark streaming query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.engine.checkpoint import Checkpoint, open_checkpoint
from penstock.engine.columns import SOURCE_TAG
from penstock.engine.failures import known_failure, refused_start, spark_says
from penstock.engine.known_secrets import learn_secrets
from penstock.engine.own_queries import note_own
from penstock.engine.patient_sinks import with_patience
from penstock.engine.query import Query
from penstock.engine.runner import Runner
from penstock.engine.schemas import quoted
from penstock.engine.session import check_timestamps, spark_version
from penstock.engine.setting import Setting
from penstock.engine.shared_disk import SharedDisk
from penstock.engine.slots import ElasticSlots
from penstock.engine.state_files import check_reachable
from penstock.errors import ConfigurationError, PenstockError, SinkError
from penstock.journal.events import QueryStarted, QueryStopped
from penstock.journal.writer import JournalWriter
from penstock.shipping import ship_package
from penstock.sinks.files import FileSink
from penstock.sinks.filesystem import HadoopFiles
from penstock.sinks.sink import Sink
from penstock.topology.compatibility import Fingerprint
from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.explain import explain
from penstock.topology.operators import Compute, Source
from penstock.version import __version__

REFUSALS = (Py4JJavaError, PySparkException, OSError)
"""What Spark and disks raise when they are asked for something that they don't do."""
_FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_BY_RENAME = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


def start(
    topology: Topology,
    checkpoint: str,
    setting: Setting,
    *,
    available_now: bool = False,
    name: str | None = None,
    journal: str | None = None,
) -> Query:
    """Lock the checkpoint, open the journal and the sinks, and start the query."""
    try:
        return _start(topology, checkpoint, setting, available_now, name, journal)
    except REFUSALS as error:
        told = _told(error, topology, checkpoint)
        if told is None:
            raise
        raise told from None


def _told(error: BaseException, topology: Topology, checkpoint: str) -> PenstockError | None:
    places = [os.path.abspath(checkpoint), *_sink_paths(topology)]
    return known_failure(error, places) or refused_start(error)


def _start(
    topology: Topology,
    checkpoint: str,
    setting: Setting,
    available_now: bool,
    name: str | None,
    journal: str | None,
) -> Query:
    spark = session_of(topology)
    if any(isinstance(operator, Compute) for operator in topology):
        check_timestamps(spark)
    learn_secrets(spark, (source.data for source in topology.sources))
    files = HadoopFiles(spark)
    if topology.processes:
        check_reachable(files.qualify(checkpoint))
    disk = SharedDisk(spark, files, topology, checkpoint)
    disk.check_start()
    with ExitStack() as undo:
        opened = open_checkpoint(files, checkpoint, Fingerprint.of(topology))
        undo.callback(opened.lock.release)
        topology = _in_order(topology, opened.sources)
        directory = journal or _default_journal(files, opened.path, opened.query_id)
        writer = JournalWriter(directory, clock=setting.clock)
        undo.callback(writer.close)
        if isinstance(setting.slots, ElasticSlots):
            setting.slots.attach(spark, writer.write)
            undo.callback(setting.slots.detach)
        writer.write(
            QueryStarted(
                query_id=opened.query_id,
                name=name or "penstock",
                topology=explain(Components(topology)),
                penstock_version=__version__,
                spark_version=spark_version(),
                slots=setting.slots.available(spark.sparkContext),
            )
        )
        undo.push(lambda kind, error, _: _journal_end(writer, error, topology, checkpoint))
        # Only now: opening a sink clears away what a dead run left, and must not meet a live one.
        for output in topology.outputs:
            _open(output.sink, opened.query_id, writer, [opened.path, *_sink_paths(topology)])
        ship_package(spark)
        runner = Runner(spark, topology, opened, setting, writer, disk)
        undo.callback(runner.planning.loop.close)
        with _quick_bookkeeping(spark, files.is_local(opened.path)):
            started = _start_spark_query(topology, opened, setting, runner, available_now, name)
        note_own(str(started.runId))
        undo.pop_all()
    return Query(started, runner, writer, directory)


def _open(sink: Sink, query_id: str, journal: JournalWriter, places: list[str]) -> None:
    try:
        with_patience(lambda: sink.open(query_id), sink, None, journal.write)
    except Py4JJavaError as error:
        raise known_failure(error, places) or SinkError(
            f"{sink.describe()} can't be opened: {spark_says(error)}. Name another place, or mend "
            "that."
        ) from None


def _sink_paths(topology: Topology) -> list[str]:
    sinks = [output.sink for output in topology.outputs]
    return [sink.path for sink in sinks if isinstance(sink, FileSink)]


def _journal_end(
    writer: JournalWriter, error: BaseException | None, topology: Topology, checkpoint: str
) -> None:
    if error is not None:
        told = _told(error, topology, checkpoint) if isinstance(error, REFUSALS) else None
        writer.write(QueryStopped("failed", str(told or error)))


@contextmanager
def _quick_bookkeeping(spark: SparkSession, is_local: bool) -> Iterator[None]:
    """Let a query that starts now keep its offsets on a local disk without starting processes.

    Spark's choice for local disks runs about ten small processes (chmod, readlink) for every file
    it writes, 0.1 s for each micro-batch. A query takes the settings of the session along when it
    starts, so the session itself gets them back. What the user has set stays.
    """
    if not is_local or spark.conf.get(_FILE_MANAGER, None) is not None:
        yield
        return
    spark.conf.set(_FILE_MANAGER, _BY_RENAME)
    try:
        yield
    finally:
        spark.conf.unset(_FILE_MANAGER)


def _start_spark_query(
    topology: Topology,
    checkpoint: Checkpoint,
    setting: Setting,
    runner: Runner,
    available_now: bool,
    name: str | None,
) -> StreamingQuery:
    stream = tagged_union(topology.sources).writeStream.foreachBatch(runner)
    stream = stream.option("checkpointLocation", checkpoint.spark_path)
    if name is not None:
        stream = stream.queryName(name)
    if available_now:
        stream = stream.trigger(availableNow=True)
    elif setting.trigger_seconds:
        millis = round(setting.trigger_seconds * 1_000)
        stream = stream.trigger(processingTime=f"{millis} milliseconds")
    return stream.start()


def session_of(topology: Topology) -> SparkSession:
    """Return the one Spark session that all sources belong to."""
    sessions = {id(s.data.sparkSession.sparkContext): s.data.sparkSession for s in topology.sources}
    if len(sessions) != 1:
        raise ConfigurationError("the sources are of different Spark contexts. Read all in one.")
    session: SparkSession = next(iter(sessions.values()))
    return session


def tagged_union(sources: tuple[Source, ...]) -> DataFrame:
    """Put several sources in one DataFrame, each row in the column of its own source.

    One streaming query has one offset log, so that all sources move on together or not at all.
    """
    if len(sources) == 1:
        data: DataFrame = sources[0].data
        return data
    tagged = []
    for number, source in enumerate(sources):
        columns = [F.lit(number).alias(SOURCE_TAG)]
        for other in sources:
            mine = F.struct(*[F.col(quoted(name)) for name in other.schema.names])
            empty = F.lit(None).cast(other.data.schema)
            columns.append((mine if other is source else empty).alias(other.name))
        tagged.append(source.data.select(*columns))
    union: DataFrame = tagged[0]
    for each in tagged[1:]:
        union = union.unionByName(each)
    return union


def _in_order(topology: Topology, sources: tuple[str, ...]) -> Topology:
    """Put the sources in the order in which the checkpoint's offsets were first written."""
    first = [topology[name] for name in sources]
    rest = [operator for operator in topology if not isinstance(operator, Source)]
    return Topology([*(replace(operator) for operator in first), *rest])


def _default_journal(files: HadoopFiles, checkpoint: str, query_id: str) -> str:
    """Choose a directory on the driver's disk: a journal grows line by line, as only disks can."""
    if files.is_local(checkpoint):
        return f"{checkpoint.removeprefix('file:')}/journal"
    return os.path.abspath(f"penstock-journal-{query_id}")
