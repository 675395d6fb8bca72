"""The tuples that one operator works on: when they come, their keys, and how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Speeds:
    """From ``from_tuple`` on, tuples take as many times longer on each instance.

    >>> Speeds(from_tuple=75_000, multipliers=(0.9, 1.0, 1.1))
    Speeds(from_tuple=75000, multipliers=(0.9, 1.0, 1.1))
    """

    from_tuple: int
    multipliers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Tuples:
    """A stream: when each tuple is submitted, in order, its key, and its execution time.

    ``speeds`` are periods in which instances are slower or faster than these times, each until the
    next begins; before the first, and where there are none, all instances take just these times.

    >>> tuples = Tuples(np.arange(3.0), np.array([7, 8, 7]), np.array([10.0, 1.0, 10.0]))
    >>> len(tuples), tuples.mean_seconds
    (3, 7.0)
    """

    arrival_seconds: NDArray[np.float64]
    keys: NDArray[np.int64]
    seconds: NDArray[np.float64]
    speeds: tuple[Speeds, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrival_seconds", _numbers(self.arrival_seconds, "arrivals"))
        object.__setattr__(self, "seconds", _numbers(self.seconds, "execution times"))
        object.__setattr__(self, "keys", np.ascontiguousarray(self.keys))
        _check(self)

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def mean_seconds(self) -> float:
        """The mean execution time."""
        return float(self.seconds.mean()) if len(self) else 0.0


def evenly_spaced(
    keys: NDArray[np.int64],
    seconds: NDArray[np.float64],
    instances: int,
    provisioning: float = 1.0,
    speeds: Sequence[Speeds] = (),
) -> Tuples:
    """Return tuples that come at equal distances, as fast as ``instances`` can just manage.

    ``provisioning`` is what the instances could manage over what comes, 1.1 for a tenth to spare.

    >>> evenly_spaced(np.array([1, 2]), np.array([1.0, 3.0]), instances=2).arrival_seconds.tolist()
    [0.0, 1.0]
    """
    if instances < 1 or not 0 < provisioning < inf:
        raise ConfigurationError(
            f"{instances} instances with a provisioning of {provisioning} can't work. Give 1 or "
            "more, and a number above 0."
        )
    if not len(seconds):
        return Tuples(np.empty(0), keys, seconds, tuple(speeds))
    every = float(np.mean(seconds)) / instances * provisioning
    return Tuples(np.arange(len(keys), dtype=np.float64) * every, keys, seconds, tuple(speeds))


def _numbers(values: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    array = np.ascontiguousarray(values, np.float64)
    if array.ndim != 1 or not (np.isfinite(array).all() and (array >= 0).all()):
        raise ConfigurationError(f"the {what} of tuples are seconds of 0 or more, in one row")
    return array


def _check(tuples: Tuples) -> None:
    rows = len(tuples.seconds)
    if tuples.keys.shape != (rows,) or tuples.keys.dtype.kind not in "iu":
        raise ConfigurationError(f"{rows} tuples need as many whole numbers as keys")
    if len(tuples.arrival_seconds) != rows:
        raise ConfigurationError(
            f"{rows} tuples have {len(tuples.arrival_seconds)} arrivals. Give one for each."
        )
    if (np.diff(tuples.arrival_seconds) < 0).any():
        raise ConfigurationError("tuples come one after the other. Sort them by their arrival.")
    starts = [each.from_tuple for each in tuples.speeds]
    if starts != sorted(set(starts)):
        raise ConfigurationError(f"the speeds begin at the tuples {starts}. Give them in order.")
    if starts and starts[0] < 0:
        raise ConfigurationError(f"no speeds begin at tuple {starts[0]}. Number tuples from 0.")
    for each in tuples.speeds:
        if not all(np.isfinite(times) and times > 0 for times in each.multipliers):
            raise ConfigurationError(f"speeds of {each.multipliers} can't be. Give some above 0.")
