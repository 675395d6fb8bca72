from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.commands import app


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "rates.csv"
    path.write_text("time,value\n" + "".join(f"{second},1000\n" for second in range(15)))
    return str(path)


def plan(trace: str, *more: str) -> list[str]:
    words = ["simulate", trace, "--topology", "tweets", "--max", "32", "--workers", "1"]
    return [*words, "--policy", "static", "--resamples", "3", "--target-latency", *more]


def test_a_plan_is_shown_with_how_sure_it_is(trace: str) -> None:
    done = CliRunner().invoke(app, plan(trace, "3s", "--availability", "0.9"))

    assert done.exit_code == 0
    assert "3 of 3" in done.stdout
    assert "done within 3 s" in " ".join(done.stdout.split())


def test_a_plan_is_told_to_programs(trace: str) -> None:
    done = CliRunner().invoke(app, plan(trace, "3s", "--json"))

    told = json.loads(done.stdout)
    assert told["availability"] == 0.999
    assert told["best"]["policy"].startswith("static:")
    assert told["best"]["held_days"] == 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("10ms",), "with no rows in it"),
        (("3s", "--mechanism", "pool"), "plans micro-batches"),
        (("3s", "--set", "policy.margin=0.1"), "itself. Leave policy.margin out"),
        (("3s", "--set", "costs.fixed_seconds=0.1,0.2"), "one value"),
        (("3s", "--html", "report.html"), "writes no files"),
        (("1s", "--set", "costs.fixed_seconds=0.7"), "0.71 s with no rows in it"),
        (("3s", "--policy", "fuzzy"), "no policy 'fuzzy'"),
    ],
)
def test_what_can_not_be_planned_is_refused(trace: str, more: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(app, plan(trace, *more))

    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
