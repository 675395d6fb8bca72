"""What ``penstock run`` and ``penstock explain`` do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.elasticity import Elasticity
from penstock.cli.files_read import files_there
from penstock.cli.inspect import count
from penstock.cli.job_file import JobFile
from penstock.cli.progress import Progress
from penstock.cli.quiet_spark import quiet_spark
from penstock.cli.remaining import OfAvailable
from penstock.cli.run_record import RunRecord
from penstock.cli.watching import ending_with_its_reader, watch
from penstock.dashboard.beside import addresses_told
from penstock.errors import ConfigurationError
from penstock.topology.components import Components
from penstock.topology.explain import Format, explain

if TYPE_CHECKING:
    from penstock.topology.dag import Topology
    from penstock.topology.operators import Output


PLACEMENTS = {
    "round-robin": "RoundRobin",
    "least-loaded": "LeastLoaded",
    "cost-aware": "CostAware",
    "key-groups": "KeyGroups",
}
_ALL_SLOTS = Elasticity()


@dataclass(frozen=True, slots=True)
class Views:
    """Where a run can be watched; None is nowhere, and a dashboard of True at a port of its own."""

    dashboard: bool | int = False
    metrics_port: int | None = None

    def arguments(self) -> dict[str, Any]:
        """Return what ``run`` is given besides, where anything was asked for."""
        given: dict[str, Any] = {}
        if self.dashboard is not False:
            given["dashboard"] = self.dashboard
        if self.metrics_port is not None:
            given["metrics_port"] = self.metrics_port
        return given


def addresses_of(query: Any) -> dict[str, str]:
    """Return where a running query can be watched, by what is there."""
    found = {
        "dashboard": getattr(query, "dashboard_address", None),
        "metrics": getattr(query, "metrics_address", None),
    }
    return {name: str(address) for name, address in found.items() if address}


_NO_VIEWS = Views()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended; ``error`` free, or it would have been raised."""

    record: RunRecord
    by_ctrl_c: bool
    topology: Topology
    checkpoint: str
    journal: str
    spark_log: str | None
    addresses: Mapping[str, str] = field(default_factory=dict)


