"""Examples of docstrings that are no doctests, since a DataFrame shows nothing: they run, too."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock import catalogue, journal, sinks, sources, testing

MODULES: tuple[ModuleType, ...] = (catalogue, journal, sinks, sources, testing)
SECTION = re.compile(r"^\w+\n-+$", re.MULTILINE)


def documented() -> Iterator[tuple[str, str]]:
    """Give all public names with their docstrings, methods apart."""
    for module in MODULES:
        for name in module.__all__:
            shown = getattr(module, name)
            yield name, inspect.getdoc(shown) or ""
            methods = vars(shown) if inspect.isclass(shown) else {}
            for method in (each for each in methods if not each.startswith("_")):
                yield f"{name}.{method}", inspect.getdoc(getattr(shown, method)) or ""


def examples(text: str) -> list[str]:
    """Return the blocks of code that a docstring has before its first section."""
    paragraphs = re.split(r"\n\n+", SECTION.split(text)[0])
    return [
        "\n".join(line.removeprefix("    ") for line in each.splitlines())
        for each in paragraphs
        if all(line.startswith("    ") for line in each.splitlines()) and each
    ]


SHOWN = {(name, code) for name, text in documented() for code in examples(text)}


def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(["user"])


def test_examples_are_found() -> None:
    assert {"KeyCosts", "balance", "skyline", "top_dominant", "windowed"} <= {n for n, _ in SHOWN}
    assert examples("A sentence.\n\n    a = 1\n    b = 2\n\nMore.") == ["a = 1\nb = 2"]
    assert examples("A sentence.\n\nParameters\n----------\nname\n    x\n\n    y") == []


@pytest.mark.parametrize(("name", "code"), sorted(SHOWN), ids=[n for n, _ in sorted(SHOWN)])
def test_an_example_runs(name: str, code: str, spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(20).selectExpr(
        *("CAST(id % 3 AS string) AS user", "id AS bytes", "id * 0.5 AS rate"),
        *("timestamp_seconds(id) AS ts", "id % 7 AS price", "id % 5 AS days", "id % 4 AS rating"),
        *("id % 2 AS category", "id % 7 AS x", "id % 5 AS y", "id % 4 AS speed"),
    )
    names = {"ps": ps, "df": df, "offers": df, "players": df, "days": [df, df], "parse": parse}
    exec(compile(code.replace('"out/', f'"{tmp_path}/'), name, "exec"), names)
