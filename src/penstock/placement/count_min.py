"""How much of each key there was, in a few kilobytes whatever the number of keys: Count-Min."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.arguments import checked, shown
from penstock.errors import ArgumentError, ConfigurationError
from penstock.placement.cell_hashes import CellHashes, Cells, Keys
from penstock.placement.matrix_text import matrix_from_text, matrix_text

Amounts = NDArray[np.float64]


class CountMinSketch:
    """Estimates how often each key came, or the sum of its amounts (Cormode and Muthukrishnan).

    An estimate is never below the truth f. Of a stream that sums to m it is above f by more than
    ``epsilon`` (m - f) with a probability of at most ``delta``. There are ceil(log2(1 / delta))
    rows of ceil(e / epsilon) columns. Sketches of the same sizes and seed can be merged.

    >>> sketch = CountMinSketch(epsilon=0.05, delta=0.1)
    >>> sketch.rows, sketch.columns
    (4, 55)
    >>> sketch.update(np.array([3, 3, 4], np.uint64))
    >>> sketch.estimate(np.array([3, 4, 5], np.uint64)).tolist()
    [2.0, 1.0, 0.0]
    """

    __slots__ = ("counts", "delta", "epsilon", "hashes")

    @checked
    def __init__(self, epsilon: float = 0.05, delta: float = 0.1, seed: int = 0) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.hashes = CellHashes(*sketch_sizes(epsilon, delta), seed)
        self.counts: Amounts = np.zeros((self.rows, self.columns))

    @property
    def rows(self) -> int:
        """The number of hash functions."""
        return self.hashes.rows

    @property
    def columns(self) -> int:
        """The number of cells of each hash function."""
        return self.hashes.columns

    @property
    def seed(self) -> int:
        """What the hash functions are drawn from."""
        return self.hashes.seed

    @property
    def total(self) -> float:
        """The sum of all amounts."""
        return float(self.counts[0].sum())

    def cells(self, keys: Keys) -> Cells:
        """Return the column of every key in each row: an array of ``rows`` x ``len(keys)``."""
        return self.hashes.cells(checked_keys(keys))

    def update(self, keys: Keys, amounts: Amounts | None = None) -> None:
        """Add to every key its amount, or 1."""
        keys = checked_keys(keys)
        if amounts is not None:
            amounts = checked_amounts(amounts, len(keys))
        for part, cells in self.hashes.blocks(keys):
            self.add(cells, None if amounts is None else amounts[part])

    def add(self, cells: Cells, amounts: Amounts | None) -> None:
        """Add amounts to keys whose cells are known already."""
        check_cells(cells, self.rows)
        if amounts is not None:
            amounts = checked_amounts(amounts, cells.shape[1])
        for row, columns in enumerate(cells):
            self.counts[row] += np.bincount(columns, amounts, self.columns)

    def estimate(self, keys: Keys) -> Amounts:
        """Return for every key the smallest of its cells."""
        keys = checked_keys(keys)
        smallest = np.empty(len(keys))
        for part, cells in self.hashes.blocks(keys):
            found = [row[columns] for row, columns in zip(self.counts, cells, strict=True)]
            smallest[part] = np.minimum.reduce(found)
        return smallest

    @checked
    def merge(self, other: CountMinSketch) -> None:
        """Add all that ``other`` has seen."""
        if other.hashes != self.hashes:
            raise ConfigurationError(
                f"a sketch of {other.hashes} can't be merged into one of {self.hashes}. "
                "Make both with the same epsilon, delta and seed."
            )
        self.counts += other.counts

    def copy(self) -> CountMinSketch:
        """Return a sketch of its own that has seen the same."""
        return self.scaled(1.0)

    @checked
    def scaled(self, factor: float) -> CountMinSketch:
        """Return a sketch with all amounts multiplied, for example to forget the past slowly."""
        if not (math.isfinite(factor) and factor >= 0):
            raise ConfigurationError(
                f"a sketch can't be scaled by {factor}. Give a finite factor of 0 or more."
            )
        other = CountMinSketch(self.epsilon, self.delta, self.seed)
        other.counts = self.counts * factor
        return other

    def to_json(self) -> dict[str, Any]:
        """Return everything as values that JSON knows; amounts keep all their digits."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "seed": self.seed,
            "counts": matrix_text(self.counts),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> CountMinSketch:
        """Read what ``to_json`` gave; ValueError, KeyError or TypeError for anything else."""
        epsilon, delta, seed = settings_from_json(document)
        sketch = cls(epsilon, delta, seed)
        sketch.counts = matrix_from_text(document["counts"], sketch.counts.shape)
        return sketch


def sketch_sizes(epsilon: float, delta: float) -> tuple[int, int]:
    """Return how many rows and columns keep an error of epsilon but for a probability of delta.

    >>> sketch_sizes(0.05, 0.1)
    (4, 55)
    """
    if not 1e-6 <= epsilon <= 1:
        raise ConfigurationError(
            f"a sketch can't have epsilon={epsilon}. Give the error that is allowed, as a share of "
            "the whole, from 0.000001 to 1; 0.05 is a good start."
        )
    if not 1e-6 <= delta < 1:
        raise ConfigurationError(
            f"a sketch can't have delta={delta}. Give the probability that an estimate may miss "
            "epsilon, from 0.000001 to less than 1; 0.1 is a good start."
        )
    return math.ceil(math.log2(1 / delta)), math.ceil(math.e / epsilon)


def settings_from_json(document: Mapping[str, Any]) -> tuple[float, float, int]:
    """Return epsilon, delta and seed of a sketch that was written to JSON."""
    if not isinstance(document, Mapping):
        raise TypeError(f"a sketch is {shown(document)}")
    epsilon, delta, seed = document["epsilon"], document["delta"], document["seed"]
    if type(seed) is not int or not {type(epsilon), type(delta)} <= {int, float}:
        raise TypeError("epsilon and delta of a sketch are numbers, its seed is a whole number")
    try:
        sketch_sizes(epsilon, delta)
    except ConfigurationError as error:
        raise ValueError(str(error)) from error
    return epsilon, delta, seed


def checked_keys(keys: Keys) -> Keys:
    """Return the keys as unsigned 64-bit numbers in one dimension; ValueError for other things."""
    array = np.asarray(keys)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise ArgumentError(
            f"the keys of a sketch are one row of integers, not {array.dtype} of {array.ndim} "
            "dimensions. Make numbers of them with key_hashes()."
        )
    return array.astype(np.uint64, copy=False)


def check_cells(cells: Cells, rows: int) -> None:
    """Refuse what ``cells`` of a sketch with so many rows can't have returned."""
    is_fine = isinstance(cells, np.ndarray) and cells.dtype.kind in "iu" and cells.ndim == 2
    if not is_fine or len(cells) != rows:
        raise ArgumentError(f"{shown(cells)} are no cells. Give what cells(keys) returned.")


def checked_amounts(amounts: Amounts, rows: int) -> Amounts:
    """Return the amounts as floating-point numbers; ValueError unless finite and 0 or more."""
    try:
        array = np.asarray(amounts, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{shown(amounts)} are no amounts. Give numbers, 0 or more.") from None
    if array.shape != (rows,):
        raise ArgumentError(f"{rows} keys need as many amounts, not {array.shape}.")
    if rows and not (array.min() >= 0 and math.isfinite(array.max())):
        raise ArgumentError("what is added to a sketch must be finite and 0 or more.")
    return array
