"""Turns a function into machine code, once for all processes where that can be kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function with Numba, when it is first called.

    >>> compiled(lambda number: number + 1)(1)
    2
    """
    try:
        return cast(Function, njit(cache=True)(function))
    except (RuntimeError, OSError):  # in a zip, or no directory to write compiled code to
        return cast(Function, njit(function))


def inlined(function: Function) -> Function:
    """Compile a function into those that call it: passing an array costs more than most tests.

    >>> add_one = inlined(lambda number: number + 1)
    >>> compiled(lambda number: add_one(number))(1)
    2
    """
    return cast(Function, njit(function, inline="always"))
