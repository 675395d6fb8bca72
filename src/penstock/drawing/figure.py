"""Curves, before anybody has decided how to draw them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo


@dataclass(frozen=True, slots=True)
class Figure:
    """Curves over one axis; ``series`` is by name. It becomes one drawing, or a PNG and a CSV file.

    ``bands`` are (low, high) around the curve of the same name. ``logarithmic`` is for the y axis.
    Points that are not ``joined`` are drawn without a line. Curves named in ``stepped`` hold their
    value until the next, those in ``barred`` are bars, those in ``dashed`` are dashed. Where there
    is a ``zone``, x is seconds since the epoch, told as the time of day there. Curves and bands are
    not drawn across ``gaps``, which are (from, until) of x.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    x: Sequence[float]
    series: Mapping[str, Sequence[float]]
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=dict)
    logarithmic: bool = False
    joined: bool = True
    stepped: Collection[str] = ()
    barred: Collection[str] = ()
    dashed: Collection[str] = ()
    zone: tzinfo | None = None
    gaps: Sequence[tuple[float, float]] = ()
