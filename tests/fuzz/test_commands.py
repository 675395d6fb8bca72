"""Every command and every option of the command line, with what nobody should write."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from fuzz.calling import QUICK_PHASES, strict_json, within
from penstock.cli import app, run_job
from penstock.errors import ConfigurationError
from replay.loads import as_lines, burst

ROOT: Any = typer.main.get_command(app)
JOURNAL = Path(__file__).parents[1] / "journal" / "schema-1.jsonl"
BAD_TEXTS = (
    "",
    " ",
    "-1",
    "0",
    "1",
    "nan",
    "inf",
    "1e400",
    "9" * 30,
    "none",
    "-5 seconds",
    "1 month",
    "3s",
    "na\u00efve \u2603",
    "\udc80",
    "x" * 5_000,
    "..",
    "folder",
    "loop",
    "no-such-file",
    "job.py",
    "small.py",
    "a=b",
    "=",
    "policy.margin=",
    "policy.no_such=1",
    "static:0",
    "static:many",
    "replica-pool:utilisation=7",
    "8..2",
    "{",
    "--json",
)
# What every command is first given, so that a mistake elsewhere is met. Those that would start
# Spark or serve for ever are given something that is refused before that, whatever else is said;
# run and explain have a job that could run, and meet NO_SPARK where Spark would start.
USUAL = {
    "agree": ["journal"],
    "bench": ["--keys", "0"],
    "dashboard": ["file"],  # which will be no journal, however long it waits
    "demo": ["--out", "folder"],
    "doctor": ["--only", "python"],
    "explain": ["small.py"],
    "init": ["project"],
    "inspect": ["no-checkpoint"],
    "metrics": ["no-journal"],
    "replay": ["progress.jsonl"],
    "report": ["journal"],
    "reproduce": ["dabs", "--out", "file"],
    "run": ["small.py"],
    "simulate": ["rates.csv", "--topology", "tweets", "--workers", "1", "--policy", "static:2"],
    "skyline": ["journal"],
    "version": [],
}
SMALL_JOB = """
import penstock as ps

def build(spark):
    rows = spark.readStream.schema("n long").json("in")
    return ps.Stream.read(rows).filter("n > 1").to(ps.sinks.parquet("out"), name="kept")
"""
NO_SPARK = "all that is checked before Spark starts is right"


@pytest.fixture(autouse=True, scope="module")
def _no_spark() -> Iterator[None]:
    def refused(*_: object, **__: object) -> NoReturn:
        raise ConfigurationError(NO_SPARK)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_job, "quiet_spark", refused)
        yield


def options_of(command: str) -> list[str]:
    """Return the options of a command, hidden ones too; an argument is the empty text."""
    found = []
    for each in ROOT.commands[command].params:
        found.append(each.opts[0] if each.param_type_name == "option" else "")
    return found


def test_every_command_is_fuzzed() -> None:
    assert set(USUAL) == set(ROOT.commands)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder, in two others, with one of each that commands read."""
    place = tmp_path_factory.mktemp("commands") / "deep" / "er"
    (place / "journal").mkdir(parents=True)
    shutil.copy(JOURNAL, place / "journal" / "journal-00000000.jsonl")
    (place / "progress.jsonl").write_text(as_lines(burst(20)))
    (place / "rates.csv").write_text("100\n" * 20)
    (place / "file").write_text("mine\n")
    (place / "folder").mkdir()
    (place / "folder" / "mine.txt").write_text("mine\n")
    (place / "loop").symlink_to("loop")
    (place / "job.py").write_text("raise ValueError('at once')\n")
    (place / "small.py").write_text(SMALL_JOB)
    return place


def invoked(command: str, arguments: list[str]) -> Result:
    with within():
        return CliRunner().invoke(app, [command, *arguments])


def judged(result: Result, said: list[str]) -> None:
    """Fail unless a command ended as is documented, and said so."""
    told = result.stderr.strip().splitlines()
    assert result.exit_code in (0, 1, 2), (said, result.output, result.exception)
    assert "Traceback" not in result.output, (said, result.output)
    assert "This is a bug" not in result.stderr, (said, result.stderr)
    if result.exit_code == 0:
        if "--json" in said and "--help" not in said:
            strict_json(result.stdout)
    elif not result.stdout.strip():
        assert len(told) == 1, (said, told)
        assert told[0].startswith("penstock: "), (said, told)


