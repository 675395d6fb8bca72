"""The job that faults are injected into, its rows, and what Spark alone makes of them.

#                 +-> checked (fails on some) -> parquet; its dead letters -> json
# files -> picked +-> windows by key, sliding and tumbling -> parquet
#    |            +-> running totals by key -> parquet
#    |  the whole job has also:
#    |            +-> strict (fails on some, its dead letters stay in the checkpoint) -> parquet
#    |            +-> best rows of every window -> parquet
#    |            +-> late rows -> parquet
#    +-> rows from before the deadline, which stay in the checkpoint
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import dataset, parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps

SCHEMA = "id bigint, bucket bigint, value double, price bigint, days bigint, ts timestamp"
CHECKED = "id bigint, value double"
TOTALS = "bucket bigint, id bigint, n bigint, total bigint"
ROWS = 24
FIRST = 1_700_000_000
# Which rows are what, the same for Spark and for the job. No window and no order of micro-batches
# depends on where a batch ends, so neither does what comes out.
ANCIENT = "id % 12 = 3"
STRAGGLER = "id >= 48 AND id % 12 = 7"
Bag = Counter[tuple[Any, ...]]


def write_batch(where: Path, number: int) -> None:
    """Write the file of one micro-batch; rows are a second apart, but for those out of time."""
    path = where / f"{number:04}.parquet"
    ids = range(number * ROWS, (number + 1) * ROWS)
    rows = [
        {
            "id": i,
            "bucket": i % 5,
            "value": i / 8,
            "price": i * 7 % 13,
            "days": i * 5 % 11,
            "ts": _seconds(i),
        }
        for i in ids
    ]
    types = [("id", pa.int64()), ("bucket", pa.int64()), ("value", pa.float64())]
    types += [("price", pa.int64()), ("days", pa.int64()), ("ts", pa.timestamp("s", "UTC"))]
    aside = path.with_name(f".{path.name}")
    parquet.write_table(pa.Table.from_pylist(rows, pa.schema(types)), aside)
    os.utime(aside, (1_000_000_000 + number,) * 2)  # the order in which they are read
    os.replace(aside, path)


def _seconds(i: int) -> int:
    if i % 12 == 3:
        return 600_000_000 + i
    return FIRST - 3_600 + i if i >= 48 and i % 12 == 7 else FIRST + i


def waiting(files: DataFrame, row: int, seconds: float, told: str) -> DataFrame:
    """Let whoever reads a row wait in the middle of its file, as for a disk that is slow.

    Who has waited says so in a property of the JVM. Both calls give a text, so that no row is lost.
    """
    sleep = f"reflect('java.lang.Thread', 'sleep', {round(seconds * 1_000)}L)"
    tell = f"reflect('java.lang.System', 'setProperty', '{told}', 'yes')"
    wait = f"concat({sleep}, {tell}) IS NOT NULL"
    return files.filter(f"CASE WHEN id = {row} THEN {wait} ELSE true END")


def checked(row: dict[str, Any]) -> dict[str, Any]:
    if row["id"] % 11 == 0:
        raise ValueError("a multiple of eleven")
    return {"id": row["id"], "value": row["value"] * 3}


def strict(row: dict[str, Any]) -> dict[str, Any]:
    if row["id"] % 10 == 0:
        raise ValueError("a multiple of ten")
    return {"id": row["id"], "value": row["value"] / 2}


def totals(
    key: dict[str, Any], rows: list[dict[str, Any]], state: ps.KeyState
) -> list[dict[str, Any]]:
    """Return the totals of a key after each of its rows, so that it is the same in any batches."""
    before = state.value or {"n": 0, "total": 0}
    n, total, made = before["n"], before["total"], []
    for row in sorted(rows, key=lambda each: each["id"]):
        n, total = n + 1, total + row["id"]
        made.append({**key, "id": row["id"], "n": n, "total": total})
    state.update(n=n, total=total)
    return made


@dataclass(frozen=True)
class Killing:
    """Calls a function; a worker that finds one of the marks removes it and is killed.

    Several workers may find it: the one that removes it is the one.
    """

    then: Callable[[dict[str, Any]], dict[str, Any]]
    worker_mark: str
    executor_mark: str

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Die, or return what the function makes of a row."""
        if _removes(self.worker_mark):
            os.kill(os.getpid(), signal.SIGKILL)
        if _removes(self.executor_mark):
            stat = Path(f"/proc/{os.getppid()}/stat").read_text()
            os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
        return self.then(row)


