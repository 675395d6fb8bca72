"""Commands of the pages that read files or serve what is in them, done as the pages show them."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from browser import job
from browser.job import Made, run_job
from dashboard.processes import get
from documentation.blocks import PAGES, Block, blocks_of
from documentation.shell_lines import commands_of
from penstock.cli import app

CHECKPOINTS = (
    *("checkpoint", "my-checkpoint", "job.checkpoint", "ck", "monday", "tuesday"),
    *("live", "runs/clicks", "runs/taxis", "out/checkpoint"),
)
JOURNALS = ("simulated/journal/static-8", "autoscale-journal")
READING = ("doctor", "init", "inspect", "replay", "report", "simulate", "skyline", "version")
# Where, with which status, and what it says to who has no token.
SERVED_AT = {"dashboard": ("/", 401, "token"), "metrics": ("/metrics", 200, "penstock_query_info")}
SERVING = tuple(SERVED_AT)
# These start Spark, or go on for minutes: tests of their own have them.
ELSEWHERE = ("bench", "demo", "explain", "reproduce", "run")
# What a page describes in words only, a search for minutes, runs long enough to be compared.
NOT_HERE = ("progress.jsonl", "mine.yaml", "--target-latency", "--start-spark", "agree")


def shown() -> dict[str, tuple[Block, list[str]]]:
    """Return every command that the pages show, once."""
    blocks = [block for page in PAGES for block in blocks_of(page)]
    found = [(block, words) for block in blocks for words in commands_of(block, "penstock")]
    return {f"penstock {' '.join(words)}": (block, words) for block, words in found}


def shown_of(commands: tuple[str, ...]) -> dict[str, tuple[Block, list[str]]]:
    """Return those of some commands that are done here."""
    return {
        line: (block, words)
        for line, (block, words) in shown().items()
        if words[0] in commands and not set(words) & set(NOT_HERE)
    }


SERVED = {line: told for line, told in shown_of(SERVING).items() if "--once" not in told[1]}
TRIED = shown_of((*READING, *SERVING))
TRIED = {line: told for line, told in TRIED.items() if line not in SERVED}


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


@pytest.mark.slow
@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(("block", "words"), SERVED.values(), ids=SERVED)
def test_what_a_page_shows_to_be_served_is_served(
    block: Block, words: list[str], made: Made
) -> None:
    """On a free port of this machine alone, whatever the page says, until Ctrl-C."""
    for name in JOURNALS:
        shutil.copytree(made.journal, name)
    here = ["--port", "0", "--host", "127.0.0.1"]
    settings = {"PENSTOCK_DASHBOARD_TOKEN": "a-token-of-some-length", "BROWSER": "true"}
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", *words, *here],
        env=os.environ | settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = iter(process.stdout.readline, "")
        address = next((found[0] for each in said if (found := re.search(r"http://\S+", each))), "")
        assert address, f"{block.where}: no address is said"
        path, expected, told = SERVED_AT[words[0]]
        status, _, body = get(address, path)
        assert (status, told in body) == (expected, True), f"{block.where}: {body[:500]}"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) in (0, 130), block.where
    finally:
        process.kill()
        process.communicate(timeout=30)


def test_every_command_that_is_shown_is_tried_somewhere() -> None:
    for block, words in shown().values():
        known = words[0] in (*READING, *SERVING, *ELSEWHERE, *NOT_HERE)
        assert known, f"{block.where}: who tries 'penstock {words[0]}'?"
