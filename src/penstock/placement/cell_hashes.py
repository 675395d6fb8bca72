"""The hash functions of a sketch: in which column of each row a key is counted.

Row i puts the key x, read as a signed number, into column ((a_i x + b_i) mod p) mod c, where p is
the prime 2**61 - 1. Over all a_i and b_i that is 2-universal (Carter and Wegman), which is what
the error bounds of a Count-Min sketch ask for. The a_i and b_i come from the seed alone, so all
sketches of one seed agree on them wherever they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Cells = NDArray[np.intp]
Kernel = Callable[[Keys, Keys, Keys, np.uint64, Cells], None]

PRIME = (1 << 61) - 1
# So many keys at a time that all arrays on the way to their cells stay in the processor's cache.
BLOCK_KEYS = 8192
# Below that, NumPy is done before Numba is even imported.
COMPILED_FROM_KEYS = 200_000

# All of one type: Numba makes floating-point numbers of a signed and an unsigned integer.
_P = np.uint64(PRIME)
_NEGATIVE = np.uint64(PRIME - 8)
_ONE, _30, _31, _61, _63 = (np.uint64(bits) for bits in (1, 30, 31, 61, 63))
_LOW_30, _LOW_31 = np.uint64((1 << 30) - 1), np.uint64((1 << 31) - 1)


@dataclass(frozen=True, slots=True)
class CellHashes:
    """The hash functions of a sketch of so many rows and columns.

    >>> CellHashes(rows=4, columns=55, seed=0).cells(np.array([7, 8, 7], np.uint64)).tolist()
    [[45, 13, 45], [17, 30, 17], [43, 49, 43], [13, 38, 13]]
    """

    rows: int
    columns: int
    seed: int

    def cells(self, keys: Keys) -> Cells:
        """Return the column of every key in each row: an array of ``rows`` x ``len(keys)``."""
        cells = np.empty((self.rows, len(keys)), np.intp)
        for part, of_part in self.blocks(keys):
            cells[:, part] = of_part
        return cells

    def cells_of(self, key: int) -> tuple[int, ...]:
        """Return the column of a single key in each row, faster than an array of one.

        >>> CellHashes(rows=4, columns=55, seed=0).cells_of(7)
        (45, 17, 43, 13)
        """
        signed = key - (1 << 64) if key >> 63 else key
        factors = _factor_pairs(self.seed, self.rows)
        return tuple((a * signed + b) % PRIME % self.columns for a, b in factors)

    def blocks(self, keys: Keys) -> Iterator[tuple[slice, Cells]]:
        """Give the cells of a few thousand keys after the other, with the slice these keys are.

        The array of cells is used again for the next slice.
        """
        kernel = _compiled() if len(keys) >= COMPILED_FROM_KEYS else None
        fill = kernel or _fill_by_numpy
        multipliers, offsets = _factors(self.seed, self.rows)
        cells = np.empty((self.rows, min(BLOCK_KEYS, len(keys))), np.intp)
        for start in range(0, len(keys), BLOCK_KEYS):
            # A copy: Numba would compile once more for keys that are read-only or not contiguous.
            block = np.array(keys[start : start + BLOCK_KEYS])
            found = cells[:, : len(block)]
            fill(block, multipliers, offsets, np.uint64(self.columns), found)
            yield slice(start, start + len(block)), found


@cache
def _factor_pairs(seed: int, rows: int) -> tuple[tuple[int, int], ...]:
    """Return the a and b of each row."""

    def drawn(letter: str, row: int, below: int) -> int:
        # Of 256 bits the remainder is as good as uniform.
        digest = hashlib.blake2b(f"{letter} {row} {seed}".encode(), digest_size=32).digest()
        return int.from_bytes(digest, "little") % below

    return tuple((1 + drawn("a", row, PRIME - 1), drawn("b", row, PRIME)) for row in range(rows))


@cache
def _factors(seed: int, rows: int) -> tuple[Keys, Keys]:
    """Return the a of all rows, and the b."""
    pairs = np.array(_factor_pairs(seed, rows), np.uint64)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


# The next two functions are written once for arrays, where NumPy runs them, and for single numbers,
# where Numba compiles them: Any is NDArray[np.uint64] or np.uint64.


def _reduced(key: Any) -> Any:
    """Return the key, read as a signed number, modulo the prime.

    Read as unsigned, small negative numbers would always share the cells of small positive ones.
    """
    folded = (key & _P) + (key >> _61) + _NEGATIVE * (key >> _63)
    return (folded + ((folded + _ONE) >> _61)) & _P


def _cell(number: Any, a: Any, b: Any, columns: Any) -> Any:
    """Return ((a x number + b) mod p) mod columns without ever leaving 64 bits.

    The factors are split in halves of 31 and 30 bits; 2**61 is 1 modulo p.
    """
    high, low = number >> _31, number & _LOW_31
    a_high, a_low = a >> _31, a & _LOW_31
    middle = a_high * low + a_low * high
    middle = (middle >> _30) + ((middle & _LOW_30) << _31)
    folded = ((a_high * high) << _ONE) + middle + a_low * low + b
    folded = (folded & _P) + (folded >> _61)
    residue = (folded + ((folded + _ONE) >> _61)) & _P
    # NumPy divides by a scalar several times faster than it takes a remainder.
    return residue - (residue // columns) * columns


def _fill_by_numpy(keys: Keys, a: Keys, b: Keys, columns: np.uint64, cells: Cells) -> None:
    numbers = _reduced(keys)
    for row in range(len(a)):
        cells[row] = _cell(numbers, a[row], b[row], columns)


def _fill_one_by_one(keys: Keys, a: Keys, b: Keys, columns: np.uint64, cells: Cells) -> None:
    for row in range(len(a)):
        for number in range(len(keys)):
            cells[row, number] = _cell(_reduced(keys[number]), a[row], b[row], columns)


@cache
def _compiled() -> Kernel | None:
    """Compile ``_fill_one_by_one``, or return None where Numba can't be imported."""
    try:
        from numba import njit
        from numba.extending import register_jitable
    except ImportError:
        return None
    register_jitable(_reduced)
    register_jitable(_cell)
    signature = "void(uint64[::1], uint64[::1], uint64[::1], uint64, intp[:, :])"
    try:
        kernel: Kernel = njit(signature, cache=True)(_fill_one_by_one)
    except (RuntimeError, OSError):  # in a zip, or no directory to write compiled code to
        kernel = njit(signature)(_fill_one_by_one)
    return kernel
