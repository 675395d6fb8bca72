"""Spark's types by their names, sorted by how they can be added up."""

from __future__ import annotations

import re

SMALL_WHOLE = ("tinyint", "smallint", "int")
WHOLE = (*SMALL_WHOLE, "bigint")
FLOATING = ("float", "double")
# Spark reads text as a double where a number is wanted.
ADDED_AS_DOUBLE = (*FLOATING, "string")
MAX_DIGITS = 38
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def decimal_digits(type_name: str) -> tuple[int, int] | None:
    """Return the digits of a decimal type, all and after the point; None for any other type.

    >>> decimal_digits("decimal(10,2)"), decimal_digits("int")
    ((10, 2), None)
    """
    match = _DECIMAL.fullmatch(type_name)
    return (int(match.group(1)), int(match.group(2))) if match else None


def is_interval(type_name: str) -> bool:
    """Say whether a type is a length of time that Spark can add up."""
    return type_name.startswith("interval ")


def is_number(type_name: str) -> bool:
    """Say whether Spark computes with a type as a number."""
    return type_name in (*WHOLE, *ADDED_AS_DOUBLE) or decimal_digits(type_name) is not None
