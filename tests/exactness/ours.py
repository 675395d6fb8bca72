"""Runs a case through Penstock's public API: files in, one per cut, results and late rows out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import penstock as ps
from exactness.case import SCHEMA, BreakOff, Case, Event, Measure, Second
from exactness.native import Emitted
from penstock.testing import fail_at
from penstock.windows.specs import WindowSpec

ARROW_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("area", pa.string()),
        ("shard.no", pa.int32()),
        ("grade", pa.float64()),
        ("whole", pa.int64()),
        ("real", pa.float64()),
        ("price", pa.decimal128(9, 2)),
        ("word", pa.string()),
        ("ok", pa.bool_()),
    ]
)
LIMIT_SECONDS = 300
Missed = frozenset[tuple[str, int, int]]


@dataclass(frozen=True, slots=True)
class Late:
    """One late row: its cut, its id, the watermark it met and the windows it missed."""

    cut: int
    id: int
    watermark: int
    missed: Missed


@dataclass(slots=True)
class Collected:
    """What the sinks were given, by micro-batch; a batch sent again replaces itself."""

    results: dict[int, list[Any]] = field(default_factory=dict)
    late: dict[int, list[Any]] = field(default_factory=dict)

    def take_results(self, df: DataFrame, batch_id: int) -> None:
        """Sink: times as whole microseconds, which no time zone of this machine can shift."""
        window = [F.unix_micros(f"window.{at}").alias(f"_{at}") for at in ("start", "end")]
        self.results[batch_id] = df.select(*window, "*").drop("window").collect()

    def take_late(self, df: DataFrame, batch_id: int) -> None:
        """Sink of late rows."""
        missed = "transform(_missed, w -> struct(w.name, unix_micros(w.start), unix_micros(w.end)))"
        taken = df.selectExpr("id", "unix_micros(_watermark)", missed)
        self.late[batch_id] = taken.collect()


Outlets = Callable[[ps.Stream, Collected], list[ps.Outlet]]


def run_ours(
    session: SparkSession, case: Case, where: Path, emit: Literal["on_close", "every_batch"]
) -> tuple[list[Emitted], list[Late]]:
    """Run a case, with its restarts and break-offs, and return results and late rows."""
    measures = {m.name: aggregate(m) for m in case.measures}

    def outlets(stream: ps.Stream, to: Collected) -> list[ps.Outlet]:
        windowed = by(stream, case.keys).window(*case.specs, emit=emit)
        results = windowed.aggregate(**measures)
        return [results.to(to.take_results), stream.late_rows().to(to.take_late)]

    collected = _run_all(session, case, where, outlets)
    results = _emitted(collected, case.specs, case.keys, tuple(measures))
    return list(results), list(_late(collected))


def run_ours_again(session: SparkSession, case: Case, second: Second, where: Path) -> list[Emitted]:
    """Run windows over the windows of a case's first spec."""

    def outlets(stream: ps.Stream, to: Collected) -> list[ps.Outlet]:
        first = by(stream, case.keys).window(case.specs[0])
        counted = first.aggregate(n=ps.count(), top=ps.max("whole"), name="first")
        again = by(counted, second.keys).window(*second.specs)
        results = again.aggregate(windows=ps.count(), n=ps.sum("n"), top=ps.max("top"))
        return [results.to(to.take_results)]

    collected = _run_all(session, case, where, outlets)
    return list(_emitted(collected, second.specs, second.keys, ("windows", "n", "top")))


def by(stream: ps.Stream, keys: tuple[str, ...]) -> Any:
    """Group a stream, where there is something to group by."""
    return stream.group_by(*keys) if keys else stream


def aggregate(measure: Measure) -> Any:
    """Return Penstock's aggregate of a measure."""
    positional = [given for given in (measure.column, measure.setting) if given is not None]
    return getattr(ps, measure.kind)(*positional, where=measure.where)


def _run_all(session: SparkSession, case: Case, where: Path, outlets: Outlets) -> Collected:
    """Run over the files up to each restart, broken off as the case says, then to the end."""
    where.joinpath("in").mkdir(parents=True)
    collected = Collected()
    waiting = list(case.break_offs)
    begin = 0
    for end in [*case.restarts, len(case.cuts)]:
        for cut in range(begin, end):
            _write(where / "in" / f"{cut}.parquet", case.cuts[cut], cut)
        while waiting and waiting[0].cut < end:
            _run(outlets(_read(session, case, where), collected), where, waiting.pop(0))
        _run(outlets(_read(session, case, where), collected), where, None)
        begin = end
    return collected


def _read(session: SparkSession, case: Case, where: Path) -> ps.Stream:
    files = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows = files.parquet(str(where / "in"))
    return ps.Stream.read(rows, time="ts", watermark=f"{case.delay_micros} microseconds")


def _run(outlets: list[ps.Outlet], where: Path, broken: BreakOff | None) -> None:
    on_step = None if broken is None else fail_at(broken.step, broken.cut)
    checkpoint = where / "checkpoint"
    with _broken_off(broken):
        query = ps.run(*outlets, checkpoint=checkpoint, available_now=True, on_step=on_step)
        assert query.await_termination(LIMIT_SECONDS)


@contextmanager
def _broken_off(broken: BreakOff | None) -> Iterator[None]:
    """Swallow the end that was asked for; a step that this topology has not is never reached."""
    try:
        yield
    except ps.QueryError as error:
        if broken is None or "broken off at" not in str(error):
            raise


def _write(path: Path, events: tuple[Event, ...], number: int) -> None:
    columns = list(zip(*[event.fields() for event in events], strict=True)) or [()] * 10
    arrays = [pa.array(c, f.type) for c, f in zip(columns, ARROW_SCHEMA, strict=True)]
    aside = path.with_suffix(".aside")
    pq.write_table(pa.table(arrays, schema=ARROW_SCHEMA), aside)
    os.utime(aside, (1_000 + number, 1_000 + number))  # Spark reads files in this order
    aside.rename(path)


def _emitted(
    collected: Collected,
    specs: tuple[WindowSpec, ...],
    keys: tuple[str, ...],
    values: tuple[str, ...],
) -> Iterator[Emitted]:
    for cut, rows in collected.results.items():
        for row in rows:
            shown = row.asDict()
            yield Emitted(
                cut,
                shown.get("window_name", specs[0].name),
                shown["_start"],
                shown["_end"],
                tuple(shown[key] for key in keys),
                tuple(shown[name] for name in values),
                is_final=shown.get("is_final", True),
            )


def _late(collected: Collected) -> Iterator[Late]:
    for cut, rows in collected.late.items():
        for number, watermark, missed in rows:
            yield Late(cut, number, watermark, frozenset(tuple(window) for window in missed))
