"""Random jobs are as section 7 of the paper describes them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.reproduction.random_jobs import ATTRIBUTES, LARGEST_CHANGE, ROWS, random_job
from penstock.topology.fusion import PlainJob

seeds = st.integers(0, 10_000)


def levels(job: PlainJob) -> list[list[str]]:
    """The operators level by level, found from the edges alone."""
    found = [[name for name in job.operators if not any(j == name for _, j in job.rates)]]
    while following := list(dict.fromkeys(j for i, j in job.rates if i in found[-1])):
        found.append(following)
    return found


@given(operators=st.integers(4, 40), seed=seeds)
def test_every_operator_sends_to_the_whole_next_level_and_no_other(
    operators: int, seed: int
) -> None:
    job = random_job(operators, np.random.default_rng(seed))
    found = levels(job)
    assert 3 <= len(found) <= floor(0.75 * operators)
    assert [name for level in found for name in level] == list(job.operators)
    assert len(job.operators) == operators
    assert max(map(len, found)) - min(map(len, found)) <= 1
    between = [(i, j) for above, below in pairwise(found) for i in above for j in below]
    assert list(job.rates) == between


def test_all_numbers_of_levels_are_drawn() -> None:
    found = {len(levels(random_job(8, np.random.default_rng(seed)))) for seed in range(100)}
    assert found == {3, 4, 5, 6}


@given(operators=st.integers(4, 40), seed=seeds, change=st.integers(0, 29))
def test_subsets_begin_with_half_and_drift(operators: int, seed: int, change: int) -> None:
    job = random_job(operators, np.random.default_rng(seed), change)
    subsets = list(job.partition_attributes.values())
    assert len(subsets[0]) == ATTRIBUTES / 2 == 15
    assert all(len(subset) > 0 and subset <= set(range(ATTRIBUTES)) for subset in subsets)
    assert all(abs(len(one) - len(other)) <= change for one, other in pairwise(subsets))


def sizes(jobs: int) -> Iterator[list[int]]:
    for seed in range(jobs):
        job = random_job(30, np.random.default_rng(seed))
        yield [len(subset) for subset in job.partition_attributes.values()]


def test_sizes_change_either_way_by_any_value() -> None:
    second = [each[1] - 15 for each in sizes(300)]
    assert set(second) == set(range(-LARGEST_CHANGE, LARGEST_CHANGE + 1))
    assert {len({*each}) > 5 for each in sizes(50)} == {True}


def test_every_attribute_is_as_likely() -> None:
    drawn = [random_job(4, np.random.default_rng(seed)) for seed in range(400)]
    held = [
        sum(each in job.partition_attributes["operator 1"] for job in drawn) for each in range(30)
    ]
    assert np.mean(held) == 200
    assert np.std(held) < 25  # 10 for a coin


@given(seed=seeds)
def test_rows_are_a_part_of_what_is_left(seed: int) -> None:
    job = random_job(12, np.random.default_rng(seed))
    for name in job.operators:
        left = ROWS
        for rows in (rate for (i, _), rate in job.rates.items() if i == name):
            assert 0 <= rows <= left
            left -= rows


def test_first_readers_have_a_quarter_of_the_rows_and_next_ones_of_the_rest() -> None:
    sent: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for seed in range(300):
        job = random_job(12, np.random.default_rng(seed))
        for name in levels(job)[0]:
            rates = [rate for (i, _), rate in job.rates.items() if i == name]
            for place, rate in enumerate(rates[:3]):
                sent[place].append(rate / ROWS)
    means = [float(np.mean(each)) for each in sent.values()]
    assert means == pytest.approx([1 / 4, 3 / 16, 9 / 64], abs=0.03)


def test_a_seed_is_a_job() -> None:
    one, again, other = (random_job(20, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (one, list(one.rates)) == (again, list(again.rates))
    assert one != other
