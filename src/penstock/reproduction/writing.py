"""A reproduction on disk: every figure as a picture and as numbers, every table as numbers."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path
from tempfile import TemporaryFile
from textwrap import fill
from typing import TYPE_CHECKING

from penstock.errors import ConfigurationError
from penstock.reproduction.result import Figure, Reproduction, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES = (7.0, 4.0)
_DOTS_PER_INCH = 120
_MOST_MARKED = 40  # points closer than that hide the line they are on
_LETTERS = 32  # longer names are wrapped, or the legend would be wider than the figure


def write_reproduction(found: Reproduction, folder: Path) -> tuple[Path, ...]:
    """Write all figures and tables into a folder, made where it is missing; return the files.

    A figure becomes NAME.png and NAME.csv, a table NAME.csv, or NAME_table.csv beside a figure of
    the same name. Files of these names are replaced.
    """
    _check_names(found)
    make_folder(folder)
    written: list[Path] = []
    drawn = {figure.name for figure in found.figures}
    for table in found.tables:
        name = f"{table.name}_table" if table.name in drawn else table.name
        written.append(_write_table(table, folder / f"{name}.csv"))
    for figure in found.figures:
        written += [_write_numbers(figure, folder), _write_picture(figure, folder)]
    return tuple(written)


def make_folder(folder: Path, option: str = "--out") -> None:
    """Make a folder, so that one that can't be written to is told before anything long begins."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigurationError(
            f"{folder} can't be written to: {error.strerror}. Name another folder with {option}."
        ) from error


def _check_names(found: Reproduction) -> None:
    for names in ([each.name for each in found.tables], [each.name for each in found.figures]):
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"two results of {found.paper} are called {min(twice)!r}")


def _write_table(table: Table, path: Path) -> Path:
    header = ("what", "paper", "here", "unit", "difference", "why")
    rows = (
        (row.what, _text(row.paper), _text(row.here), row.unit, _text(row.difference), row.why)
        for row in table.rows
    )
    return _write_csv(path, header, rows)


def _write_numbers(figure: Figure, folder: Path) -> Path:
    header, columns = [figure.x_label], [figure.x]
    for name, curve in figure.series.items():
        header.append(name)
        columns.append(curve)
        if name in figure.bands:
            header += [f"{name}, low", f"{name}, high"]
            columns += figure.bands[name]
    rows = ([_text(value) for value in row] for row in zip(*columns, strict=True))
    return _write_csv(folder / f"{figure.name}.csv", header, rows)


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return path


def _text(value: float | None) -> str:
    """Write a number so that it reads back as the same; nothing where there is none."""
    return "" if value is None or not isfinite(value) else repr(float(value))


def _write_picture(figure: Figure, folder: Path) -> Path:
    # A figure of its own, never pyplot's: nothing global is left behind, and no screen is needed.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    sheet = Sheet(figsize=_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(sheet)
    _draw(figure, sheet.add_subplot())
    path = folder / f"{figure.name}.png"
    # The version that drew it would make the same figure another file.
    sheet.savefig(path, metadata={"Software": None})
    return path


def _draw(figure: Figure, axes: Axes) -> None:
    style, size = ("-", 3) if figure.joined else ("none", 5)
    for name, curve in figure.series.items():
        (line,) = axes.plot(
            figure.x,
            curve,
            label=fill(name, _LETTERS),
            linestyle=style,
            linewidth=1.5,
            marker="o",
            markersize=size,
            markevery=marked(figure, curve),
        )
        if name in figure.bands:
            low, high = figure.bands[name]
            axes.fill_between(figure.x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set_title(figure.title, fontsize=10)
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if figure.logarithmic:
        axes.set_yscale("log")
    if len(figure.series) > 1:
        # Beside the curves: on them it hides what it explains.
        legend = axes.legend(
            *axes.get_legend_handles_labels(),
            frameon=False,
            fontsize=8,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
        )
        for text in legend.get_texts():
            text.set_parse_math(False)  # a name with $ in it is a name


def marked(figure: Figure, curve: Sequence[float]) -> list[int]:
    """Return the places of the values that get a dot: all of few, else those without a line.

    >>> from math import nan
    >>> long = Figure("a", "", "", "", range(50), {})
    >>> marked(long, [1.0, 2.0, nan, 7.0, *[nan] * 46])
    [3]
    """
    if len(curve) <= _MOST_MARKED or not figure.joined:
        return list(range(len(curve)))
    there = [False, *(isfinite(value) for value in curve), False]
    return [at for at in range(len(curve)) if there[at : at + 3] == [False, True, False]]
