"""Runs the Python of a page from top to bottom, and compares what it prints with what is shown."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from documentation.blocks import Block, blocks_of
from documentation.page_names import check_names

# Such a line of an output stands for any number of lines.
LEFT_OUT = "..."


class WrongOutput(AssertionError):
    """A page shows what its code does not print."""


@dataclass
class Ran:
    """What is left of a page that ran: its names, and the number of blocks that a reader sees."""

    names: dict[str, Any]
    blocks: int = 0


def run_page(
    page: Path, folder: Path, there: str = "", places: Mapping[str, str] | None = None
) -> Ran:
    """Run a page's Python in one namespace, in a folder of its own.

    Blocks that need something run where it is what is ``there``. ``places`` are put where the page
    names places of its reader's. Spark takes a relative path from where its JVM was started, so
    that ``"out/`` is turned to the folder in the code itself.
    """
    # As a script: Spark's workers get the functions of __main__ by value.
    ran = Ran({"__name__": "__main__"})
    places = {"out/": f"{folder}{os.sep}out/"} | dict(places or {})
    printed = io.StringIO()
    with contextlib.chdir(folder):
        for block in blocks_of(page):
            if block.note == "file":
                Path(block.said).write_text(block.text)
            elif block.note == "output":
                compare(block, printed.getvalue().replace(f"{folder}{os.sep}out", "out"))
                printed = io.StringIO()
            elif block.language == "python" and block.note == "needs" and block.said != there:
                check_names(block, ran.names)
            elif block.language == "python":
                with contextlib.redirect_stdout(printed):
                    _run(block, ran.names, places)
                ran.blocks += block.note != "setup"
    return ran


def _run(block: Block, names: dict[str, Any], places: Mapping[str, str]) -> None:
    code = block.text
    for shown, real in places.items():
        code = re.sub(rf"([\"']){re.escape(shown)}", rf"\g<1>{real}", code)
    # Empty lines above it, so that a traceback names the lines of the page.
    compiled = compile("\n" * (block.line - 1) + code, str(block.page), "exec")
    try:
        exec(compiled, names)
    except Exception as error:
        error.add_note(f"in the block at {block.where}")
        raise


def compare(block: Block, printed: str) -> None:
    """Raise unless the lines of a shown output were printed, in their order."""
    found = iter(_plain(line, block) for line in printed.splitlines())
    for line in block.text.splitlines():
        if line.strip() in ("", LEFT_OUT):
            continue
        pattern = re.escape(_plain(line, block)).replace(re.escape(LEFT_OUT), ".*")
        if not any(re.fullmatch(pattern, each) for each in found):
            raise WrongOutput(f"{block.where}: not printed: {line}\nPrinted was:\n{printed}")


def _plain(line: str, block: Block) -> str:
    numbers_vary = block.said == "numbers vary"
    return re.sub(r"\d[\d,]*(\.\d+)?", "#", line.rstrip()) if numbers_vary else line.rstrip()
