"""Spark's log: whose it is, and what is said in it once Ctrl-C has broken a command off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli import quiet_spark
from penstock.cli.quiet_spark import _open_log
from penstock.errors import CheckpointError, ConfigurationError

# A process of its own: in pytest's, somebody always listens to what is logged.
LATE = """
import logging, sys
from penstock.cli.quiet_spark import _logging_to
try:
    with open(sys.argv[1], "wb") as log, _logging_to(log):
        logging.error("early")
        raise {error}
except {error}:
    logging.error("late")
"""


def said(error: str, log: Path) -> tuple[str, str]:
    command = [sys.executable, "-c", LATE.format(error=error), str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return log.read_text(), done.stderr


@pytest.mark.parametrize(
    ("error", "late"), [("KeyboardInterrupt", ""), ("ValueError", "ERROR:root:late\n")]
)
def test_what_threads_log_after_ctrl_c_is_not_heard(error: str, late: str, tmp_path: Path) -> None:
    logged, stderr = said(error, tmp_path / "log")
    assert logged.endswith(" ERROR root: early\n")
    assert stderr == late


def test_a_second_run_leaves_the_log_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "ck" / "spark.log"
    monkeypatch.setattr(quiet_spark, "PATIENCE_SECONDS", 0.1)
    with _open_log(log) as first:
        first.write(b"what the first run says\n")
        first.flush()
        refused = pytest.raises(CheckpointError, match="a query is running on the checkpoint")
        with refused, _open_log(log):
            pass
        assert log.read_text() == "what the first run says\n"
    with _open_log(log):
        assert log.read_text() == ""


def test_a_jvm_that_outlives_its_driver_keeps_no_run_from_its_log(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    with _open_log(log) as first:
        jvm = subprocess.Popen(["sleep", "60"], stdout=first)
    try:
        with _open_log(log) as second:
            second.write(b"again")
    finally:
        jvm.kill()
        jvm.wait()
    assert log.read_text() == "again"


@pytest.mark.parametrize("what", ["link", "link to nothing", "pipe", "directory"])
def test_a_log_is_written_to_a_file_of_its_own_alone(tmp_path: Path, what: str) -> None:
    log, target = tmp_path / "spark.log", tmp_path / "precious"
    if what == "pipe":
        os.mkfifo(log)
    elif what == "directory":
        log.mkdir()
    else:
        log.symlink_to(target)
        if what == "link":
            target.write_text("thesis")
    refused = pytest.raises(ConfigurationError, match=r"spark\.log cannot be written: ")
    with refused, _open_log(log):
        pass
    assert target.exists() == (what == "link")
    assert what != "link" or target.read_text() == "thesis"


def test_a_log_that_others_could_read_is_theirs_no_more(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text("earlier")
    log.chmod(0o644)
    with _open_log(log):
        assert log.stat().st_mode & 0o777 == 0o600
