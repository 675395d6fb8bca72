"""Curves, before anybody has decided how to draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """Curves over one axis; ``series`` is by name. It becomes one PNG and one CSV file.

    ``bands`` are (low, high) around the curve of the same name. ``logarithmic`` is for the y axis.
    Points that are not ``joined`` are drawn without a line.
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
