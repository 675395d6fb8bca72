"""Spark's own streaming query is the oracle: same rows, same cuts, same results, same late rows.

``PENSTOCK_CASES=3000`` draws that many; ``--hypothesis-seed`` draws the same ones again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from exactness.case import Case, Second
from exactness.comparison import check_early, check_late, check_model, check_results
from exactness.drawn_cases import cases, pairs, seconds_of
from exactness.eager import eager
from exactness.late_model import modelled
from exactness.native import quick_session, run_native, run_native_again
from exactness.once_wrong import BEFORE_1970, BLOCKS_OF_ONE_WIDTH, MANY_OPEN_WINDOWS
from exactness.ours import run_ours, run_ours_again

CASES = int(os.environ.get("PENSTOCK_CASES", "6"))
CASES_IN_CI = 100
IN_MEMORY = "/dev/shm"
Pair = tuple[Case, Case]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """Return a session of its own on the shared context, set for many tiny queries."""
    return quick_session(spark)


@pytest.fixture(scope="module", autouse=True)
def _files_in_memory() -> Iterator[None]:
    """Keep the many small files off the disk, on machines that can."""
    before = tempfile.tempdir
    if os.access(IN_MEMORY, os.W_OK):
        tempfile.tempdir = IN_MEMORY
    yield
    tempfile.tempdir = before


@settings(max_examples=max(1, CASES // 2), derandomize=True)
@given(pair=pairs())
def test_results_and_late_rows_are_sparks_own(session: SparkSession, pair: Pair) -> None:
    check_pair(session, pair)


@pytest.mark.parametrize("case", [BLOCKS_OF_ONE_WIDTH, BEFORE_1970], ids=["blocks", "1970"])
def test_a_case_that_was_once_wrong_stays_right(session: SparkSession, case: Case) -> None:
    with tuned(case):
        check(session, case)


@pytest.mark.slow
def test_many_open_windows_beside_kept_blocks(session: SparkSession) -> None:
    check_with_early(session, MANY_OPEN_WINDOWS)


@pytest.mark.slow
@settings(max_examples=max(CASES_IN_CI, CASES) // 2)
@given(pair=pairs())
def test_they_are_in_many_cases(session: SparkSession, pair: Pair) -> None:
    check_pair(session, pair)


@settings(max_examples=max(1, CASES // 5), derandomize=True)
@given(case=cases())
def test_early_results_are_sparks_own_in_update_mode(session: SparkSession, case: Case) -> None:
    check_with_early(session, case)


@pytest.mark.slow
@settings(max_examples=max(CASES_IN_CI, CASES) // 10)
@given(case=cases())
def test_early_results_are_in_many_cases(session: SparkSession, case: Case) -> None:
    check_with_early(session, case)


@settings(max_examples=max(1, CASES // 5), derandomize=True)
@given(drawn=cases().flatmap(lambda case: st.tuples(st.just(case), seconds_of(case))))
def test_windows_over_windows_are_sparks_own(
    session: SparkSession, drawn: tuple[Case, Second]
) -> None:
    check_again(session, *drawn)


@pytest.mark.slow
@settings(max_examples=max(CASES_IN_CI, CASES) // 10)
@given(drawn=cases().flatmap(lambda case: st.tuples(st.just(case), seconds_of(case))))
def test_windows_over_windows_are_in_many_cases(
    session: SparkSession, drawn: tuple[Case, Second]
) -> None:
    check_again(session, *drawn)


def check_pair(session: SparkSession, pair: Pair) -> None:
    """Check two cases at a time: one alone leaves the machine idle half of the time."""
    with tuned(pair[0]), ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(check, session, case) for case in pair]:
            done.result()


def check(session: SparkSession, case: Case) -> None:
    """Run a case through both, side by side, and compare."""
    with directory() as where, ThreadPoolExecutor(1) as aside:
        native = aside.submit(run_native, session, case)
        results, late = run_ours(session, case, where, "on_close")
        spark = native.result()
    model = modelled(case.cuts, case.specs, case.delay_micros)
    check_model(case, spark, model)
    check_results(spark.emitted, results)
    check_late(model, late)


def check_with_early(session: SparkSession, case: Case) -> None:
    """Compare final windows with Spark's append mode, open ones with its update mode."""
    with tuned(case), directory() as where, ThreadPoolExecutor(1) as aside:
        closed = aside.submit(run_native, session, case)
        changed = aside.submit(run_native, session, case, "update")
        results, _ = run_ours(session, case, where, "every_batch")
        spark = closed.result().emitted, changed.result().emitted
    check_early(modelled(case.cuts, case.specs, case.delay_micros), *spark, results)


def check_again(session: SparkSession, case: Case, second: Second) -> None:
    """Compare two levels of windows with Spark's."""
    with tuned(case), directory() as where, ThreadPoolExecutor(1) as aside:
        native = aside.submit(run_native_again, session, case, second)
        results = run_ours_again(session, case, second, where)
        check_results(native.result(), results)


def tuned(case: Case) -> AbstractContextManager[None]:
    """Tune the engine as a case asks for."""
    return eager() if case.is_eager else nullcontext()


@contextmanager
def directory() -> Iterator[Path]:
    """Make a directory for one case: a test of many cannot use a fixture for it."""
    where = Path(tempfile.mkdtemp(prefix="exactness"))
    try:
        yield where
    finally:
        shutil.rmtree(where, ignore_errors=True)
