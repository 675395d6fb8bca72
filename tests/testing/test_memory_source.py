from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import penstock as ps
from penstock.errors import ConfigurationError, QueryError
from penstock.testing import MemorySource

Batches = dict[int, list[Row]]


@pytest.fixture
def source(spark: SparkSession) -> Iterator[MemorySource]:
    with MemorySource([[(1,), (2,)], [(3,)], [(4,)]], "n bigint", spark=spark) as source:
        yield source


@pytest.fixture
def seen() -> Batches:
    return {}


@pytest.fixture
def start(tmp_path: Path, seen: Batches) -> Callable[..., StreamingQuery]:
    """Start Spark's own query over a source, from one checkpoint; ``seen`` is what came."""

    def keep(df: DataFrame, batch_id: int) -> None:
        seen[batch_id] = df.collect()

    def run(source: MemorySource, *, to_the_end: bool = True) -> StreamingQuery:
        writer = source.df().writeStream.foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        if not to_the_end:
            return writer.start()
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    return run


def numbers(seen: Batches) -> list[list[int]]:
    return [[row.n for row in seen[batch]] for batch in sorted(seen)]


def test_a_directory_that_can_not_be_made_is_told(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "inside", "/dev/null/inside"):
        with pytest.raises(ConfigurationError, match="MemorySource can't keep its rows in"):
            MemorySource([[(1,)]], "n bigint", directory=place, spark=spark)


def test_each_micro_batch_takes_the_next_list(
    source: MemorySource, start: Callable[..., StreamingQuery], seen: Batches
) -> None:
    source.add([], [(5,)])
    start(source)
    assert numbers(seen) == [[1, 2], [3], [4], [], [5]]


def test_rows_of_every_kind(
    spark: SparkSession, start: Callable[..., StreamingQuery], seen: Batches
) -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678_901)
    values = ("x", Decimal("1.50"), at, [1, 2], Row(a=1, b=None), {"k": 2.5}, b"\x00")
    columns = (
        "s string, d decimal(5,2), ts timestamp, l array<int>, r struct<a:int,b:string>, "
        "m map<string,double>, b binary"
    )
    names = [each.split(" ")[0] for each in columns.replace(",b:", ";b:").split(", ")]
    frame = spark.createDataFrame([values], columns)
    batches = [
        [values],
        [dict(zip(names, values, strict=True))],
        [Row(**dict(zip(names, values, strict=True)))],
        frame,
        [{"s": "only"}],
    ]
    with MemorySource(batches, columns, spark=spark) as source:
        start(source)
    expected = Row(*names)(*values)
    assert [seen[n] for n in range(4)] == [[expected]] * 4
    assert tuple(seen[4][0]) == ("only", *[None] * 6)


def test_columns_are_told_from_rows_and_pandas(
    spark: SparkSession, start: Callable[..., StreamingQuery], seen: Batches
) -> None:
    frame = pd.DataFrame({"n": [1, 2], "s": ["a", None]})
    with MemorySource([[], frame], spark=spark) as source:
        source.add([{"s": "b", "n": 3}])
        start(source)
    assert seen[1] == [Row(n=1, s="a"), Row(n=2, s=None)]
    assert seen[2] == [Row(n=3, s="b")]


def test_a_pause_holds_back_what_was_not_read_until_it_ends(
    source: MemorySource, start: Callable[..., StreamingQuery], seen: Batches
) -> None:
    query = start(source, to_the_end=False)
    try:
        query.processAllAvailable()
        source.pause()
        source.add([(5,)], [(6,)])
        query.processAllAvailable()
        assert numbers(seen) == [[1, 2], [3], [4]]
        assert source.is_paused
        source.resume()
        query.processAllAvailable()
        assert numbers(seen) == [[1, 2], [3], [4], [5], [6]]
    finally:
        query.stop()


def test_a_source_that_is_paused_before_the_start_gives_nothing(
    source: MemorySource, start: Callable[..., StreamingQuery], seen: Batches
) -> None:
    source.pause()
    start(source)
    assert seen == {}
    source.resume()
    start(source)
    assert numbers(seen) == [[1, 2], [3], [4]]


def test_a_read_fails_as_often_as_asked_and_then_goes_on(
    source: MemorySource, start: Callable[..., StreamingQuery], seen: Batches
) -> None:
    source.fail(1, times=2)
    for tried in (1, 2):
        with pytest.raises(StreamingQueryException, match="read of batch 1 fails"):
            start(source)
        assert numbers(seen) == [[1, 2]]
        assert source.failures(1) == tried
    start(source)
    assert numbers(seen) == [[1, 2], [3], [4]]
    assert source.failures(1) == 2


def test_a_batch_can_be_made_to_fail_before_it_is_there(
    source: MemorySource, start: Callable[..., StreamingQuery], seen: Batches
) -> None:
    source.fail(3)
    source.add([])
    with pytest.raises(StreamingQueryException, match="batch 3 fails"):
        start(source)
    start(source)
    assert numbers(seen) == [[1, 2], [3], [4], []]


