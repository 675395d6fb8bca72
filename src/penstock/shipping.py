"""Sends this package to executors, which need not have it installed."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from weakref import WeakSet

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.version import __version__

_contexts_that_have_it: WeakSet[SparkContext] = WeakSet()


def ship_package(spark: SparkSession) -> None:
    """Add this package to what Spark sends to its executors, once for a Spark context.

    Local executors are started by this very machine's Python and have it. A function or a source
    takes along what was added before it was made, so this comes before either.
    """
    context = spark.sparkContext
    if is_local(str(context.master)) or context in _contexts_that_have_it:
        return
    context.addPyFile(archive_package(Path(tempfile.mkdtemp(prefix="penstock-"))))
    _contexts_that_have_it.add(context)


def is_local(master: str) -> bool:
    """Whether tasks run in the driver itself, with no cluster.

    >>> is_local("local[4]"), is_local("local-cluster[2,1,1024]"), is_local("yarn")
    (True, False, False)
    """
    return master.startswith("local") and not master.startswith("local-cluster")


def archive_package(directory: Path) -> str:
    """Put this package's source in an archive that Python can import from; return its path."""
    package = Path(__file__).parent
    path = directory / f"penstock-{__version__}.zip"
    # Images that are built to be the same every time have files of 1970; archives begin in 1980.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for file in sorted(package.rglob("*.py")):
            archive.write(file, f"penstock/{file.relative_to(package).as_posix()}")
    return str(path)
