"""What is said of Spark's end once Ctrl-C has broken a command off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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