def test_a_failed_read_ends_a_job_which_then_goes_on_from_its_checkpoint(
    source: MemorySource, tmp_path: Path
) -> None:
    # Two branches read the batch at the same time: that is one try.
    stream = ps.Stream.read(source.df(), name="numbers")
    even, odd = ps.sinks.memory(), ps.sinks.memory()
    outlets = stream.filter("n % 2 = 0").to(even), stream.filter("n % 2 = 1").to(odd)
    source.fail(1, times=2)

    def run() -> None:
        query = ps.run(*outlets, checkpoint=tmp_path / "checkpoint", available_now=True)
        assert query.await_termination(60)

    for _ in range(2):
        with pytest.raises(QueryError, match="read of batch 1 fails, as the test asked"):
            run()
    run()
    assert [row.n for row in even.rows()] == [2, 4]
    assert [row.n for row in odd.rows()] == [1, 3]


def test_going_back_hands_out_rows_once_more(
    source: MemorySource, start: Callable[..., StreamingQuery], seen: Batches
) -> None:
    start(source)
    source.rewind(1)
    source.add([(9,)])
    start(source)
    assert numbers(seen) == [[1, 2], [3], [4], [3], [4], [9]]
    source.rewind(2)
    assert len(source) == 4
    start(source)
    assert numbers(seen)[6:] == [[4], [9]]


def test_a_checkpoint_gets_the_same_rows_for_the_same_offsets(
    source: MemorySource, tmp_path: Path
) -> None:
    memory = ps.sinks.memory()
    tried: list[tuple[int, list[int]]] = []

    def fails_once(df: DataFrame, batch_id: int) -> None:
        tried.append((batch_id, [row.n for row in df.collect()]))
        if batch_id == 1 and len(tried) == 2:
            raise RuntimeError("broken off")

    stream = ps.Stream.read(source.df(), name="numbers")
    outlets = stream.to(memory), stream.to(fails_once)
    for attempt in range(2):
        query = ps.run(*outlets, checkpoint=tmp_path / "checkpoint", available_now=True)
        if attempt == 0:
            with pytest.raises(QueryError, match="broken off"):
                query.await_termination(60)
        else:
            assert query.await_termination(60)
    assert tried == [(0, [1, 2]), (1, [3]), (1, [3]), (2, [4])]
    assert [row.n for row in memory.rows()] == [1, 2, 3, 4]


_OTHER_PROCESS = """
import sys
from penstock.testing import MemorySource
where = sys.argv[1]
source = MemorySource(schema="n bigint", directory=where + "/source")
source.add([(5,)])
def show(df, batch_id):
    print("batch", batch_id, [row.n for row in df.collect()], flush=True)
writer = source.df().writeStream.foreachBatch(show)
writer = writer.option("checkpointLocation", where + "/checkpoint")
query = writer.trigger(availableNow=True).start()
query.awaitTermination()
source.close()
"""


@pytest.mark.slow
def test_another_process_goes_on_from_the_checkpoint(
    spark: SparkSession,
    start: Callable[..., StreamingQuery],
    seen: Batches,
    tmp_path: Path,
) -> None:
    where = tmp_path / "source"
    with MemorySource([[(1,), (2,)], [(3,)]], "n bigint", directory=where, spark=spark) as source:
        source.fail(1)
        with pytest.raises(StreamingQueryException, match="batch 1 fails"):
            start(source)
    assert numbers(seen) == [[1, 2]]
    done = subprocess.run(
        [sys.executable, "-c", _OTHER_PROCESS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["batch 1 [3]", "batch 2 [5]"], done.stderr
    assert where.exists()


def test_a_directory_of_its_own_goes_with_the_source(spark: SparkSession) -> None:
    source = MemorySource([[(1,)]], "n bigint", spark=spark)
    where = Path(source._directory)
    assert list(where.iterdir())
    source.close()
    assert not where.exists()


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([{"m": 1}], "row 0 of batch 3 has m, which is not among the columns n"),
        ([(1, 2)], "row 0 of batch 3 has 2 values for the 1 columns n"),
        ([(1,), ("x",)], "row 1 of batch 3 does not fit the schema.*LongType"),
        ([7], "row 0 of batch 3 is a int"),
        ({"n": 1}, "batch 3 is a dict. Write a list of rows"),
    ],
)
def test_rows_that_do_not_fit_are_told(source: MemorySource, batch: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        source.add(batch)  # type: ignore[arg-type]
    assert len(source) == 3


def test_what_can_not_be_is_refused(source: MemorySource, spark: SparkSession) -> None:
    with pytest.raises(ConfigurationError, match=r"no batch 3 to go back to\. The source has 3"):
        source.rewind(3)
    with pytest.raises(ConfigurationError, match="fails nothing"):
        source.fail(1, times=0)
    with pytest.raises(ConfigurationError, match="no row to tell the columns from"):
        MemorySource([[]], spark=spark)
