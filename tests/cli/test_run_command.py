"""``penstock run`` on a user's file, with Spark in a process of its own as users have it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli import app, run_job
from penstock.cli.elasticity import Elasticity
from penstock.cli.job_file import JobFile
from penstock.cli.progress import PlainProgress
from penstock.cli.remaining import OfLoad, of_backlog
from penstock.cli.run_job import Views, addresses_of
from penstock.cli.run_record import BatchRecord, RunRecord
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError

JOB = """
import penstock as ps

def topology(spark):
    rows = spark.readStream.schema("n long").json("in")
    return ps.Stream.read(rows).filter("n > 1").to(ps.sinks.parquet("out"), name="kept")
"""


def written(directory: Path, text: str) -> str:
    path = directory / "app.py"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("command", "is_kept"),
    [
        (["run", "--json"], True),
        (["run"], False),
        (["explain", "--json"], True),
        (["explain", "--format", "html"], True),
        (["simulate", "erratic", "--json", "--topology"], True),
        (["simulate", "erratic", "--target-latency", "2s", "--json", "--topology"], True),
    ],
)
def test_what_a_file_prints_is_no_part_of_the_result(
    tmp_path: Path, command: list[str], is_kept: bool
) -> None:
    file = written(tmp_path, "print('hello from the file')\nraise ValueError('no further')\n")
    result = CliRunner().invoke(app, [*command, file])
    assert result.exit_code == 2
    assert "no further" in result.stderr
    assert ("hello from the file" in result.stdout) is not is_kept
    assert ("hello from the file" in result.stderr) is is_kept


def test_a_reader_that_had_enough_ends_the_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Spark ends: a query that still ran then would end with a traceback."""
    ended: list[str] = []

    @contextmanager
    def spark(*_: object, **__: object) -> Iterator[None]:
        try:
            yield
        finally:
            ended.append("Spark")

    def gone(text: str) -> None:
        raise BrokenPipeError

    query = SimpleNamespace(
        topology=SimpleNamespace(outputs=[]),
        dashboard_address=None,
        metrics_address="http://localhost:1/metrics",
        stop=lambda: ended.append("the query"),
    )
    monkeypatch.setattr(run_job, "quiet_spark", spark)
    monkeypatch.setattr("penstock.running.run", lambda *_, **__: query)
    job = SimpleNamespace(build=lambda spark: [])
    file: Any = SimpleNamespace(path=tmp_path / "app.py", load=lambda: job)
    with pytest.raises(BrokenPipeError):
        run_job.run_job(file, str(tmp_path / "ck"), lambda names: PlainProgress(names, gone))
    assert ended == ["the query", "Spark"]


class TestJobFile:
    @pytest.mark.parametrize(
        ("text", "taken"),
        [
            ("def topology(spark): ...\ndef build(spark): ...\n", "build"),
            ("def topology(spark): ...\ndef other(spark): ...\n", "topology"),
        ],
    )
    def test_build_is_taken_before_topology(self, tmp_path: Path, text: str, taken: str) -> None:
        assert JobFile.parse(written(tmp_path, text)).load().name == taken

    def test_neither_names_what_the_file_has(self, tmp_path: Path) -> None:
        text = "from json import loads\nX = 1\ndef nightly(spark): ...\ndef hourly(spark): ...\n"
        with pytest.raises(ConfigurationError) as told:
            JobFile.parse(written(tmp_path, text)).load()
        assert "no function 'build' and no function 'topology'" in str(told.value)
        assert "It has: nightly, hourly." in str(told.value)
        assert "app.py:nightly" in str(told.value)

    def test_what_is_usual_is_named_before_the_rest(self, tmp_path: Path) -> None:
        file = written(tmp_path, "def price(row): ...\ndef build(spark): ...\n")
        with pytest.raises(ConfigurationError, match=r"name another: app\.py:build\.$"):
            JobFile.parse(f"{file}:topology").load()

    @pytest.mark.parametrize(
        ("text", "named", "checkpoint"),
        [
            ("def build(spark): ...\n", "", "app.checkpoint"),
            ("def build(spark): ...\n", ":build", "app.checkpoint"),
            ("def topology(spark): ...\n", ":topology", "app.checkpoint"),
            ("def build(s): ...\ndef topology(s): ...\n", ":topology", "app-topology.checkpoint"),
            ("def build(s): ...\ndef nightly(s): ...\n", ":nightly", "app-nightly.checkpoint"),
        ],
    )
    def test_a_job_has_one_checkpoint_however_it_is_named(
        self, tmp_path: Path, text: str, named: str, checkpoint: str
    ) -> None:
        assert JobFile.parse(written(tmp_path, text) + named).load().checkpoint == checkpoint

    def test_a_value_is_no_function(self, tmp_path: Path) -> None:
        file = written(tmp_path, "topology = [1]\n")
        with pytest.raises(ConfigurationError, match=r"no function 'topology'.*no function at all"):
            JobFile.parse(f"{file}:topology").load()

    def test_a_function_may_find_the_session_itself(self, tmp_path: Path) -> None:
        job = JobFile.parse(written(tmp_path, "def build(): return 7\n")).load()
        with pytest.raises(ConfigurationError, match="something of type int"):
            job.build(None)  # type: ignore[arg-type]

    def test_a_function_that_needs_more(self, tmp_path: Path) -> None:
        job = JobFile.parse(written(tmp_path, "def build(spark, out): ...\n")).load()
        with pytest.raises(ConfigurationError, match=r"build\(spark, out\) in .*defaults"):
            job.build(None)  # type: ignore[arg-type]


