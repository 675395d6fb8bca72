"""The README and the documentation: what they show runs, what they name is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.sources import NoDelay, Steady, UniformKeys
from penstock.sources.patterns import trace_of_pattern
from penstock.sources.replay import _SOME_COST
from penstock.sources.rows import RowMaker
from penstock.sources.schedule import Schedule

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def python_of(page: Path, out: Path) -> str:
    """Return the page's Python, with ``out/`` in another place.

    Spark takes a relative path from where its JVM was started, so changing the directory of the
    test would not do.
    """
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return "\n".join(blocks).replace('"out/', f'"{out}/')


def run(code: str) -> None:
    # As a script: Spark's workers get the functions of __main__ by value.
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})


def read_at(rate: float, seconds: int) -> list[tuple[int, float]]:
    """Work out the README's readings without Spark: sensor and celsius."""
    trace = trace_of_pattern(Steady(rate), seconds)
    maker = RowMaker(Schedule(trace), UniformKeys(1_000), NoDelay(), _SOME_COST, 0, origin_micros=0)
    rows = [row for batch in maker.batches(0, trace.rows) for row in batch.to_pylist()]
    return [(row["key"], row["value"] * 120 - 20) for row in rows]


@pytest.mark.slow
def test_the_example_of_the_readme_runs(spark: SparkSession, tmp_path: Path) -> None:
    run(python_of(README, tmp_path))
    readings = read_at(100, 30)
    hot = spark.read.parquet(str(tmp_path / "hot")).collect()
    assert Counter((row.sensor, row.celsius, row.level) for row in hot) == Counter(
        (sensor, celsius, "hot") for sensor, celsius in readings if 60 < celsius <= 99
    )
    failed = spark.read.json(str(tmp_path / "failed")).collect()
    assert len(failed) == sum(celsius > 99 for _, celsius in readings) > 0
    assert {(row.operator, row.message) for row in failed} == {("grade", "off the scale")}


def test_the_example_of_the_readme_is_short() -> None:
    code = python_of(README, Path("out"))
    assert len([line for line in code.splitlines() if line.strip()]) <= 16


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_commands_of_the_readme_are_in_the_makefile(target: str) -> None:
    assert re.search(rf"^make {target}\b", README.read_text(), re.MULTILINE)
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors_of(target), f"{page.name} links to {link}"


def anchors_of(page: Path) -> set[str]:
    """Return the names that headings get, on the site and where the repository is browsed."""
    documented = set(re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE))
    plain = [re.sub(r"[^\w\s-]", "", title) for title in HEADING.findall(page.read_text())]
    return documented | {re.sub(r"\s+", "-", title.strip().lower()) for title in plain}


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (ROOT / "mkdocs.yml").read_text()
    pages = [str(page.relative_to(DOCS)) for page in PAGES if page.is_relative_to(DOCS)]
    assert [page for page in pages if f": {page}\n" not in contents] == []
