"""Checks of what users write as settings of policies and guard rails."""

from __future__ import annotations

from math import inf

from penstock.arguments import is_finite, shown
from penstock.errors import ConfigurationError
from penstock.windows.durations import Duration, seconds


def whole(owner: str, name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """Return a whole number, ``least`` or more, and ``most`` at most where that is said.

    >>> whole("Incremental", "step", 0)
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: Incremental(step=0) can't work. Write a whole number, \
1 or more.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigurationError(
            f"{owner}({name}={shown(value)}) can't work. Write a whole number, {least} or more."
        )
    if most is not None and value > most:
        raise ConfigurationError(
            f"{owner}({name}={shown(value)}) would take too long. Write {most:,} at most."
        )
    return value


def number(
    owner: str, name: str, value: object, *, above: float, up_to: float = inf, below: float = inf
) -> float:
    """Return a number above one limit and, where said, up to or below another.

    >>> number("AutoScalePlus", "beta", 1.5, above=0, up_to=1)
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: AutoScalePlus(beta=1.5) can't work. Write a number above \
0, up to 1.
    """
    if not is_finite(value) or not above < value <= up_to or not value < below:  # type: ignore[operator]
        limits = [f"above {above:g}"]
        limits += [f"up to {up_to:g}"] if up_to < inf else []
        limits += [f"below {below:g}"] if below < inf else []
        raise ConfigurationError(
            f"{owner}({name}={shown(value)}) can't work. Write a number {', '.join(limits)}."
        )
    return float(value)  # type: ignore[arg-type]


def length(owner: str, name: str, value: Duration, *, positive: bool = False) -> float:
    """Return a length of time in seconds.

    >>> length("AutoScalePlus", "horizon", "30 seconds")
    30.0
    """
    try:
        result = seconds(value)
    except ConfigurationError as error:
        raise ConfigurationError(f"{owner}({name}={shown(value)}): {error}") from None
    if positive and result <= 0:
        raise ConfigurationError(
            f"{owner}({name}={shown(value)}) can't work. Write a length of time such as "
            "'10 seconds'."
        )
    return result


def one_of(owner: str, name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return one of a few words.

    >>> one_of("AutoScalePlus", "combine", "mean", ("max", "min"))
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: AutoScalePlus(combine='mean') can't work. Write 'max' or \
'min'.
    """
    if not isinstance(value, str) or value not in choices:
        written = " or ".join(repr(choice) for choice in choices)
        raise ConfigurationError(f"{owner}({name}={shown(value)}) can't work. Write {written}.")
    return str(value)
