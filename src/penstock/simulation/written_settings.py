"""Settings that a person wrote, in a file or on the command line, made into what they describe."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from math import inf, isfinite
from reprlib import repr as shortened
from typing import Any, TypeVar, get_type_hints

from penstock.errors import ConfigurationError

Made = TypeVar("Made")


def made_of(kind: type[Made], given: Mapping[str, object], where: str) -> Made:
    """Make a frozen dataclass of settings; every mistake in them is told with ``where`` it is.

    >>> from penstock.simulation.laws import Uniform
    >>> made_of(Uniform, {"low": "1/500", "high": 0.004}, "operator 'parse'")
    Uniform(low=0.002, high=0.004)
    """
    known = {each.name: each for each in fields(kind) if each.init}  # type: ignore[arg-type]
    check_names(given, known, where)
    missing = [
        name
        for name, each in known.items()
        if name not in given and each.default is MISSING and each.default_factory is MISSING
    ]
    if missing:
        example = ", ".join(f"{name}: ..." for name in missing)
        raise ConfigurationError(f"{where}: '{missing[0]}' is missing; write {{{example}}}")
    types = get_type_hints(kind)
    values: dict[str, Any] = {
        name: _value(value, types[name], f"{where}: {name}") for name, value in given.items()
    }
    try:
        return kind(**values)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from error


def check_names(given: Collection[object], known: Collection[str], where: str) -> None:
    """Refuse a name that nobody knows, and offer the nearest that somebody does.

    >>> check_names(["selectivty"], ["inputs", "selectivity"], "operator 'parse'")
    Traceback (most recent call last):
    ...
    penstock.errors.ConfigurationError: operator 'parse': there is no 'selectivty'. Did you mean \
'selectivity'? There are: inputs, selectivity.
    """
    for name in given:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            meant = f"Did you mean '{near[0]}'? " if near else ""
            listed = ", ".join(known)
            raise ConfigurationError(
                f"{where}: there is no '{name}'. {meant}There are: {listed or 'none'}."
            )


def number(value: object, where: str) -> float:
    """Read a number: 0.25, 1e-3 or 1/761.

    >>> number("1/4", "here"), number("2.5e-1", "here")
    (0.25, 0.25)
    """
    if not isinstance(value, bool) and isinstance(value, int | float | str):
        try:
            # YAML takes 1e-3 for a text, and 1/761 too.
            over, _, under = str(value).partition("/")
            found = float(over) / float(under or 1)
        except (ValueError, ZeroDivisionError, OverflowError):
            found = inf
        if isfinite(found):
            return found
    raise ConfigurationError(f"{where} is {shortened(value)}; write a number, such as 0.25 or 1/4")


def _value(value: object, wanted: object, where: str) -> object:
    if wanted is str:
        if isinstance(value, str):
            return value
        raise ConfigurationError(f"{where} is {shortened(value)}; write a text")
    found = number(value, where)
    if wanted is int:
        if found != int(found):
            raise ConfigurationError(f"{where} is {shortened(value)}; write a whole number")
        return int(found)
    return found