def nothing_is_broken(place: Path) -> None:
    """Fail where a file was left half written, or one of the user's was touched."""
    assert (place / "file").read_text() == "mine\n"
    assert (place / "folder" / "mine.txt").read_text() == "mine\n"
    for each in place.parent.rglob("*"):
        if each.suffix == ".html":
            assert each.read_text("utf-8").rstrip().endswith("</html>"), each
        if each.suffix == ".json":  # a whole document, or a line for each row
            lines = each.read_text("utf-8").splitlines()
            assert lines[0].strip() == "{" or all(json.loads(line) for line in lines), each
        if each.suffix == ".png":
            assert each.read_bytes().endswith(b"IEND\xaeB`\x82"), each
        assert not each.name.endswith((".tmp", ".new", ".part")), each


@st.composite
def mistakes(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Draw a command, options of it, and texts that few of them can take."""
    command = draw(st.sampled_from(sorted(USUAL)))
    others = [] if command == "dashboard" else [[]]
    usual = draw(st.sampled_from([USUAL[command]] * 4 + others))
    more: list[str] = []
    for option in draw(st.lists(st.sampled_from(options_of(command)), min_size=1, max_size=2)):
        text = draw(st.sampled_from(BAD_TEXTS) | st.text(max_size=8))
        more += [option, text] if option else [text]
    return command, [*usual, *more, *draw(st.sampled_from([[], ["--json"], ["--quiet"]]))]


@given(mistake=mistakes())
@settings(max_examples=60, suppress_health_check=list(HealthCheck), phases=QUICK_PHASES)
@example(mistake=("report", ["loop"]))
@example(mistake=("inspect", ["loop"]))
@example(mistake=("inspect", ["x" * 5_000]))
@example(mistake=("replay", ["x" * 5_000]))
@example(mistake=("agree", ["x" * 5_000]))
@example(mistake=("skyline", ["loop", "--json"]))
@example(mistake=("init", ["x" * 5_000]))
@example(mistake=("explain", ["x" * 5_000 + ".py"]))
@example(mistake=("metrics", ["x" * 5_000]))
@example(mistake=("demo", ["--out", "x" * 5_000]))
@example(mistake=("simulate", [*USUAL["simulate"], "--max", "9" * 30]))
@example(mistake=("simulate", [*USUAL["simulate"], "--executor-seconds", "nan"]))
def test_no_mistake_breaks_a_command(folder: Path, mistake: tuple[str, list[str]]) -> None:
    command, said = mistake
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("PENSTOCK_TRACEBACK", raising=False)
        judged(invoked(command, said), said)
    nothing_is_broken(folder)


# What keeps these from starting Spark, or from minutes of work; the rest of them is tried.
KEEPS_FROM_WORK = {"demo": ["--out"], "bench": ["--keys"], "reproduce": ["", "--out"]}


@pytest.mark.parametrize("command", sorted(USUAL))
def test_every_option_is_told_what_is_wrong(folder: Path, command: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for option in options_of(command):
            if option in KEEPS_FROM_WORK.get(command, ()):
                continue
            for text in ("", "nan", "-1", "\udc80"):
                said = [*USUAL[command], *([option, text] if option else [text]), "--json"]
                judged(invoked(command, said), said)
    nothing_is_broken(folder)


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_job_gets_as_far_as_to_spark(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(folder)
    assert NO_SPARK in invoked(command, USUAL[command]).stderr


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--policy", "no-such"),
        ("--policy", "auto-scale-plus:margin="),
        ("--slots", "many"),
        ("--slots", "8..2"),
        ("--min-slots", "2"),
        ("--trigger", "soon"),
        ("--placement", "anywhere"),
        ("--conf", "fast"),
    ],
)
def test_what_a_run_checks_before_spark_is_met(
    folder: Path, monkeypatch: pytest.MonkeyPatch, option: str, text: str
) -> None:
    monkeypatch.chdir(folder)
    result = invoked("run", [*USUAL["run"], option, text])
    judged(result, [option, text])
    assert result.exit_code == 2
    assert NO_SPARK not in result.stderr
    assert "small.py" not in result.stderr
