"""The code blocks of a page, in order, each with the note that stands above it.

Notes are HTML comments, which readers of the page do not see:

- ``<!-- setup`` ... ``-->``: Python that runs before what follows it;
- ``<!-- needs: what -->``: the Python below runs in the suites that have it (``a cluster``, ``a
  Kafka broker``), and elsewhere is only checked;
- ``<!-- output -->``: the text below is what the Python above prints;
- ``<!-- output: numbers vary -->``: the same, but for its numbers;
- ``<!-- file: name -->``: the block below is put in a file of that name, for Python to read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
NOTE = re.compile(r"^ *<!-- (?P<note>needs|output|file)(?:: (?P<said>.+?))? -->$")
SETUP = re.compile(r"^ *<!-- setup$")


@dataclass(frozen=True)
class Block:
    """A fenced block, or a hidden set-up. ``line`` is that of its first line of code, from 1."""

    page: Path
    line: int
    language: str
    text: str
    note: str = ""
    said: str = ""

    @property
    def where(self) -> str:
        """Return where it stands, for messages."""
        page = self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page
        return f"{page}:{self.line}"


def pages_that_need(what: str) -> list[Path]:
    """Return the pages with blocks that run only where there is something."""
    return [
        page
        for page in PAGES
        if any(block.note == "needs" and block.said == what for block in blocks_of(page))
    ]


class PageError(Exception):
    """A page that can't be read as one."""


def blocks_of(page: Path) -> list[Block]:
    """Return all blocks of a page."""
    lines = page.read_text().splitlines()
    blocks, at, note, said = [], 0, "", ""
    while at < len(lines):
        line = lines[at]
        at += 1
        if SETUP.match(line):
            end = _line_of(lines, at, "-->", page)
            blocks.append(Block(page, at + 1, "python", _text(lines[at:end]), "setup"))
            at = end + 1
        elif fence := FENCE.match(line):
            end = _line_of(lines, at, fence["ticks"], page)
            language = (fence["info"].split() or [""])[0]
            blocks.append(
                Block(page, at + 1, language, _text(lines[at:end], fence["indent"]), note, said)
            )
            at, note, said = end + 1, "", ""
        elif found := NOTE.match(line):
            note, said = found["note"], found["said"] or ""
        elif line.strip() and note:
            raise PageError(f"{page}:{at}: a note '{note}' stands above no block")
    return blocks


def _line_of(lines: list[str], start: int, ending: str, page: Path) -> int:
    for at in range(start, len(lines)):
        if lines[at].strip() == ending:
            return at
    raise PageError(f"{page}:{start}: a block that does not end")


def _text(lines: list[str], indent: str = "") -> str:
    """Join the lines of a block that may stand in a list."""
    return "".join(f"{line.removeprefix(indent)}\n" for line in lines)
