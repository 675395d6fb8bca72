from __future__ import annotations

import os
import signal

import pytest

from penstock.simulation.processes import in_processes


def where(number: int) -> tuple[int, int]:
    return number, os.getpid()


def inverse(number: int) -> float:
    return 1 / number


def is_deaf(number: int) -> bool:
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_one_process_is_this_one() -> None:
    assert list(in_processes(where, range(3), 1)) == [(n, os.getpid()) for n in range(3)]


def test_several_are_others_and_keep_the_order() -> None:
    numbers, processes = zip(*in_processes(where, range(8), 2), strict=True)
    assert numbers == tuple(range(8))
    assert os.getpid() not in processes


def test_they_leave_ctrl_c_to_whoever_started_them() -> None:
    assert list(in_processes(is_deaf, [1], 2)) == [True]
    assert not is_deaf(1)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_is_told(processes: int) -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_processes(inverse, [1, 0, 2], processes))
