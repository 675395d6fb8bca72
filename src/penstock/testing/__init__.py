"""For tests of your own jobs: rows in, rows out, on a real Spark.

The first run of a process starts Spark, which takes seconds; the guide to testing says how long.

>>> from penstock.testing import ManualClock, run_batches, spark_session
>>> spark = spark_session()
>>> done = run_batches(
...     lambda stream: stream.filter("n > 1"), [[{"n": 1}, {"n": 2}], [{"n": 3}]], "n bigint"
... )
>>> list(done.rows)
[Row(n=2), Row(n=3)]
"""

from penstock.testing.assertions import assert_rows, assert_same_as_batch
from penstock.testing.batches import run_batches
from penstock.testing.batches_run import BatchesRun, SinkRows
from penstock.testing.breaking import BrokenOff, fail_at, kill_at
from penstock.testing.checking_aggregates import check_aggregate
from penstock.testing.checking_policies import check_policy
from penstock.testing.checking_sinks import check_sink
from penstock.testing.manual_clock import ManualClock
from penstock.testing.memory_source import MemorySource
from penstock.testing.session import spark_session

__all__ = [
    "BatchesRun",
    "BrokenOff",
    "ManualClock",
    "MemorySource",
    "SinkRows",
    "assert_rows",
    "assert_same_as_batch",
    "check_aggregate",
    "check_policy",
    "check_sink",
    "fail_at",
    "kill_at",
    "run_batches",
    "spark_session",
]
