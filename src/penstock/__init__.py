"""Elastic, data-aware stream processing for PySpark.

The public names are those of ``penstock.catalogue``. They are loaded when first used: Spark's
Python workers and ``penstock doctor`` import this package without needing all of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.version import __version__ as __version__

if TYPE_CHECKING:
    from penstock.catalogue import *  # noqa: F403


def __getattr__(name: str) -> Any:
    catalogue = import_module("penstock.catalogue")
    if name not in catalogue.__all__:
        raise AttributeError(f"module 'penstock' has no attribute '{name}'")
    return getattr(catalogue, name)


def __dir__() -> list[str]:
    return sorted([*import_module("penstock.catalogue").__all__, "__version__"])
