"""``penstock reproduce``: the papers' experiments, run again beside what the papers report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table as Grid
from rich.text import Text

from penstock.reproduction.result import Beside, Reproduction, Table


def as_dict(found: Reproduction, files: Sequence[Path]) -> dict[str, Any]:
    """Lay out all that was found, for programs; the curves are in the files."""
    return {
        "paper": found.paper,
        "title": found.title,
        "tables": [
            {
                "name": table.name,
                "title": table.title,
                "rows": [_row_dict(row) for row in table.rows],
            }
            for table in found.tables
        ],
        "figures": [{"name": each.name, "title": each.title} for each in found.figures],
        "remarks": list(found.remarks),
        "files": [str(file) for file in files],
    }


def _row_dict(row: Beside) -> dict[str, Any]:
    # JSON has no NaN.
    numbers = {"here": row.here if isfinite(row.here) else None, "difference": row.difference}
    return {**asdict(row), **numbers}


def as_screen(found: Reproduction, files: Sequence[Path]) -> Group:
    """Lay out all that was found, for people."""
    parts: list[Any] = [Text(found.title, style="bold")]
    for table in found.tables:
        parts += [Text(f"\n{table.title}", style="bold"), *_table(table)]
    if found.remarks:
        parts.append(Text(""))
        parts += [_indented("*", remark) for remark in found.remarks]
    parts.append(Text(f"\n{_written(files)}"))
    return Group(*parts)


def _table(table: Table) -> list[Any]:
    """Lay out a table; sentences that say why stand below it, each once."""
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("")
    for name in ("paper", "here", "off by"):
        grid.add_column(name, justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    reasons = list(dict.fromkeys(row.why for row in table.rows if row.why))
    for row in table.rows:
        note = f"[{reasons.index(row.why) + 1}]" if row.why else ""
        grid.add_row(
            Text(row.what),
            Text(shown(row.paper, row.unit)),
            Text(shown(row.here, row.unit)),
            Text("" if row.difference is None else _percent(row.difference)),
            Text(note),
        )
    return [grid, *(_indented(f"[{n}]", why) for n, why in enumerate(reasons, start=1))]


def shown(value: float | None, unit: str = "") -> str:
    """Write a number as people do.

    >>> shown(0.5617), shown(2982840.0, "rows"), shown(None), shown(25.0, "%"), shown(240.0)
    ('0.5617', '2,982,840 rows', '-', '25 %', '240')
    """
    if value is None or not isfinite(value):
        return "-"
    number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{number} {unit}".rstrip()


def _percent(share: float) -> str:
    return "0.0 %" if abs(share) < 0.0005 else f"{100 * share:+.1f} %"


def _indented(mark: str, text: str) -> Grid:
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(Text(mark), Text(text))
    return grid


def _written(files: Sequence[Path]) -> str:
    pictures = sum(file.suffix == ".png" for file in files)
    folder = files[0].parent if files else Path()
    names = ", ".join(sorted({file.stem for file in files}))
    return f"Written to {folder}: {pictures} PNG, {len(files) - pictures} CSV ({names})"
