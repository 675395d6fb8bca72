"""How much of a core a thread can use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.capacity import ThreadCpu, operator_usable_cpu, usable_cpu

# Fig. 3 of AutoScale+: B and C use less than they reserved, A takes some of what they leave.
A, B, C = ThreadCpu(50, 30), ThreadCpu(20, 30), ThreadCpu(10, 20)


@pytest.mark.parametrize(
    ("thread", "others", "usable"),
    [
        (A, (B, C), (50 + (100 - 50 - 30 - 20) / 3) / 100),
        (B, (A, C), (30 + (100 - 20 - 50 - 20) / 3) / 100),
        (C, (A, B), (20 + (100 - 10 - 50 - 30) / 3) / 100),
    ],
)
def test_fig_3_of_autoscale(
    thread: ThreadCpu, others: tuple[ThreadCpu, ...], usable: float
) -> None:
    assert usable_cpu(thread.used, thread.reserved, others) == pytest.approx(usable)


def test_a_thread_alone_can_use_the_whole_core() -> None:
    assert usable_cpu(30, 20) == 1.0
    assert usable_cpu(10, 90) == 1.0


def test_what_nobody_claims_is_shared_equally() -> None:
    assert usable_cpu(20, 20, [ThreadCpu(20), ThreadCpu(0), ThreadCpu(0)]) == pytest.approx(0.35)


def test_others_are_left_what_they_reserved_even_if_they_use_less() -> None:
    assert usable_cpu(10, 10, [ThreadCpu(0, 80)]) == pytest.approx(0.15)
    assert usable_cpu(10, 10, [ThreadCpu(0, 0)]) == pytest.approx(0.55)


def test_an_operator_can_use_what_its_worst_placed_thread_can() -> None:
    threads = [(A, (B, C)), (C, (A, B)), (ThreadCpu(10, 10), ())]
    assert operator_usable_cpu(threads) == pytest.approx((20 + 10 / 3) / 100)
    assert operator_usable_cpu([]) == 1.0


per_cent = st.floats(0, 100)


@given(per_cent, per_cent, st.lists(st.builds(ThreadCpu, per_cent, per_cent), max_size=8))
def test_it_is_a_fraction_of_a_core(used: float, reserved: float, others: list[ThreadCpu]) -> None:
    assert 0.0 <= usable_cpu(used, reserved, others) <= 1.0
