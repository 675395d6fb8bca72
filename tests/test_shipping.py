"""What is sent to executors that do not have this package."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from penstock import shipping


def test_a_package_whose_files_are_of_1970_can_be_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "installed" / "penstock"
    package.mkdir(parents=True)
    (package / "shipping.py").write_text("")
    os.utime(package / "shipping.py", (0, 0))
    monkeypatch.setattr(shipping, "__file__", str(package / "shipping.py"))
    with zipfile.ZipFile(shipping.archive_package(tmp_path)) as archive:
        assert archive.namelist() == ["penstock/shipping.py"]
