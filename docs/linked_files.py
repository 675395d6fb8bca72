"""Lets pages link to tests, examples and other files of the repository: MkDocs knows only docs/.

Such a file is copied into the site, and a link that leaves docs/ is turned to the copy.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
PLACES = (
    "tests/**/*.py",
    "examples/*.py",
    "benchmarks/*.py",
    "src/penstock/**/*.py",
    "src/penstock/**/*.yaml",
    "deploy/Dockerfile",
    "deploy/*.py",
    "deploy/*.sh",
    "deploy/*/*.yaml",
    "deploy/*/*.sh",
)
LEAVES_DOCS = re.compile(r"(\]\((?:\.\./)*)\.\./((?:tests|examples|benchmarks|src|deploy)/)")


def on_files(files: Files, config: Any) -> Files:
    """Add the files of the repository that pages may link to."""
    for place in PLACES:
        for path in sorted(ROOT.glob(place)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Take one step up out of every link that leaves docs/."""
    return LEAVES_DOCS.sub(r"\1\2", markdown)
