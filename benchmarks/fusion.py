"""Fused operators beside unfused ones, split windows beside combined ones, and what changes cost.

Three parts, after Enorm's sections 7.2 to 7.7, each with its ways interleaved in one run:

- ``fast``: four keyed operators in a row, each keeping count and sum of its own window (1, 5, 10
  and 20 minutes) and sending rows on at once, with none, two, three and four in one component.
- ``grid``: windows by key, split and combined, over keys, rows, overlaps and panes of a batch; the
  cost model chooses from what it sees while split, and is right where its choice is not slower by
  more than 5 %. What the optimiser adopts has to be cheaper by a margin, too.
- ``migration``: the pause before a batch whose plan changes, by strategy and keys of a group.

    python benchmarks/fusion.py                       # all three, as tables
    python benchmarks/fusion.py --only fast --json
"""

from __future__ import annotations

import argparse
import json
import statistics
from typing import Any

import fusion_fast
import fusion_grid
import fusion_migration
from measuring import session, show

PARTS = {
    "fast": ("The fast job", fusion_fast.measure),
    "grid": ("Split and combined windows", fusion_grid.measure),
    "migration": ("Changes of plan", fusion_migration.measure),
}


def summary(part: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Say in one number what a part is about."""
    if part == "fast":
        return {"four_fused_times_faster": rows[-1]["times_faster"]}
    if part == "grid":
        return {
            "right_within_5_percent": statistics.fmean(row["is_right"] for row in rows),
            "right_strictly": statistics.fmean(row["is_faster"] for row in rows),
            "adopted_right_within_5_percent": statistics.fmean(
                row["is_adopted_right"] for row in rows
            ),
        }
    return {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(PARTS), help="one part instead of all")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller runs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    spark = session("local[4]")
    told: dict[str, Any] = {}
    try:
        for part in [options.only] if options.only else PARTS:
            title, measure = PARTS[part]
            rows = measure(spark, quick=options.quick)
            told[part] = {"results": rows, **summary(part, rows)}
            if not options.json:
                show(rows, title, as_json=False)
                for name, value in summary(part, rows).items():
                    print(f"{name.replace('_', ' ')}: {value:.3g}\n")
    finally:
        spark.stop()
    if options.json:
        print(json.dumps({"benchmark": "fusion", **told}, indent=1))


if __name__ == "__main__":
    main()
