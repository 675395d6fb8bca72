"""Commands of the pages that only read files, done as the pages show them."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from browser import job
from browser.job import Made, run_job
from documentation.blocks import PAGES, Block, blocks_of
from documentation.shell_lines import commands_of
from penstock.cli import app

CHECKPOINTS = ("checkpoint", "my-checkpoint", "job.checkpoint", "ck", "monday", "tuesday")
READING = ("init", "inspect", "replay", "report", "simulate", "skyline", "version")
# These serve until they are stopped, start Spark, read what a page describes in words only, or
# search for minutes: tests of their own have them.
ELSEWHERE = (
    "agree",
    "bench",
    "dashboard",
    "demo",
    "doctor",
    "explain",
    "metrics",
    "reproduce",
    "run",
)
DESCRIBED = ("progress.jsonl", "mine.yaml", "--target-latency")


def shown() -> dict[str, tuple[Block, list[str]]]:
    """Return every command that the pages show, once."""
    blocks = [block for page in PAGES for block in blocks_of(page)]
    found = [(block, words) for block in blocks for words in commands_of(block, "penstock")]
    return {f"penstock {' '.join(words)}": (block, words) for block, words in found}


def is_tried(words: list[str]) -> bool:
    """Whether it is done here."""
    if words[0] in ELSEWHERE and "--once" not in words:
        return False
    return not any(each in words for each in DESCRIBED)


TRIED = {line: told for line, told in shown().items() if is_tried(told[1])}


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """One real run, whose checkpoint goes by all the names of the pages."""
    cloudpickle.register_pickle_by_value(job)
    yield run_job(spark, tmp_path_factory.mktemp("shown"))
    cloudpickle.unregister_pickle_by_value(job)


@pytest.fixture
def _files(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what the pages speak of: checkpoints with journals, and a trace."""
    for name in CHECKPOINTS:
        shutil.copytree(made.checkpoint, tmp_path / name)
    with (tmp_path / "rates.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["second", "rows"], *((n, 40 + n % 20) for n in range(120))])
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(("block", "words"), TRIED.values(), ids=TRIED)
def test_a_command_that_a_page_shows_works(block: Block, words: list[str]) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, f"{block.where}: {done.output}"
    assert done.output.strip(), f"{block.where}: it says nothing"


def test_every_command_that_is_shown_is_tried_somewhere() -> None:
    for block, words in shown().values():
        known = words[0] in (*READING, *ELSEWHERE)
        assert known, f"{block.where}: who tries 'penstock {words[0]}'?"
