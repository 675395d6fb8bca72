"""The rows of ``sliding60`` through Flink SQL's HOP, where Flink is installed.

Flink has no micro-batches. Two runs of different length are timed, and the time of a million rows
is what the longer took more: starting Flink is not counted. Flink's own Python packages rarely fit
beside Spark's, so it may be the Python of another environment.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

CASE = "sliding60"
TIMEOUT_SECONDS = 1_800


def measure(python: str, batches: int, rows: int | None) -> list[dict[str, Any]]:
    """Return one row: the time that Flink took for as many rows as a micro-batch has."""
    from windows_cases import CASES

    case = CASES[CASE].with_rows(rows)
    asked = json.dumps(
        {"rows": case.rows, "batches": batches, "key": case.key_sql, "micros": case.micros_sql}
    )
    answer = {"case": "flink", "way": "flink", "skipped": ""}
    if subprocess.run(
        [python, "-c", "import pyflink"], capture_output=True, check=False
    ).returncode:
        return [answer | {"skipped": f"apache-flink is not installed for {python}"}]
    told = subprocess.run(
        [python, __file__, asked],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    if told.returncode:
        return [answer | {"skipped": told.stderr.strip()[-500:]}]
    return [answer | json.loads(told.stdout.splitlines()[-1])]


def statements(case: dict[str, Any], rows: int) -> tuple[str, str, str]:
    """Return the source, the sink and the query in Flink SQL."""
    source = f"""
        CREATE TEMPORARY TABLE numbered (
            `value` BIGINT,
            k AS {case["key"]},
            v AS MOD(`value` * 31, 10007) * 0.25E0,
            ts AS TO_TIMESTAMP_LTZ(({case["micros"]}) / 1000, 3),
            WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
        ) WITH (
            'connector' = 'datagen',
            'rows-per-second' = '100000000',
            'fields.value.kind' = 'sequence',
            'fields.value.start' = '0',
            'fields.value.end' = '{rows - 1}'
        )"""
    sink = """
        CREATE TEMPORARY TABLE results (
            k BIGINT, window_end TIMESTAMP(3), n BIGINT, s DOUBLE, m DOUBLE
        ) WITH ('connector' = 'blackhole')"""
    query = """
        INSERT INTO results
        SELECT k, window_end, COUNT(*), SUM(v), MAX(v)
        FROM HOP(TABLE numbered, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '60' MINUTE)
        GROUP BY k, window_start, window_end"""
    return source, sink, query


def seconds_for(case: dict[str, Any], rows: int) -> float:
    """Run so many rows through Flink."""
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

    table = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table.get_config().set("parallelism.default", "2")
    source, sink, query = statements(case, rows)
    table.execute_sql(source)
    table.execute_sql(sink)
    started = time.perf_counter()
    table.execute_sql(query).wait()
    return time.perf_counter() - started


def main() -> None:
    case = json.loads(sys.argv[1])
    few, many = (case["rows"] * n for n in (max(1, case["batches"] // 4), case["batches"]))
    seconds_for(case, few)  # warm up
    short, long = seconds_for(case, few), seconds_for(case, many)
    each_ms = (long - short) / (many - few) * case["rows"] * 1_000
    print(json.dumps({"rows": many, "long_seconds": long, "ms_for_a_batch_of_rows": each_ms}))


if __name__ == "__main__":
    main()
