"""Millions of keys: they lie on disk, not in the driver, and small batches do not pay for them."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock import journal
from penstock.journal.events import StateStored

KEYS, FILLS, SMALL = 2_000_000, 4, 20


def count(
    key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
) -> dict[str, Any] | None:
    n = (state.value or {"n": 0})["n"] + len(rows)
    state.update(n=n)
    return {"user": key["user"], "n": n} if n > 1 else None


@pytest.mark.slow
def test_two_million_keys_take_no_room_in_the_driver(
    spark: SparkSession, tmp_path: Path, finish: Callable[..., ps.Query]
) -> None:
    where = tmp_path / "many"
    where.mkdir()
    rng = np.random.default_rng(5)
    fills = np.split(rng.permutation(KEYS), FILLS)
    touched = [rng.integers(0, KEYS, 1_000) for _ in range(SMALL)]
    for number, users in enumerate([*fills, *touched]):
        pq.write_table(
            pa.table({"user": pa.array(users, pa.int64())}), where / f"{number:03d}.parquet"
        )
        os.utime(where / f"{number:03d}.parquet", (1_700_000_000 + number,) * 2)
    reader = spark.readStream.schema("user long").option("maxFilesPerTrigger", 1)
    s = ps.Stream.read(reader.parquet(str(where))).group_by("user")
    s = s.process(count, state="n long", schema="user long, n long")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    query = finish(s.to(ps.sinks.parquet(str(tmp_path / "out"))), wait_seconds=900)
    # The states are 60 MB on disk; of that the driver's Python knows the files' names.
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1_024
    assert grown_mb < 30
    seen: dict[int, int] = {}
    for users in touched:
        for user in users.tolist():
            seen[user] = seen.get(user, 1) + 1
    told = spark.read.parquet(str(tmp_path / "out")).groupBy("user").max("n").collect()
    assert {row[0]: row[1] for row in told} == seen
    bodies = [event.body for event in journal.read(query.journal_dir)]
    stored = [body for body in bodies if isinstance(body, StateStored)]
    assert stored[FILLS - 1].bytes > 40_000_000
    # In the first eight batches the groups take turns to put together what filled them. From then
    # on a thousand changes are written, and now and then a few earlier ones with them.
    written = [body.written_bytes for body in stored[FILLS + 8 :]]
    assert max(written) < 1_000_000
    commits = (tmp_path / "checkpoint" / "commits").glob("*.json")
    assert max(path.stat().st_size for path in commits) < 100_000
