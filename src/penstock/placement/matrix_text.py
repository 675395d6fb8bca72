"""A matrix of numbers as text that fits in JSON, and back without loss."""

from __future__ import annotations

import base64
import zlib

import numpy as np
from numpy.typing import NDArray

_ITEM = np.dtype("<f8")


def matrix_text(matrix: NDArray[np.float64]) -> str:
    """Write the numbers row by row: 64 bits each, the lowest byte first, compressed, in base64."""
    compressed = zlib.compress(matrix.astype(_ITEM).tobytes(), level=9)
    return base64.b64encode(compressed).decode("ascii")


def matrix_from_text(text: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Read what ``matrix_text`` wrote; ValueError or TypeError where it is anything else.

    >>> matrix_from_text(matrix_text(np.array([[1.0, 0.1]])), (1, 2)).tolist()
    [[1.0, 0.1]]
    """
    size = shape[0] * shape[1] * _ITEM.itemsize
    unpacking = zlib.decompressobj()
    try:
        # Never more than a matrix of this shape has, whatever the text would unfold to.
        data = unpacking.decompress(base64.b64decode(text, validate=True), size + 1)
    except zlib.error as error:
        raise ValueError(f"the text of a matrix is damaged: {error}") from error
    if len(data) != size or not unpacking.eof:
        raise ValueError(f"the text of a matrix does not hold {shape[0]} x {shape[1]} numbers")
    matrix = np.frombuffer(data, _ITEM).astype(np.float64).reshape(shape)
    if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
        raise ValueError("the text of a matrix holds numbers that are negative or not finite")
    return matrix
