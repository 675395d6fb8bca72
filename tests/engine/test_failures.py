"""From what Spark reports to the error that a person needs."""

from __future__ import annotations

from pathlib import Path

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


STACK = """An error occurred while calling o77.save.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/o.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailed(QueryExecutionErrors.scala:9)
\t... 15 more
Caused by: java.io.IOException: {cause}
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""


def test_a_stack_is_left_to_sparks_log_and_the_cause_is_told() -> None:
    error = as_query_error(RuntimeError(STACK.format(cause="the wire is cut")))
    assert type(error) is QueryError
    assert str(error) == (
        "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to "
        "file:/o. Its cause: the wire is cut Start the query again with the same checkpoint; the "
        "micro-batch is run once more."
    )
    assert "FileOutputStream" in error.report


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    text = STACK.format(cause="No space left on device")
    error = as_query_error(RuntimeError(text), [f"file:{tmp_path}"])
    assert "there is no space left on the disk" in str(error)
    assert "Free some space" in str(error)
    named = STACK.format(cause="/data/out/_x.tmp (No space left on device)")
    assert "'/data/out/_x.tmp'" in str(as_query_error(RuntimeError(named)))


def test_a_worker_that_died_is_told_without_a_stack() -> None:
    died = STACK.format(cause="Python worker exited unexpectedly (crashed)")
    error = as_query_error(RuntimeError(died))
    assert str(error).startswith("a Python worker died in the middle of a task")


def test_a_file_of_the_checkpoint_that_spark_cant_read_is_named() -> None:
    cause = "Checksum error: file:/ck/spark/offsets/3 at 0 exp: 1 got: 2"
    damaged = RuntimeError(STACK.format(cause=cause))
    error = as_query_error(damaged, ["file:/ck"])
    assert type(error) is CheckpointError
    assert str(error).startswith("'file:/ck/spark/offsets/3' is missing, cut short or damaged")
    assert type(as_query_error(damaged, ["file:/other"])) is QueryError


IMPORT = """
  An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 4207, in invoke_udf
    func, profiler, deserializer, serializer = read_udfs(
  File "serializers.py", line 472, in loads
ModuleNotFoundError: No module named 'mine'

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""


def test_a_function_that_a_worker_can_not_load_is_told_without_a_traceback() -> None:
    error = as_query_error(RuntimeError(IMPORT))
    assert str(error) == (
        "a Python worker failed with ModuleNotFoundError: No module named 'mine'. Install it where "
        "Python workers run, or send it: spark.sparkContext.addPyFile(...)."
    )
    assert "read_udfs" in error.report
    other = as_query_error(RuntimeError(IMPORT.replace("ModuleNotFoundError: No module", "Odd: A")))
    assert str(other).startswith("a Python worker failed with Odd: A named 'mine'. Start the query")


def test_a_function_that_can_not_be_sent_says_what_is_in_it() -> None:
    error = as_query_error(
        RuntimeError("Could not serialize object: TypeError: cannot pickle '_thread.lock' object")
    )
    assert str(error).startswith(
        "a function can't be sent to Python workers: TypeError: cannot pickle '_thread.lock' "
        "object. Make connections"
    )
