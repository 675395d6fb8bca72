"""One metric: its name, what it means and which labels it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram", "info"]
Together = Literal["sum", "max"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as Prometheus knows it.

    ``labels`` are in the order in which their values are given. ``together`` is what becomes of the
    values of a gauge that share the label value "other".
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] = ()
    together: Together = "sum"


def counter(name: str, help: str, *labels: str) -> Metric:
    """Describe a number that only grows."""
    return Metric(name, "counter", help, ("query", *labels))


def gauge(name: str, help: str, *labels: str, together: Together = "sum") -> Metric:
    """Describe a number that goes up and down."""
    return Metric(name, "gauge", help, ("query", *labels), together=together)


def histogram(name: str, help: str, buckets: tuple[float, ...]) -> Metric:
    """Describe how many times, or rows, lay below each of some limits."""
    return Metric(name, "histogram", help, ("query",), buckets)
