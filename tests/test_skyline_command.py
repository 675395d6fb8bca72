"""``penstock skyline`` at the terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli import app, skyline
from penstock.journal import BatchSkipped, JournalWriter, SkylineSeen

OLD = SkylineSeen(3, "best", 0.0, 60.0, "price", "days", (1.0,), (1.0,), 1)
NEW = replace(OLD, batch_id=4, window_start_seconds=60.0, window_end_seconds=86_460.0)
TEAMS = [
    replace(NEW, operator="players", key=key, rows=7, x_is_time=True) for key in ("blue", "red $2$")
]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["skyline", *map(str, arguments)])


def refusal(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    return line


def journal(directory: Path, *seen: SkylineSeen) -> Path:
    with JournalWriter(directory, clock=lambda: 0.0) as writer:
        for event in (BatchSkipped(0), *seen):
            writer.write(event)
    return directory


def test_the_newest_window_of_every_operator_is_drawn(tmp_path: Path) -> None:
    png = tmp_path / "out.png"
    result = run(journal(tmp_path / "journal", OLD, NEW, *TEAMS), "--png", png)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "best, 1970-01-01 00:01:00.000 to 1970-01-02 00:01:00.000: 1 row by price and days",
        "players, 1970-01-01 00:01:00.000 to 1970-01-02 00:01:00.000: 14 rows by price and days "
        "(blue: 7, red $2$: 7)",
        f"Drawn in {png}",
    ]
    assert png.read_bytes().startswith(b"\x89PNG")


def test_moments_are_drawn_as_such() -> None:
    assert skyline._drawn((0.0, float("nan")), is_time=True) == [
        datetime(1970, 1, 1, tzinfo=UTC),
        None,
    ]
    assert skyline._drawn((0.0, 1.5), is_time=False) == [0.0, 1.5]


@pytest.mark.parametrize("far", [1e16, -1e16, 2.0**62, 1.7e308, -1.7e308, 253_402_300_799.0])
@pytest.mark.parametrize("is_time", [True, False])
def test_what_no_axis_can_show_is_left_out(tmp_path: Path, far: float, is_time: bool) -> None:
    odd = replace(
        NEW, window_start_seconds=far, x=(0.0, far, 60.0), y=(1.0, far), x_is_time=is_time
    )
    png = tmp_path / "out.png"
    result = run(journal(tmp_path / "journal", odd), "--png", png)
    assert result.exit_code == 0, result.output
    assert png.read_bytes().startswith(b"\x89PNG")


def test_json_has_the_points_and_draws_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(journal(tmp_path / "journal", OLD, NEW, *TEAMS), "--json", "--operator", "players")
    told = json.loads(result.stdout)["skylines"]
    assert [each["key"] for each in told] == ["blue", "red $2$"]
    assert (told[0]["x"], told[0]["x_is_maximized"]) == ([1.0], False)
    assert [path.name for path in tmp_path.iterdir()] == ["journal"]


def test_what_is_wrong(tmp_path: Path) -> None:
    there = journal(tmp_path / "journal", OLD)
    assert "Those with a skyline: best." in refusal(run(there, "--operator", "worst"))
    empty = journal(tmp_path / "empty")
    assert "tells of no skyline" in refusal(run(empty))
    assert "there is nothing at" in refusal(run(tmp_path / "nowhere"))
    assert "Name another file with --png." in refusal(
        run(there, "--png", tmp_path / "no" / "out.png")
    )


@pytest.mark.parametrize(
    ("x_is_maximized", "y_is_maximized", "y", "style"),
    [
        (False, False, (3.0, 2.0), {"drawstyle": "steps-post"}),
        (False, True, (2.0, 3.0), {"drawstyle": "steps-post"}),
        (True, False, (2.0, 3.0), {"drawstyle": "steps-pre"}),
        (True, True, (3.0, 2.0), {"drawstyle": "steps-pre"}),
        (False, False, (2.0, 3.0), {"linestyle": "none"}),
        (True, False, (2.0, float("nan")), {"linestyle": "none"}),
    ],
)
def test_steps_are_the_border_of_what_is_dominated(
    x_is_maximized: bool, y_is_maximized: bool, y: tuple[float, ...], style: dict[str, str]
) -> None:
    seen = replace(
        OLD, x=(1.0, 2.0), y=y, x_is_maximized=x_is_maximized, y_is_maximized=y_is_maximized
    )
    assert skyline._steps(seen) == style
