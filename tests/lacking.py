"""What a test needs and this machine lacks."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacking(what: str) -> NoReturn:
    """Skip the test; on a build machine fail, or nobody would notice that it never runs."""
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(what)
    pytest.skip(what)
