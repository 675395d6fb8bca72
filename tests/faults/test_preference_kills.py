from __future__ import annotations

import os
import random
import signal
from collections import Counter, defaultdict
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from killing import kills, run_job
from pyarrow import dataset, parquet

import preference_oracle as oracle
from penstock.engine.steps import Step
from window_oracle import EPOCH, moment

JOB = Path(__file__).with_name("killed_skyline_job.py")
BATCHES, ROWS = 16, 30
KILLS = 12
# Nothing is kept for several readers here.
STEPS = [step for step in Step if step is not Step.SHARE]
BETTER: Any = {"minimize": ["price", "days"], "maximize": ["rating"]}


def rows_of(batch: int) -> list[dict[str, Any]]:
    """One row a second, with ties."""
    dice = random.Random(batch)
    return [
        {
            "id": number,
            "price": dice.randrange(12),
            "days": dice.randrange(6),
            "rating": dice.randrange(20) / 4,
            "ts": moment(1_700_000_000 + number),
        }
        for number in range(batch * ROWS, (batch + 1) * ROWS)
    ]


@pytest.mark.slow
def test_kills_at_every_step_leave_exactly_the_best_rows_of_every_window(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for batch in range(BATCHES):
        path = tmp_path / "in" / f"{batch:04}.parquet"
        parquet.write_table(pa.Table.from_pylist(rows_of(batch)), path)
        os.utime(path, (1_700_000_000 + batch,) * 2)  # the order in which they are read
    codes = [run_job(tmp_path, job=JOB, **kill) for kill in kills(KILLS, 3, STEPS)]  # type: ignore[arg-type]
    assert codes == [-signal.SIGKILL] * KILLS
    commits = list((tmp_path / "checkpoint" / "commits").glob("0*.json"))
    assert 1 < len(commits) < BATCHES, "the kills should spread over the stream, not end it"
    assert run_job(tmp_path, job=JOB) == 0
    expected = [(*key, row["id"], row["team"]) for key, row in best_rows()]
    assert came_out(tmp_path / "best", "team") == Counter(expected)
    assert came_out(tmp_path / "top", "k") == Counter(
        (*key, row["id"], k) for key, row, k in top_rows()
    )


def came_out(out: Path, column: str) -> Counter[tuple[Any, ...]]:
    listed = dataset.dataset(out, format="parquet", partitioning="hive").to_table().to_pylist()
    return Counter(
        (
            *(row["window"][end].replace(tzinfo=UTC) for end in ("start", "end")),
            row["id"],
            row[column],
        )
        for row in listed
    )


def windows(seconds: int, slide: int) -> dict[tuple[Any, Any], list[dict[str, Any]]]:
    """The rows of every window that the last watermark has passed."""
    found = defaultdict(list)
    length, step = timedelta(seconds=seconds), timedelta(seconds=slide)
    listed = [row for batch in range(BATCHES) for row in rows_of(batch)]
    mark = listed[-1]["ts"] - timedelta(seconds=5)
    for row in listed:
        newest = EPOCH + (row["ts"] - EPOCH) // step * step
        for start in (newest - step * n for n in range(seconds // slide)):
            if start + length <= mark:
                found[(start, start + length)].append({**row, "team": row["id"] % 3})
    return found


def best_rows() -> list[tuple[Any, dict[str, Any]]]:
    return [
        (key, row)
        for spec in ((40, 10), (30, 30))
        for key, rows in windows(*spec).items()
        for team in range(3)
        for row in oracle.skyline([row for row in rows if row["team"] == team], **BETTER)
    ]


def top_rows() -> list[tuple[Any, dict[str, Any], int]]:
    found = []
    for key, rows in windows(40, 10).items():
        best, k = oracle.top_dominant(rows, 3, **BETTER)
        found += [(key, row, k) for row in best]
    return found
