from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.sources.draws import splitmix64, uniform

# The outputs of the reference generator, started from 1234567.
REFERENCE = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]


def test_splitmix64_is_the_reference_generator() -> None:
    assert splitmix64(np.arange(5, dtype=np.uint64), seed=1234567).tolist() == REFERENCE


@given(first=st.integers(0, 2**40), seed=st.integers(-(2**70), 2**70), stream=st.integers(0, 5))
def test_a_draw_depends_on_the_row_alone_and_not_on_its_neighbours(
    first: int, seed: int, stream: int
) -> None:
    rows = np.arange(first, first + 50, dtype=np.int64)
    together = uniform(rows, seed, stream)
    alone = [uniform(rows[i : i + 1], seed, stream)[0] for i in range(50)]
    assert together.tolist() == alone
    assert together.min() >= 0
    assert together.max() < 1


def test_draws_are_even_over_the_unit_interval() -> None:
    counts = np.histogram(uniform(np.arange(100_000), 1, 0), bins=100, range=(0, 1))[0]
    chi_square = ((counts - 1_000) ** 2 / 1_000).sum()
    # 99 degrees of freedom: 61 and 149 leave out one in a thousand on either side.
    assert 61 < chi_square < 149


def test_streams_and_seeds_are_not_correlated() -> None:
    rows = np.arange(100_000)
    base = uniform(rows, seed=1, stream=0)
    for other in (uniform(rows, 1, 1), uniform(rows, 1, 2), uniform(rows, 2, 0)):
        # The correlation of independent draws has a standard deviation of 1 / sqrt(100,000).
        assert abs(np.corrcoef(base, other)[0, 1]) < 4 / np.sqrt(100_000)
    assert abs(np.corrcoef(base[:-1], base[1:])[0, 1]) < 4 / np.sqrt(100_000)
