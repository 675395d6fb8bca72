"""What ``penstock run`` and ``penstock explain`` do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.job_file import JobFile
from penstock.cli.progress import Progress
from penstock.cli.quiet_spark import quiet_spark
from penstock.cli.run_record import RunRecord
from penstock.cli.watching import watch
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
POLICIES = {
    "static": "Static",
    "incremental": "Incremental",
    "auto-scale-plus": "AutoScalePlus",
    "replica-pool": "ReplicaPool",
    "fuzzy": "Fuzzy",
    "batch-time-ratio": "BatchTimeRatio",
}


@dataclass(frozen=True, slots=True)
class Elasticity:
    """The policy by its name, and how few and how many slots it may use."""

    policy: str = "static"
    min_slots: int | None = None
    max_slots: int | None = None

    def slots(self, master: str) -> Any:
        """Return where slots come from: executors of a cluster, or the cores of this machine."""
        from penstock import catalogue

        is_local = master.startswith("local")
        if self.min_slots is not None and (is_local or self.policy == "static"):
            raise ConfigurationError(
                "--min-slots says how many executors' cores a policy keeps on a cluster. "
                "Give a --policy and a cluster's --master with it, or leave it out."
            )
        if is_local or self.policy == "static":
            return catalogue.LocalSlots(max=self.max_slots)
        if self.max_slots is None:
            raise ConfigurationError(
                f"--policy {self.policy} may ask the cluster for executors. "
                "Say for how many cores of them at most, such as --max-slots 20."
            )
        return catalogue.ExecutorSlots(min=self.min_slots or 1, max=self.max_slots)


_ALL_SLOTS = Elasticity()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended; ``error`` free, or it would have been raised."""

    record: RunRecord
    by_ctrl_c: bool
    topology: Topology
    journal: str
    spark_log: str | None


def run_job(
    file: JobFile,
    checkpoint: str,
    progress: Any,
    *,
    trigger: str | None = None,
    available_now: bool = False,
    placement: str = "round-robin",
    elasticity: Elasticity = _ALL_SLOTS,
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
) -> Ended:
    """Run a job to its end, or until Ctrl-C; ``progress`` makes a display for some sinks' names."""
    job = file.load()
    slots = elasticity.slots(master)
    log = spark_log(checkpoint)
    with quiet_spark(
        file.path.stem, master, settings, log=log, import_from=[file.path.parent]
    ) as spark:
        from penstock import catalogue
        from penstock.running import run

        outlets = job.build(spark)
        query = run(
            *outlets,
            checkpoint=checkpoint,
            trigger=trigger,
            available_now=available_now,
            placement=getattr(catalogue, PLACEMENTS[placement])(),
            policy=getattr(catalogue, POLICIES[elasticity.policy])(),
            slots=slots,
            name=file.path.stem,
        )
        display: Progress = progress([output.name for output in query.topology.outputs])
        record, by_ctrl_c = watch(query, display)
        return Ended(
            record, by_ctrl_c, query.topology, query.journal_dir, str(log) if log else None
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
        "journal": ended.journal,
        "spark_log": ended.spark_log,
    }


def as_text(ended: Ended) -> str:
    """Give the end of a run as people read it."""
    record = ended.record
    late = f", {record.late_rows:,} late" if record.late_rows else ""
    lines = [
        f"{'Stopped' if ended.by_ctrl_c else 'Ended'}: {record.batches:,} micro-batches, "
        f"{record.rows_in:,} rows, {record.failed_rows:,} failed{late}."
    ]
    for output in ended.topology.outputs:
        rows = record.rows_out.get(output.name, 0)
        lines.append(f"  {output.name}: {rows:,} rows to {path_of(output) or output.describe()}")
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
