"""The lending job against Spark's own windows, while its components change."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isclose
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from penstock import journal
from penstock.branch import build_topology
from penstock.cli.job_file import Job, JobFile
from penstock.sources.replay import _SOME_COST
from penstock.sources.rows import RowMaker
from penstock.sources.schedule import Schedule
from penstock.sources.trace_reading import read_trace
from penstock.topology.adaptation import Operation, Strategy
from penstock.topology.components import Components

EXAMPLE = Path(__file__).parent.parent / "examples" / "lending.py"
LIMIT_SECONDS = 300
WATERMARK_SECONDS = 600
LINE = "percent_per_thousand"

SLOW = pytest.mark.slow

SPLIT = [ps.Split("area_interest"), ps.Split("area_approval")]
SPLIT_ALL = [ps.Split("all_interest"), ps.Split("all_approval")]
COMBINE = [ps.Combine("area_interest"), ps.Combine("area_approval")]


@dataclass(frozen=True)
class Change:
    """What is asked for while the job runs, by the micro-batch after which it is."""

    after: Mapping[int, Sequence[Operation]]
    strategy: Strategy | None = None
    optimiser: ps.Optimiser | None = None


def lending(monkeypatch: pytest.MonkeyPatch, out: Path) -> Job:
    """Load the job, with another place to write to."""
    monkeypatch.setenv("LENDING_OUT", str(out))
    return JobFile.parse(str(EXAMPLE)).load()


def loans(spark: SparkSession, module: Any) -> DataFrame:
    """Make the loans of the job without a stream, as a table; op1 in SQL."""
    trace = read_trace(module.applications())
    origin = int(datetime.fromisoformat(module.ORIGIN).timestamp() * 1_000_000)
    keys, delays = module.AREAS, module.DELAYS
    maker = RowMaker(Schedule(trace), keys, delays, _SOME_COST, module.SEED, origin)
    rows = pa.Table.from_batches(list(maker.batches(0, trace.rows)))
    made = spark.createDataFrame(rows).selectExpr(*module.draw_columns())
    rate = "120000 * (return - amount) DIV (amount * lendingTime) AS interest"
    return made.selectExpr(*module.loan_columns()).selectExpr("*", rate)


def expected(table: DataFrame, lengths: Mapping[str, str], name: str) -> dict[Any, Any]:
    """Let Spark aggregate every window that the watermark closes; lengths are by their names."""
    newest = table.agg(F.max("date").alias("newest")).collect()[0].newest
    closed = newest.timestamp() - WATERMARK_SECONDS
    count, percent = F.count("*").alias("loans"), F.sum("interest") / F.count("*") / 100
    rate = (F.count_if("approval") / F.count("*")).alias("rate")
    income = F.avg("income").alias("income")
    line = (10 * F.regr_slope("interest", "income")).alias(LINE)
    found = {
        "area_interest": [percent.alias("percent"), income, line],
        "area_approval": [rate],
        "all_interest": [percent.alias("percent")],
        "all_approval": [rate],
    }[name]
    by = ["area"] if name.startswith("area") else []
    made = {}
    for label, length in lengths.items():
        windows = table.groupBy(F.window("date", length), *by).agg(count, *found)
        for row in windows.filter(F.unix_seconds("window.end") <= closed).collect():
            made[key_of(row, label)] = values_of(row)
    return made


def key_of(row: Row, label: str) -> tuple[Any, ...]:
    area = row.area if "area" in row else None
    return label, row.window.start, row.window.end, area


def values_of(row: Row) -> dict[str, Any]:
    others = ("window", "window_name", "area", "batch_id")
    return {name: value for name, value in row.asDict().items() if name not in others}


def check(spark: SparkSession, module: Any, out: Path) -> None:
    table = loans(spark, module).cache()
    lengths = dict(zip([spec.name for spec in module.WINDOWS], module.LENGTHS, strict=True))
    try:
        for name in module.shown_columns():
            rows = spark.read.parquet(str(out / name)).collect()
            found = {key_of(row, row.window_name): values_of(row) for row in rows}
            wanted = expected(table, lengths, name)
            assert len(rows) == len(found)
            assert {key[0] for key in found} == set(lengths)
            assert found.keys() == wanted.keys()
            for key, values in wanted.items():
                # Sums of whole numbers are exact in any order. Spark fits a line in another way.
                lines = [each.pop(LINE, None) for each in (found[key], values)]
                assert found[key] == values, key
                assert None in lines or isclose(*lines, rel_tol=1e-6), key
                assert (lines[0] is None) == (lines[1] is None), key
    finally:
        table.unpersist()


def run(spark: SparkSession, job: Job, checkpoint: Path, change: Change | None) -> ps.Query:
    """Run the job to its end; its plan changes while it runs."""
    started, queries = threading.Event(), []

    def on_step(step: str, batch_id: int) -> None:
        operations = change.after.get(batch_id, ()) if change else ()
        if step == "commit" and operations:
            assert started.wait(LIMIT_SECONDS)
            queries[0].adapt(*operations, strategy=change.strategy)

    query = ps.run(
        *job.build(spark),
        checkpoint=checkpoint,
        available_now=True,
        on_step=on_step,
        optimiser=change.optimiser if change else None,
    )
    queries.append(query)
    started.set()
    assert query.await_termination(LIMIT_SECONDS)
    return query


def plans(query: ps.Query) -> list[journal.PlanChanged]:
    bodies = [event.body for event in journal.read(query.journal_dir)]
    return [body for body in bodies if isinstance(body, journal.PlanChanged)]


def test_the_components_are_those_of_figure_2(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = lending(monkeypatch, tmp_path / "out")
    components = Components(build_topology(job.build(spark), "error"))
    fused = components["interest"]
    operators = {
        component.name: [op.name for op in component.operators] for component in components
    }
    assert list(operators) == [
        "loans",
        "interest",
        "all_interest_partials",
        "all_approval_partials",
    ]
    assert {"interest", "area_interest", "area_approval"} < set(operators["interest"])
    assert (fused.by, fused.most_tasks) == (("area",), 50)
    for name in ("all_interest", "all_approval"):
        assert operators[f"{name}_partials"] == [f"{name}_partials", name, f"{name}_shown"]
        assert components[f"{name}_partials"].by == ()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(None, id="as it is", marks=SLOW),
        pytest.param(Change({1: SPLIT}), id="split", marks=SLOW),
        pytest.param(Change({0: SPLIT, 2: COMBINE}, "smooth"), id="smooth", marks=SLOW),
        pytest.param(Change({0: SPLIT, 2: COMBINE}, "disruptive"), id="disruptive", marks=SLOW),
        pytest.param(Change({1: [*SPLIT, *SPLIT_ALL]}), id="all split", marks=SLOW),
        pytest.param(Change({}, optimiser=ps.Optimiser("none")), id="by itself", marks=SLOW),
    ],
)
def test_every_window_is_that_of_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change | None
) -> None:
    job = lending(monkeypatch, tmp_path / "out")
    query = run(spark, job, tmp_path / "checkpoint", change)
    check(spark, job.module, tmp_path / "out")
    wanted = change.after if change else {}
    told = plans(query)
    # Windows that stood alone take two migrations: their partials go, and so does their name.
    assert len(told) == len(wanted)
    for plan, asked in zip(told, wanted.values(), strict=True):
        moved = {each.removeprefix("Migrate(").split(",")[0] for each in plan.operations}
        names = {name.removesuffix("_partials") for name in moved}
        assert names == {each.windows for each in asked}
    assert {each.reason for each in told} <= {"asked for by the user"}
    assert {each.strategy for each in told} <= {(change and change.strategy) or "instant"}
    if told:
        now = told[-1].components
        assert all(each in query.explain() for each in now)
        assert ("area_interest" in now["interest"]) == (wanted[max(wanted)] == COMBINE)


@pytest.mark.slow
def test_the_script_tells_what_it_does(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        cwd=tmp_path,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "Migrate(area_interest, interest, area_interest)" in ran.stdout
    assert "interest: interest, area_interest_partials, area_approval_partials\n" in ran.stdout
    assert "percent_per_thousand" in ran.stdout
