from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.placement.hashing import key_hashes

# Sketches are kept from one version to the next: these numbers must not change.
KNOWN: dict[str, tuple[Any, int]] = {
    "int": ([5], 5),
    "negative": ([-1], 2**64 - 1),
    "string": (["a"], 11285641155585844890),
    "bytes": ([b"\x00\xff"], 10719813438128786011),
    "boolean": ([True], 193708722526459091),
    "float": ([1.5], 4160515740427309775),
    "date": ([date(2026, 1, 1)], 17725954974982170263),
    "timestamp": (pa.array([1], pa.timestamp("us", "UTC")), 16429558940956551867),
    "decimal": (pa.array([Decimal("1.50")], pa.decimal128(10, 2)), 13934961971193824810),
    "null": ([None], 7985457161556883059),
    "list": (pa.array([[1, 2]]), 13218126212431447099),
    "struct": (pa.array([{"a": 1}]), 2804007756110485876),
}
INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64())


@pytest.mark.parametrize(("column", "number"), KNOWN.values(), ids=KNOWN.keys())
def test_numbers_stay_as_they_are(column: Any, number: int) -> None:
    assert key_hashes(column).tolist() == [number]
    assert key_hashes(column).dtype == np.uint64


def test_columns_combine_to_numbers_that_stay_and_depend_on_their_order() -> None:
    assert key_hashes(["a"], [1]).tolist() == [15494599884965365094]
    assert key_hashes([1], ["a"]).tolist() == [4827539992129890984]


def test_another_process_gives_the_same_numbers() -> None:
    code = (
        "from penstock.placement.hashing import key_hashes as k; print(k(['a', 'ä'], [1.5, 2.5]))"
    )
    for seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        answer = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert answer.stdout.strip() == str(key_hashes(["a", "ä"], [1.5, 2.5]))


@pytest.mark.parametrize("arrow_type", INTEGERS, ids=str)
def test_integers_of_all_widths_agree(arrow_type: pa.DataType) -> None:
    column = pa.array([5, 0, None, 100], arrow_type)
    expected = [5, 0, KNOWN["null"][1], 100]
    assert key_hashes(column).tolist() == expected
    assert key_hashes(column.slice(1)).tolist() == expected[1:]
    assert key_hashes(column.drop_null().to_numpy()).tolist() == [5, 0, 100]
    if pa.types.is_signed_integer(arrow_type):
        assert key_hashes(pa.array([-3], arrow_type)).tolist() == [2**64 - 3]


def test_wide_and_narrow_text_and_floats_agree() -> None:
    for left, right in [(pa.string(), pa.large_string()), (pa.binary(), pa.large_binary())]:
        values = ["a", "", "ä", None]
        assert (key_hashes(pa.array(values, left)) == key_hashes(pa.array(values, right))).all()
    assert (key_hashes(pa.array([1.5], pa.float32())) == key_hashes(np.array([1.5]))).all()


@given(st.lists(st.none() | st.sampled_from(["", "a", "b", "\x00", "ab"])), st.integers(0, 5))
def test_however_it_is_held_a_value_has_its_number(values: list[str | None], cut: int) -> None:
    plain = pa.array(values, pa.string())
    chunked = pa.chunked_array([plain[:cut], plain[cut:]])
    expected = [key_hashes([value])[0] for value in values]
    for column in (values, plain, chunked, plain.dictionary_encode(), plain.to_pandas()):
        assert key_hashes(column).tolist() == expected


def test_an_empty_column_has_no_numbers() -> None:
    for column in ([], pa.chunked_array([], pa.string()), np.zeros(0, np.int8), pa.array([])):
        assert key_hashes(column).tolist() == []


def test_dictionaries_may_hold_nulls_on_both_sides() -> None:
    null = KNOWN["null"][1]
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([None, "a"]))
    assert key_hashes(column).tolist() == [null, KNOWN["string"][1], null]


def test_equal_floats_and_all_nan_are_one_key() -> None:
    bits = pa.array([0x7FF8000000000000, 0x7FF0000000000001, -1], pa.int64())
    assert len(set(key_hashes(bits.view(pa.float64())).tolist())) == 1
    assert len(set(key_hashes([0.0, -0.0]).tolist())) == 1


def test_python_integers_beyond_64_bits_are_taken_modulo_them() -> None:
    assert key_hashes([2**64 + 3, -1, None]).tolist() == [3, 2**64 - 1, KNOWN["null"][1]]


def test_combined_keys_spread_over_all_bits() -> None:
    left, right = np.divmod(np.arange(10_000), 100)
    numbers = key_hashes(left, right)
    assert len(np.unique(numbers)) == 10_000
    for shift in (0, 20, 40, 60):
        buckets = Counter(((numbers >> np.uint64(shift)) & np.uint64(15)).tolist())
        # Of 10,000 in 16 buckets six standard deviations are 145.
        assert all(abs(buckets[bucket] - 625) < 145 for bucket in range(16))


def test_mistakes_are_told() -> None:
    with pytest.raises(ConfigurationError, match="at least one column"):
        key_hashes()
    with pytest.raises(ConfigurationError, match=r"\[1, 2\] rows"):
        key_hashes([1], [1, 2])
    with pytest.raises(ConfigurationError, match="int and str"):
        key_hashes([1, "a"])
