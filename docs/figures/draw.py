"""Draws the figures of the concept pages into docs/images/concepts.

All of them, or those named: ``python docs/figures/draw.py forecasting windows``. Every number in a
figure comes from the code that it is about, run when the figure is drawn.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import batches
import deciding
import placing
import planning
import preferring
import simulating
import slots
import windowing

from drawing import Drawing

IMAGES = Path(__file__).resolve().parent.parent / "images" / "concepts"
FIGURES: dict[str, Callable[[], Drawing]] = {
    name: figure
    for module in (
        batches,
        placing,
        windowing,
        preferring,
        deciding,
        slots,
        simulating,
        planning,
    )
    for name, figure in module.FIGURES.items()
}


def main() -> None:
    """Draw what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="name", help="a concept page; all unless said")
    parser.add_argument("--to", type=Path, default=IMAGES, help="the folder to draw into")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(FIGURES))
    if unknown:
        parser.error(f"no figure is called {', '.join(unknown)}. There are: {', '.join(FIGURES)}.")
    asked.to.mkdir(parents=True, exist_ok=True)
    for name in asked.names or FIGURES:
        drawn = FIGURES[name]().svg()
        (asked.to / f"{name}.svg").write_text(drawn, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
