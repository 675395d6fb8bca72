"""From what Spark reports to the error that a person needs."""

from __future__ import annotations

from penstock.engine.failures import as_query_error
from penstock.errors import CheckpointError, QueryError

TRACE = """Job aborted due to stage failure: Traceback (most recent call last):
  File "state_files.py", line 126, in _opened
penstock.errors.CheckpointError: the state file 'ck/state/p/7.arrow' is damaged. Put it back.
\tat org.apache.spark.scheduler.Task.run(Task.scala:147)
"""


def test_a_damaged_checkpoint_that_a_worker_met_is_one_for_the_user_too() -> None:
    error = as_query_error(RuntimeError(TRACE))
    assert type(error) is CheckpointError
    assert str(error) == ("the state file 'ck/state/p/7.arrow' is damaged. Put it back.")


def test_what_is_not_known_is_told_as_spark_tells_it() -> None:
    assert type(as_query_error(RuntimeError("boom"))) is QueryError
    assert str(as_query_error(RuntimeError())) == "RuntimeError"
