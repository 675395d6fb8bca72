"""What a worker does to be ready: it loads what every Python step needs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

_NEEDED = ("pyarrow", "penstock.engine.python_step")


def warm_task(batches: Iterator[Any]) -> Iterator[Any]:
    """Load what steps need, and hand the rows on."""
    for module in _NEEDED:
        import_module(module)
    yield from batches