def _removes(mark: str) -> bool:
    try:
        os.unlink(mark)
    except FileNotFoundError:
        return False
    return True


@dataclass(frozen=True)
class Job:
    """One topology over the files of ``source``, with its checkpoint and sinks in ``where``."""

    spark: SparkSession
    source: Path
    where: Path
    is_whole: bool = False
    checkpoint: Path | None = None

    @property
    def checkpoint_path(self) -> Path:
        """Where the checkpoint is."""
        return self.checkpoint or self.where / "checkpoint"

    @property
    def worker_mark(self) -> Path:
        """The file that kills the Python worker which finds it."""
        return self.where / "kill-a-worker"

    @property
    def executor_mark(self) -> Path:
        """The file that kills the executor whose Python worker finds it."""
        return self.where / "kill-an-executor"

    def start(
        self,
        around: Mapping[str, Callable[[Any], Any]] = {},
        reading: Callable[[DataFrame], DataFrame] = lambda files: files,
        **options: Any,
    ) -> ps.Query:
        """Start the query over what is there, unless ``options`` say otherwise.

        ``around`` puts something around a sink, ``reading`` around the source.
        """
        outlets = self._outlets(lambda name, sink: around.get(name, lambda s: s)(sink), reading)
        deadline = {"deadline": "3650 days"} if self.is_whole else {}
        return ps.run(
            *outlets,
            checkpoint=str(self.checkpoint_path),
            **{"available_now": True, **deadline, **options},
        )

    def _outlets(
        self, sink: Callable[[str, Any], Any], reading: Callable[[DataFrame], DataFrame]
    ) -> list[ps.Outlet]:
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        files = reading(reader.parquet(str(self.source)))
        if not self.is_whole:
            files = files.filter(f"NOT ({ANCIENT})")
        read = ps.Stream.read(files, time="ts", watermark="5 seconds", name="events")
        picked = read.select("*", name="picked")

        def to(branch: ps.Stream, name: str, kind: Any = ps.sinks.parquet) -> ps.Outlet:
            return branch.to(sink(name, kind(str(self.where / name))))

        killing = Killing(checked, str(self.worker_mark), str(self.executor_mark))
        good = picked.map(killing, CHECKED, on_error="dead_letter", name="checked")
        keyed = picked.filter(f"NOT ({STRAGGLER})", name="in_time").group_by("bucket")
        summed = picked.group_by("bucket").window(
            ps.sliding("20 seconds", "5 seconds"), ps.tumbling("15 seconds")
        )
        made = [
            to(good, "checked"),
            to(good.dead_letters(), "letters", ps.sinks.json),
            to(summed.aggregate(n=ps.count(), s=ps.sum("value"), name="summed"), "windows"),
            to(
                keyed.process(totals, state="n bigint, total bigint", schema=TOTALS, groups=4),
                "totals",
            ),
        ]
        if not self.is_whole:
            return made
        few = picked.filter("id % 5 = 0", name="few")
        best = picked.window(ps.tumbling("15 seconds")).skyline(minimize=["price", "days"])
        return [
            *made,
            to(few.map(strict, CHECKED, on_error="dead_letter", name="strict"), "strict"),
            to(best, "best"),
            to(picked.late_rows(), "late"),
        ]

    def found(self) -> dict[str, Bag]:
        """Return what the sinks hold."""
        out = {name: _read(self.where / name, *columns) for name, columns in _LEAN.items()}
        out["letters"] = _read_json(self.where / "letters")
        if self.is_whole:
            out |= {name: _read(self.where / name, *columns) for name, columns in _WHOLE.items()}
            kept = self.checkpoint_path / "dead_letters"
            out["kept letters"] = Counter(
                {(_id_of(row),): n for (row,), n in _read(kept, "row").items()}
            )
            out["shed"] = _read(self.checkpoint_path / "shed_rows" / "events", "id")
        return out

    def expected(self) -> dict[str, Bag]:
        """Return what Spark makes of all the files, in one batch."""
        files = len(list(self.source.glob("[0-9]*.parquet")))
        every = _expected(self.spark, str(self.source), files)
        return {name: rows for name, rows in every.items() if self.is_whole or name in _OF_LEAN}

    def differences(self) -> str:
        """Say which sinks hold other rows than they should; nothing where all is exact."""
        found, expected = self.found(), self.expected()
        wrong = [
            f"{name}: {sum((expected[name] - found[name]).values())} missing, "
            f"{sum((found[name] - expected[name]).values())} too many"
            for name in expected
            if found[name] != expected[name]
        ]
        return "; ".join(wrong)