class TestElasticity:
    def test_settings_reach_the_policy(self) -> None:
        policy = Elasticity("auto-scale-plus:margin=0.3", 2, 8).chosen_policy()
        assert policy.margin == 0.3  # type: ignore[attr-defined]
        rails = policy.rails  # type: ignore[attr-defined]
        assert (rails.min_slots, rails.max_slots) == (2, 8)
        assert Elasticity("static:3").chosen_policy() == Static(3)

    @pytest.mark.parametrize("policy", ["coffee", "fuzzy:sugar=2", "static:none"])
    def test_a_policy_that_there_is_not(self, policy: str) -> None:
        with pytest.raises(ConfigurationError, match="policy"):
            Elasticity(policy).chosen_policy()


class TestViews:
    def test_only_what_was_asked_for_is_passed_on(self) -> None:
        assert Views().arguments() == {}
        assert Views(dashboard=True).arguments() == {"dashboard": True}
        assert Views(dashboard=0, metrics_port=9100).arguments() == {
            "dashboard": 0,
            "metrics_port": 9100,
        }

    def test_addresses_there_are(self) -> None:
        query = SimpleNamespace(dashboard_address="http://localhost:1/", metrics_address=None)
        assert addresses_of(query) == {"dashboard": "http://localhost:1/"}
        assert addresses_of(SimpleNamespace()) == {}


def record(rows: int, waiting: int | None, seconds: float = 1.0) -> RunRecord:
    batch = BatchRecord(0, rows, rows / seconds, seconds, None, waiting, 4, 0, {})
    return RunRecord(batches=1, rows_in=rows, recent=(batch,))


class TestRemaining:
    def test_a_backlog_at_the_pace_so_far(self) -> None:
        left = of_backlog(record(100, waiting=300, seconds=2.0))
        assert left is not None
        assert (left.share, left.seconds) == (0.25, 6.0)
        assert left.line().plain.endswith("25 %, 0:06 left, 100 of 400 rows")

    def test_a_source_that_does_not_say(self) -> None:
        assert of_backlog(record(100, waiting=None)) is None
        assert of_backlog(RunRecord()) is None

    def test_a_load_takes_as_long_as_it_comes_and_then_as_it_goes(self) -> None:
        now = [100.0]
        left_of = OfLoad(1_000, 60.0, clock=lambda: now[0])
        first = left_of(record(0, None))
        now[0] = 120.0
        second = left_of(record(250, None))
        now[0] = 170.0
        late = left_of(record(700, None))
        assert first is not None
        assert second is not None
        assert late is not None
        assert (first.seconds, second.seconds, round(late.seconds)) == (60.0, 40.0, 30)


def test_a_users_file_is_run(tmp_path: Path) -> None:
    """One start of Spark tells of names, checkpoint, policy, journal, JSON and the exit code."""
    file = written(tmp_path, JOB)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.json").write_text('{"n": 1}\n{"n": 2}\n{"n": 3}\n')
    options = ["--policy", "incremental:interval=2", "--slots", "1..2", "--master", "local[2]"]
    views = ["--journal", "events", "--name", "small", "--available-now", "--json"]
    ran = subprocess.run(
        [sys.executable, "-m", "penstock", "run", file, *options, *views],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    ended = json.loads(ran.stdout)
    assert ended["outputs"][0]["rows"] == 2
    assert ended["checkpoint"] == "app.checkpoint"
    assert Path(ended["journal"]).name == "events"
    assert all(1 <= made["slots"] <= 2 for made in ended["decisions"])
    assert ended["decisions"]
    assert sorted(pq.read_table(tmp_path / "out")["n"].to_pylist()) == [2, 3]
    assert (tmp_path / "app.checkpoint" / "query.json").is_file()
    assert '"name":"small"' in (tmp_path / "events" / "journal-00000001.jsonl").read_text()
