"""``penstock version``."""

from __future__ import annotations

import json as json_format
import platform

# Asked of the package, a name is first looked for in the whole public API, which takes seconds.
import penstock.doctor as checks
from penstock.cli.options import AsJson, OnlyResult
from penstock.cli.saying import say
from penstock.version import __version__


def version(json: AsJson = False, quiet: OnlyResult = False) -> None:
    """Print the versions of Penstock, PySpark and Python.

    With --quiet only Penstock's, as a bare number.
    Example: penstock version --json
    """
    versions = {
        "penstock": __version__,
        "pyspark": checks.pyspark_version(),
        "python": platform.python_version(),
    }
    if json:
        say(json_format.dumps(versions))
    elif quiet:
        say(__version__)
    else:
        others = f"PySpark {versions['pyspark']}, Python {versions['python']}"
        say(f"penstock {__version__} ({others})")
