"""Whole numbers out of a checkpoint, which need not be one that Penstock wrote."""

from __future__ import annotations


def in_64_bits(number: int) -> int:
    """Return a number that Spark and clocks can hold; a larger one is a ValueError.

    JSON has numbers of any length, with which counting would never end.

    >>> in_64_bits(7), in_64_bits(-(2**63))
    (7, -9223372036854775808)
    """
    if not -(2**63) <= number < 2**63:
        raise ValueError("a number does not fit in 64 bits")
    return number
