"""``penstock dashboard`` as it is called, and ``run(dashboard=...)`` on Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from typer.testing import CliRunner

import penstock as ps
from dashboard.journals import batch, write_journal
from dashboard.processes import command, dashboard, get, is_alive, wait_until
from penstock.cli import app
from penstock.cli.complaints import WRONG

TOKEN = "a-token-of-some-length"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return write_journal(tmp_path / "run" / "journal", [batch(0)])


def refused(*arguments: str | Path, token: str | None = None) -> str:
    settings = {k: v for k, v in os.environ.items() if k != "PENSTOCK_DASHBOARD_TOKEN"}
    if token is not None:
        settings["PENSTOCK_DASHBOARD_TOKEN"] = token
    done = subprocess.run(
        command(*arguments, "--port", "0"),
        env=settings,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (done.returncode, done.stdout) == (WRONG, "")
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def test_what_anybody_could_use_is_refused(journal: Path) -> None:
    assert "--host 0.0.0.0 lets other machines see" in refused(journal, "--host", "0.0.0.0")
    assert "--control lets people change a running query" in refused(journal, "--control")
    assert "the token has 5 characters" in refused(journal, token="short")


def test_further_names_are_those_that_browsers_send(journal: Path) -> None:
    with dashboard(journal, "--name", " Dash.Example ", "--name", "[FE80::1]") as running:
        for host, status in (("dash.example", 200), ("DASH.example:80", 200), ("[fe80::1]:1", 200),
                             ("evil.example", 421)):  # fmt: skip
            assert get(running.address, "/", {"Host": host})[0] == status, host


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("dash.example:8765", "Leave the port out: --name dash.example"),
        ("http://dash.example", "without http:// and port"),
        ("two names", "is no name of a host"),
        ("", "is no name of a host"),
        ("*", "is no name of a host"),
        ("dash.example/", "is no name of a host"),
    ],
)
def test_a_name_that_no_browser_sends_is_refused(name: str, says: str, journal: Path) -> None:
    result = CliRunner().invoke(app, ["dashboard", str(journal), "--name", name])
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (WRONG, "", 1)
    assert says in result.stderr


@pytest.mark.parametrize("number", ["99", "-1", "99999999999", "0"])
def test_what_is_no_socket_is_refused(number: str, journal: Path) -> None:
    assert f"--listening {number} is no socket" in refused(journal, "--listening", number)


def test_a_journal_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert str(tmp_path / "nowhere") in refused(tmp_path / "nowhere")


def test_it_answers_with_every_page_and_ends_on_ctrl_c(journal: Path) -> None:
    with dashboard(journal) as running:
        for path in ("/", "/topology", "/decisions", "/placement", "/windows", "/preference",
                     "/faults", "/compare", "/?journal=0000000009&query=x&range=x"):  # fmt: skip
            assert get(running.address, path)[0] == 200, path
        status, _, missing = get(running.address, "/control")
        assert (status, "There is no such page" in missing) == (404, True)
        # It leads back to the pages there are, and to no other.
        assert '<a href="/faults">Faults</a>' in missing
        assert "Control</a>" not in missing
        assert get(running.address, "/", {"Host": "evil.example"})[0] == 421
        assert get(running.address, "/", {"Origin": "http://evil.example"})[0] == 403
        _, headers, body = get(running.address)
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "100 rows" in body
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(30) in (0, 130)


def test_with_a_token_nothing_is_seen_without_it(journal: Path) -> None:
    with dashboard(journal, "--control", token=TOKEN) as running:
        for path in ("/", "/control", "/_nicegui_ws/socket.io/?transport=polling&EIO=4"):
            status, _, body = get(running.address, path)
            assert (status, "100 rows" in body) == (401, False), path
        status, headers, _ = get(running.address, f"/faults?token={TOKEN}")
        assert (status, headers["location"]) == (303, "/faults")
        cookie = headers["set-cookie"].partition(";")[0]
        assert get(running.address, "/control", {"Cookie": cookie})[0] == 200


def test_json_tells_the_address(journal: Path) -> None:
    process = subprocess.Popen(
        command(journal, "--port", "0", "--json"), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["address"].startswith("http://127.0.0.1:")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_a_query_on_spark_shows_itself(
    generated: Callable[[], DataFrame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = dashboards_of_this_process()  # of queries in other tests: they live as long as it
    query = ps.run(
        ps.Stream.read(generated(), name="numbers").to(ps.sinks.memory(), name="kept"),
        checkpoint=tmp_path / "checkpoint",
        name="seen in a browser",
        dashboard=0,
    )
    try:
        address = query.dashboard_address
        assert address is not None
        assert f"Dashboard: {address}\n" in capsys.readouterr().err
        (child,) = dashboards_of_this_process() - others
        wait_until(lambda: "40 rows" in shown(address), "the query's page with its rows")
        assert get(address)[0] == 200
    finally:
        query.stop()
    # Its end can be looked at, too.
    wait_until(lambda: "ended" in shown(address), "the page says that it ended")
    os.kill(child, signal.SIGTERM)
    wait_until(lambda: not is_alive(child), "the process has ended")


@pytest.fixture
def generated(spark: SparkSession, tmp_path: Path) -> Callable[[], DataFrame]:
    def make() -> DataFrame:
        where = str(tmp_path / "numbers")
        spark.range(40).write.parquet(where)
        return spark.readStream.schema("id bigint").parquet(where)

    return make


def shown(address: str) -> str:
    try:
        return get(address)[2]
    except OSError:
        return ""


def dashboards_of_this_process() -> set[int]:
    """Return the numbers of processes that this one started as dashboards."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            line = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(stat[1]) == os.getpid() and b"\0dashboard\0" in line and stat[0] != "Z":
            found.add(int(entry.name))
    return found
