from __future__ import annotations

import math
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.sources import Trace, read_trace
from penstock.sources.trace import whole_counts

SHARED_RATES = Path(__file__).parents[3] / "shared" / "data" / "rates"
HALF_HOUR = 1_800_000_000


def write(tmp_path: Path, text: str, name: str = "trace.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_counts_per_second() -> None:
    assert read_trace([3, 0, 5]) == Trace((1_000_000,) * 3, (3, 0, 5))


def test_pairs_may_come_at_uneven_times() -> None:
    trace = read_trace([(100.0, 6), (101.5, 7), (103, 8), (104.25, 9)])
    assert trace == Trace((1_500_000, 1_500_000, 1_250_000, 1_500_000), (6, 7, 8, 9))


@pytest.mark.parametrize(
    "text",
    [
        "timestamp,value\n2014-07-01 00:00:00,10\n2014-07-01 00:30:00,20\n",
        "2014-07-01T00:00:00Z,10\n2014-07-01T02:30:00+02:00,20",
        "seconds;value\n0;10\n1800;20\n",
        "# half hours\n\n0 10\n 1800\t20 \n",
        "time\tvalue\n2014-07-01 00:00:00\t10\n2014-07-01 00:30:00\t20\n",
        "\ufefftime,value\r\n0,10\r\n1800,20.0\r\n",
        "\ufeff0,10\n1800,20\n",
        "2014-07-01T00:00:00,10\n2014-07-01T00:30:00Z,20\n",
    ],
)
def test_the_forms_a_file_may_have(tmp_path: Path, text: str) -> None:
    assert read_trace(write(tmp_path, text)) == Trace((HALF_HOUR, HALF_HOUR), (10, 20))


def test_a_file_of_one_column_has_counts_per_second(tmp_path: Path) -> None:
    assert read_trace(str(write(tmp_path, "rate\n4\n5\n"))).counts == (4, 5)
    assert read_trace(write(tmp_path, "4\n5\n")).counts == (4, 5)


def test_the_rate_column_is_chosen_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, "time,reads,writes\n0,1,10\n1,2,20\n")
    assert read_trace(path, "writes").counts == (10, 20)
    assert read_trace(path, "reads").counts == (1, 2)


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=50))
def test_fractions_are_carried_so_that_no_row_is_lost(counts: list[float]) -> None:
    whole = whole_counts(counts)
    assert all(count >= 0 for count in whole)
    for part in range(1, len(counts) + 1):
        exact = math.fsum(counts[:part])
        assert exact - 1 <= sum(whole[:part]) <= exact + 1e-5


def test_ten_times_seven_tenths_are_seven_rows() -> None:
    """The double nearest 0.7 is a little less, and so is any exact sum of them."""
    assert list(accumulate(whole_counts([0.7] * 30)))[9::10] == [7, 14, 21]


@given(
    st.lists(
        st.tuples(st.integers(1, 10**10), st.integers(0, 10**6)), min_size=1, max_size=40
    ).filter(lambda pairs: any(count for _, count in pairs))
)
def test_an_encoded_trace_comes_back(pairs: list[tuple[int, int]]) -> None:
    trace = Trace(*(tuple(column) for column in zip(*pairs, strict=True)))
    assert Trace.decode(trace.encode()) == trace


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("time,value\n", "a header and no counts"),
        ("time,value\n0,5\n1,-2\n", r"line 3: a count of -2\.0 rows"),
        ("time,value\n0,5\n1,nan\n", "line 3: a count of nan"),
        ("time,value\n0,5\n1,many\n", "line 3: the count 'many' is not a number"),
        ("time,value\n0,5\nsoon,7\n", "line 3: the time 'soon' is neither seconds nor ISO"),
        ("soon,5\n1,7\n", "line 1: the time 'soon'"),
        ("time,value\n0,5\n0,7\n", "line 3: the time does not come after"),
        ("time,value\n5,5\n4,7\n", "line 3: the time does not come after"),
        ("time,value\n0,5\n1,7,9\n", "line 3: 3 columns, not 2"),
        ("time,value\n0,0\n1,0\n", "all counts of the trace are 0"),
        ("time,a,b\n0,5,6\n", "2 columns after the time: a, b; say which"),
        ("0,5,6\n", "2 columns after the time, but no header"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_trace(write(tmp_path, text))


def test_an_unknown_column_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no column 'rate'; its columns are time, value"):
        read_trace(write(tmp_path, "time,value\n0,5\n"), "rate")
    with pytest.raises(ConfigurationError, match="has no header"):
        read_trace(write(tmp_path, "0,5\n"), "rate")
    with pytest.raises(ConfigurationError, match="leave rate_column out"):
        read_trace([1, 2], "rate")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.csv cannot be read: No such file"):
        read_trace(tmp_path / "nowhere.csv")
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        read_trace(tmp_path)
    (tmp_path / "image").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(ConfigurationError, match="it is not text"):
        read_trace(tmp_path / "image")


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ([], "is empty"),
        ([1, -1], r"trace\[1\]: a count of -1"),
        ([(0, 1), (1, -1)], r"trace\[1\]: a count of -1"),
        ([(0, 1), (0, 1)], r"trace\[1\]: the time does not come after"),
        ([(float("inf"), 1)], r"trace\[0\]: a time of inf"),
        ([1, (2, 3)], "all counts.*or all"),
        ([(1, 2, 3)], "all counts.*or all"),
        (["many"], "all counts.*or all"),
        ([0, 0], "all counts of the trace are 0"),
        ([(0, 2**40), (10**7, 1)], "too long for its count"),
    ],
)
def test_a_wrong_sequence_is_refused_with_its_place(trace: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_trace(trace)


@pytest.mark.skipif(not SHARED_RATES.exists(), reason="the public rate traces are not here")
@pytest.mark.parametrize(
    ("name", "steps", "step_seconds", "rows"),
    [
        ("nab_nyc_taxi.csv", 10_320, 1_800, 156_219_716),
        ("nab_tweets_AAPL.csv", 15_902, 300, 1_360_453),
        ("psps_main.csv", 1_301, 1, 2_982_840),
        ("ppq_game1.txt", 415, 1, 7_107_376),
    ],
)
def test_public_traces(name: str, steps: int, step_seconds: int, rows: int) -> None:
    trace = read_trace(SHARED_RATES / name)
    assert set(trace.step_micros) == {step_seconds * 1_000_000}
    assert (len(trace.counts), trace.rows) == (steps, rows)
