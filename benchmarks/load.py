"""How much load the demo's topology takes, and how cost grows with what there is of it.

``rate`` is the highest steady rate at which no backlog builds up, by doubling and halving. The
others are what a micro-batch costs, in seconds and in seconds of the processor, as one thing grows:
rows, keys, windows, operators, or slots for operators that wait. Sizes take turns; what is told is
the median of the rounds, and the slope of a line through both logarithms.

    python benchmarks/load.py                          # everything
    python benchmarks/load.py --only windows slots --json
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from load_cost import measure
from load_dimensions import DIMENSIONS
from load_rate import search
from measuring import session, show

RATE = "rate"
SLOTS = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=[RATE, *DIMENSIONS], help="some of them")
    parser.add_argument("--batches", type=int, default=8, help="micro-batches of one query")
    parser.add_argument("--rounds", type=int, default=3, help="queries at each size")
    parser.add_argument("--seconds", type=int, default=40, help="how long a rate is tried")
    parser.add_argument("--first-rate", type=float, default=200, help="the first rate to try")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    chosen = parser.parse_args()
    spark = session(f"local[{SLOTS}]")
    told: dict[str, list[dict[str, Any]]] = {}
    for name in chosen.only or [RATE, *DIMENSIONS]:
        if name == RATE:
            told[name] = search(spark, chosen.first_rate, chosen.seconds)
        else:
            told[name] = measure(spark, DIMENSIONS[name], chosen.batches, chosen.rounds)
        if not chosen.json:
            show(told[name], name, as_json=False)
    spark.stop()
    if chosen.json:
        print(json.dumps({"benchmark": "load", "results": told}, indent=1))


if __name__ == "__main__":
    main()
