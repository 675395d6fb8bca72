"""Every code block of the README and the documentation: run, or checked by its language."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from documentation.blocks import DOCS, PAGES, ROOT, blocks_of
from documentation.page_python import run_page
from documentation.shell_lines import check_shell

# These run queries for longer than a quick test may take.
LONG = {DOCS / "guide.md", DOCS / "tutorial.md"}
# What blocks may need, and the suites of those who have it run them: tests/cluster, tests/kafka.
ELSEWHERE = {"a cluster", "a Kafka broker"}

CHECKED = {"python", "sh", "json", "yaml", "toml", "dockerfile", "text"}
DOCKER = {"FROM", "USER", "COPY", "RUN", "ENV", "WORKDIR", "CMD", "ENTRYPOINT", "EXPOSE"}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def having(language: str) -> list[Path]:
    return [page for page in PAGES if any(b.language == language for b in blocks_of(page))]


def with_python() -> list[object]:
    return [
        pytest.param(page, id=name_of(page), marks=[pytest.mark.slow] if page in LONG else [])
        for page in having("python")
    ]


@pytest.fixture
def _queries_end(spark: SparkSession) -> Iterator[None]:
    """Stop what a page left running."""
    yield
    for query in spark.streams.active:
        query.stop()


@pytest.mark.slow
@pytest.mark.usefixtures("_queries_end")
@pytest.mark.parametrize("page", with_python())
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    before = set(ROOT.iterdir())
    run_page(page, tmp_path)
    left = {path.name for path in set(ROOT.iterdir()) - before}
    assert not {name for name in left if f'"{name}' in page.read_text()}


@pytest.mark.parametrize("page", having("sh"), ids=name_of)
def test_the_commands_of_a_page_are_there(page: Path) -> None:
    for block in blocks_of(page):
        if block.language == "sh":
            check_shell(block)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_data_of_a_page_can_be_read(page: Path) -> None:
    for block in blocks_of(page):
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            assert list(yaml.safe_load_all(block.text)) != [None], block.where
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "dockerfile":
            lines = block.text.replace("\\\n", " ").splitlines()
            assert {line.split()[0] for line in lines if line} <= DOCKER, block.where


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_its_language_and_is_checked(page: Path) -> None:
    assert [b.where for b in blocks_of(page) if b.language not in CHECKED] == []


def test_what_blocks_need_another_suite_has() -> None:
    needed = {b.said: b.where for page in PAGES for b in blocks_of(page) if b.note == "needs"}
    assert set(needed) == ELSEWHERE, needed