_LEAN = {
    "checked": ("id", "value"),
    "windows": ("window", "bucket", "n", "s"),
    "totals": ("bucket", "id", "n", "total"),
}
_WHOLE = {"strict": ("id", "value"), "best": ("window", "id"), "late": ("id",)}
_OF_LEAN = {*_LEAN, "letters"}


def _read(path: Path, *columns: str) -> Bag:
    if not list(path.glob("batch_id=*/*.parquet")):
        return Counter()
    table = dataset.dataset(path, format="parquet", partitioning="hive").to_table(list(columns))
    return Counter(
        tuple(_ends(value) if name == "window" else value for name, value in row.items())
        for row in table.to_pylist()
    )


def _ends(window: dict[str, Any]) -> tuple[int, int]:
    start, end = (int(window[end].timestamp()) for end in ("start", "end"))
    return start, end


def _read_json(path: Path) -> Bag:
    files = list(path.glob("batch_id=*/*.json"))
    lines = [line for file in files for line in file.read_text().splitlines()]
    import json

    return Counter((_id_of(json.loads(line)["row"]),) for line in lines)


def _id_of(row: str) -> int:
    import json

    return int(json.loads(row)["id"])


@lru_cache(maxsize=8)
def _expected(spark: SparkSession, source: str, files: int) -> dict[str, Bag]:
    table = spark.read.schema(SCHEMA).parquet(source).cache()
    try:
        assert table.count() == files * ROWS
        taken = table.filter(f"NOT ({ANCIENT})")
        in_time = taken.filter(f"NOT ({STRAGGLER})")
        mark = FIRST + files * ROWS - 1 - 5
        return {
            "checked": _bag(taken.filter("id % 11 != 0").selectExpr("id", "value * 3")),
            "letters": _bag(taken.filter("id % 11 = 0").select("id")),
            "windows": _windows(in_time, mark),
            "totals": _totals(in_time),
            "strict": _bag(
                taken.filter("id % 5 = 0 AND id % 10 != 0").selectExpr("id", "value / 2")
            ),
            "kept letters": _bag(taken.filter("id % 10 = 0").select("id")),
            "best": _best(in_time, mark),
            "late": _bag(taken.filter(STRAGGLER).select("id")),
            "shed": _bag(table.filter(ANCIENT).select("id")),
        }
    finally:
        table.unpersist()


def _bag(rows: DataFrame) -> Bag:
    return Counter(tuple(row) for row in rows.collect())


def _windows(rows: DataFrame, mark: int) -> Bag:
    found: Bag = Counter()
    for length, slide in (("20 seconds", "5 seconds"), ("15 seconds", "15 seconds")):
        grouped = rows.groupBy(F.window("ts", length, slide), "bucket")
        made = grouped.agg(F.count("*").alias("n"), F.sum("value").alias("s"))
        found += _closed(made, mark, "bucket", "n", "s")
    return found


def _closed(rows: DataFrame, mark: int, *columns: str) -> Bag:
    ends = rows.selectExpr(
        "unix_timestamp(window.start) AS a", "unix_timestamp(window.end) AS b", *columns
    )
    return Counter(((row[0], row[1]), *row[2:]) for row in ends.filter(f"b <= {mark}").collect())


def _totals(rows: DataFrame) -> Bag:
    over = "OVER (PARTITION BY bucket ORDER BY id)"
    return _bag(rows.selectExpr("bucket", "id", f"count(*) {over}", f"sum(id) {over}"))


def _best(rows: DataFrame, mark: int) -> Bag:
    """The rows of each window that no other is at least as good as in all, and better in one."""
    placed = rows.select(F.window("ts", "15 seconds").alias("window"), "id", "price", "days")
    other = placed.selectExpr("window AS w", "price AS p", "days AS d")
    better = "w = window AND p <= price AND d <= days AND (p < price OR d < days)"
    return _closed(placed.join(other, F.expr(better), "left_anti"), mark, "id")