def run_job(
    file: JobFile,
    checkpoint: str | None,
    progress: Any,
    *,
    trigger: str | None = None,
    available_now: bool = False,
    placement: str = "round-robin",
    elasticity: Elasticity = _ALL_SLOTS,
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
    name: str | None = None,
    journal: str | None = None,
    views: Views = _NO_VIEWS,
    left: OfAvailable | None = None,
    starting: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Ended:
    """Run a job to its end, or until Ctrl-C; ``progress`` makes a display for some sinks' names.

    ``starting`` is entered while Spark and the query start, to show that something is going on.
    ``left`` is told what the query has to read.
    """
    job = file.load()
    checkpoint = checkpoint or job.checkpoint
    slots, policy = elasticity.slots(master), elasticity.chosen_policy()
    log = spark_log(checkpoint)
    title = name or file.path.stem
    with ExitStack() as spark_runs:
        with starting():
            spark = spark_runs.enter_context(
                quiet_spark(title, master, settings, log=log, import_from=[file.path.parent])
            )
            from penstock import catalogue
            from penstock.running import run

            if left is not None:
                left.before_start(log.parent if log else None)
            # The display says it, with that of metrics.
            told: list[str] = []
            with addresses_told(told.append):
                query = run(
                    *job.build(spark),
                    checkpoint=checkpoint,
                    trigger=trigger,
                    available_now=available_now,
                    placement=getattr(catalogue, PLACEMENTS[placement])(),
                    policy=policy,
                    slots=slots,
                    name=title,
                    journal=journal,
                    **views.arguments(),
                )
            if left is not None:
                frames = [source.data for source in query.topology.sources]
                left.started(partial(files_there, frames))
        addresses = addresses_of(query)
        display: Progress = progress([output.name for output in query.topology.outputs])
        as_told = addresses | ({"dashboard": told[-1]} if told else {})
        with ending_with_its_reader(query):
            for what, address in as_told.items():
                display.announce(f"{what}: {address}")
            record, by_ctrl_c = watch(query, display)
        return Ended(
            record=record,
            by_ctrl_c=by_ctrl_c,
            topology=query.topology,
            checkpoint=checkpoint,
            journal=query.journal_dir,
            spark_log=str(log) if log else None,
            addresses=addresses,
        )


def explain_job(file: JobFile, format: Format) -> str:
    """Show the topology that a job builds, without running it."""
    job = file.load()
    with quiet_spark(file.path.stem, "local[1]", import_from=[file.path.parent]) as spark:
        from penstock.branch import build_topology

        return explain(Components(build_topology(job.build(spark))), format)


def spark_log(checkpoint: str) -> Path | None:
    """Choose where Spark's log goes: into the checkpoint, where that is on this machine's disk.

    >>> spark_log("ck").name, spark_log("hdfs://store/ck")
    ('spark.log', None)
    """
    path = checkpoint.removeprefix("file://")
    if re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:", path):
        return None
    return Path(path).absolute() / "spark.log"


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """Read Spark settings as ``--conf`` takes them.

    >>> parse_settings(["spark.sql.shuffle.partitions=8"])
    {'spark.sql.shuffle.partitions': '8'}
    """
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(
                f"--conf {pair} is no setting. Write: --conf spark.sql.shuffle.partitions=8"
            )
        settings[key.strip()] = value.strip()
    return settings


def as_dict(ended: Ended) -> dict[str, object]:
    """Give the end of a run as JSON takes it."""
    record = ended.record
    return {
        "stopped_by_ctrl_c": ended.by_ctrl_c,
        "batches": record.batches,
        "rows": record.rows_in,
        "failed_rows": record.failed_rows,
        "late_rows": record.late_rows,
        "outputs": [
            {
                "name": output.name,
                "sink": output.describe(),
                "path": path_of(output),
                "rows": record.rows_out.get(output.name, 0),
            }
            for output in ended.topology.outputs
        ],
        "decisions": decisions_as_dicts(record),
        "placements": placements_as_dicts(record),
        "checkpoint": ended.checkpoint,
        "journal": ended.journal,
        "spark_log": ended.spark_log,
        "addresses": dict(ended.addresses),
    }


def as_text(ended: Ended) -> str:
    """Give the end of a run as people read it."""
    record = ended.record
    late = f", {record.late_rows:,} late" if record.late_rows else ""
    lines = [
        f"{'Stopped' if ended.by_ctrl_c else 'Ended'}: "
        f"{record.batches:,} micro-batch{'' if record.batches == 1 else 'es'}, "
        f"{count(record.rows_in, 'row')}, {record.failed_rows:,} failed{late}."
    ]
    for output in ended.topology.outputs:
        rows = count(record.rows_out.get(output.name, 0), "row")
        lines.append(f"  {output.name}: {rows} to {path_of(output) or output.describe()}")
    lines.append(f"  checkpoint: {ended.checkpoint}")
    lines.append(f"  journal: {ended.journal}")
    if ended.spark_log:
        lines.append(f"  Spark's log: {ended.spark_log}")
    return "\n".join(lines)


def decisions_as_dicts(record: RunRecord) -> list[dict[str, object]]:
    """Give the decisions as JSON takes them, each with the batch from which on it holds."""
    return [
        {
            "from_batch": made.batch_id + 1,
            "slots": made.decision.slots,
            "tasks": dict(made.decision.tasks),
            "reason": made.decision.reason,
        }
        for made in record.decisions
    ]


def placements_as_dicts(record: RunRecord) -> list[dict[str, object]]:
    """Give what was decided of where rows go as JSON takes it."""
    return [
        {"from_batch": made.batch_id + 1, "kind": type(made).__name__, "reason": made.reason}
        for made in record.placements
    ]


def path_of(output: Output) -> str | None:
    """Say where a sink writes files, or None where it writes none."""
    path = getattr(output.sink, "path", None)
    return path if isinstance(path, str) else None
