"""Sends a test's own functions to Spark's workers, which can't import test files."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from pyspark import cloudpickle as untyped_cloudpickle

cloudpickle: Any = untyped_cloudpickle


@contextmanager
def sent_by_value(functions: Iterable[Any]) -> Iterator[None]:
    """Send functions of modules that are not installed with their code, not by name."""
    modules = {module for each in functions if (module := _module_of(each)) is not None}
    known = cloudpickle.list_registry_pickle_by_value()
    registered = [module for module in modules if module.__name__ not in known]
    for module in registered:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def _module_of(thing: Any) -> ModuleType | None:
    name = getattr(thing, "__module__", None) or type(thing).__module__
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or file is None or name == "__main__" or name.partition(".")[0] == "penstock":
        return None
    installed = [sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")]
    return None if any(file.startswith(f"{place}/") for place in installed) else module
