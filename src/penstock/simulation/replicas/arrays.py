"""The arrays that the simulator's loops run over, and the codes in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Identities = NDArray[np.uint64]
Bytes = NDArray[np.int8]
Mask = NDArray[np.bool_]

BY_CHANCE, IN_TURN, LEAST_LOADED = 0, 1, 2
"""Groupings that don't look at the queues."""

SERVED, NO_ROOM, TOO_LATE, RESTARTED = 0, 1, 2, 3
"""What became of a row."""
