from __future__ import annotations

import base64
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from penstock.placement.matrix_text import matrix_from_text, matrix_text

numbers = st.floats(0, allow_infinity=False, allow_nan=False)


@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=numbers))
def test_every_digit_comes_back(matrix: np.ndarray) -> None:
    assert (matrix_from_text(matrix_text(matrix), matrix.shape) == matrix).all()


def test_the_text_stays_as_it_is() -> None:
    """Written once and read by later versions."""
    raw = np.array([[1.0, 2.0]], "<f8").tobytes()
    assert zlib.decompress(base64.b64decode(matrix_text(np.array([[1.0, 2.0]])))) == raw


@pytest.mark.parametrize("number", [-1.0, np.nan, np.inf])
def test_numbers_that_no_sketch_has_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="negative or not finite"):
        matrix_from_text(matrix_text(np.array([[1.0, number]])), (1, 2))


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 3)])
def test_another_shape_is_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="does not hold"):
        matrix_from_text(matrix_text(np.array([[1.0, 2.0]])), shape)


def test_a_text_that_would_unfold_to_much_is_not_unfolded() -> None:
    text = matrix_text(np.zeros((1000, 10_000)))  # 80 MB of zeros
    tracemalloc.start()
    with pytest.raises(ValueError, match="does not hold"):
        matrix_from_text(text, (4, 55))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
