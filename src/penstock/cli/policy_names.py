"""The policies that commands try where nobody says which."""

from __future__ import annotations

from penstock.cli.run_job import POLICIES

USUAL = tuple(name for name in POLICIES if name != "static")
