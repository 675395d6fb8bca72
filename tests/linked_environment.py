"""Virtual environments made in a second, without a network, with chosen packages and no others.

The packages are links to those that are installed here. Which others they need is read from what
they themselves say they require, so that what nobody declared is missing, as after pip.
"""

from __future__ import annotations

import importlib.metadata as installed
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement


def make_environment(where: Path, needed: Iterable[str]) -> Path:
    """Make an environment in a new directory with these requirements; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(where)], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = where / "lib" / version / "site-packages"
    for name in sorted(_with_what_they_require(needed)):
        _link(installed.distribution(name), site)
    return where / "bin" / "python"


def _with_what_they_require(needed: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(needed)
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        new = {requirement.name} - found
        found |= new
        waiting += [text for name in new for text in installed.requires(name) or ()]
    return found


def _link(distribution: installed.Distribution, site: Path) -> None:
    """Link the directories and modules that a distribution consists of."""
    entries = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
    assert entries, f"{distribution.name} does not say which files it has"
    for entry in entries:
        (site / entry).symlink_to(str(distribution.locate_file(entry)))
