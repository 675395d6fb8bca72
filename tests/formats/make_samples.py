"""Make the samples of today's formats: ``python tests/formats/make_samples.py``.

Run it once for every minor version, before its release, and keep what it makes for ever: the
directories of earlier versions must stay as they are. It refuses to replace one.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import penstock as ps  # noqa: E402
from formats.sample_job import BREAKS_OFF_AT, run_until  # noqa: E402
from penstock.testing import spark_session  # noqa: E402

# Files that no reader needs: Spark checks a sum only where there is one.
LEFT_OUT = shutil.ignore_patterns("*.crc", ".*.crc", "spark.log", ".lock", "journal.lock")


def make(spark: SparkSession, directory: Path) -> None:
    """Write a checkpoint that broke off in a micro-batch, what came before, and what must come."""
    with tempfile.TemporaryDirectory() as scratch:
        expected = run_until(spark, Path(scratch) / "undisturbed")
        found = run_until(spark, Path(scratch) / "checkpoint", "windows", BREAKS_OFF_AT)
        shutil.copytree(Path(scratch) / "checkpoint", directory / "checkpoint", ignore=LEFT_OUT)
        neutralise(directory / "checkpoint", scratch)
    first = {
        name: {batch: rows for batch, rows in batches.items() if int(batch) < BREAKS_OFF_AT}
        for name, batches in found.items()
    }
    for name, results in (("first", first), ("expected", expected)):
        (directory / f"{name}.json").write_text(json.dumps(results, sort_keys=True) + "\n")
    journal = directory / "checkpoint" / "journal"
    text = "".join(each.read_text() for each in sorted(journal.glob("*.jsonl")))
    (directory / "journal.jsonl").write_text(text)


def neutralise(checkpoint: Path, scratch: str) -> None:
    """Take out the places of this machine: the journal names one, and tracebacks do."""
    for journal in (checkpoint / "journal").glob("*.jsonl"):
        journal.write_text(journal.read_text().replace(scratch, "/sample"))
    for file in (checkpoint / "dead_letters").rglob("*.parquet"):
        letters = pq.read_table(file)
        left_out = pa.array(["left out"] * len(letters), pa.string())
        column = letters.column_names.index("traceback")
        pq.write_table(letters.set_column(column, "traceback", left_out), file)


def main() -> None:
    """Make the sample of this minor version."""
    version = ".".join(ps.__version__.split(".")[:2])
    directory = HERE / version
    if directory.exists():
        sys.exit(
            f"{directory} is kept: later versions are tested with it. Delete it only if version "
            f"{version} was never released."
        )
    make(spark_session(), directory)


if __name__ == "__main__":
    main()
