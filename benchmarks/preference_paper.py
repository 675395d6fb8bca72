"""What Elastic-PPQ prints of its streams and of its runs on them (Tables 3, 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A row of Table 4 or 5: threads of both stages, split factor, extra time, variation."""

    pane_threads: float
    window_threads: float
    parts_per_pane: float
    extra_percent: float
    variation: float


@dataclass(frozen=True)
class Published:
    """A stream: its rate in rows a second, and what the paper measured on it."""

    rate: float
    skyline: Measured
    top_dominant: Measured


PUBLISHED = {
    "RW": Published(
        11_816, Measured(1.77, 12.6, 1.48, 0.40, 1.60), Measured(2.61, 17.0, 2.08, 0.44, 1.43)
    ),
    "MAP-1K": Published(
        30_331, Measured(4.28, 41.0, 3.37, 1.39, 0.82), Measured(5.43, 49.5, 4.31, 1.92, 0.96)
    ),
    "MAP-2K": Published(
        29_659, Measured(4.16, 38.8, 3.63, 1.77, 0.95), Measured(5.26, 46.28, 4.53, 2.14, 1.24)
    ),
    "MAP-3K": Published(
        28_873, Measured(4.30, 37.2, 3.54, 2.37, 1.29), Measured(5.65, 45.3, 4.81, 2.68, 1.58)
    ),
    "MAP-4K": Published(
        30_189, Measured(6.01, 36.8, 4.86, 2.64, 1.85), Measured(6.95, 43.06, 5.13, 3.06, 1.99)
    ),
    "SS-0.6": Published(
        25_582, Measured(3.05, 31.5, 2.99, 1.02, 0.86), Measured(3.71, 38.6, 3.41, 1.32, 0.97)
    ),
    "SS-0.7": Published(
        26_552, Measured(3.47, 34.7, 3.24, 1.11, 1.17), Measured(3.83, 41.8, 3.27, 1.87, 1.34)
    ),
    "SS-0.8": Published(
        26_028, Measured(3.50, 30.9, 3.05, 2.19, 2.30), Measured(4.01, 37.9, 3.68, 2.74, 2.97)
    ),
    "Game1": Published(
        16_923, Measured(3.82, 15.65, 2.74, 1.21, 0.86), Measured(4.11, 27.7, 2.98, 1.45, 0.96)
    ),
    "Game2": Published(
        19_272, Measured(2.30, 25.3, 2.06, 1.76, 1.15), Measured(2.81, 33.5, 2.32, 2.27, 1.23)
    ),
    "Game3": Published(
        17_470, Measured(1.98, 21.0, 1.89, 0.23, 0.78), Measured(2.59, 31.7, 2.09, 0.57, 0.93)
    ),
}
