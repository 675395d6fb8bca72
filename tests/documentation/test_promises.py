"""Every promise of the pages on reliability and security has the tests that hold it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from documentation.blocks import DOCS

PAGES = (DOCS / "reliability.md", DOCS / "security.md")
LINK = re.compile(r"\]\((\.\./tests/[^)#]+\.py)\)")


def promises(page: Path) -> Iterator[str]:
    """Give the rows of the tables that say what is promised, or done, and which test holds it."""
    is_promised = False
    for line in page.read_text().splitlines():
        if not line.startswith("|"):
            is_promised = False
        elif line.endswith("| test |"):
            is_promised = True
        elif is_promised and not line.startswith("|---"):
            yield line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_promise_is_linked_to_a_test(page: Path) -> None:
    found = list(promises(page))
    assert len(found) > 10
    for row in found:
        linked = LINK.findall(row.split(" | ")[-1])
        assert linked, f"{page.name}: no test is linked from: {row}"
        for each in linked:
            tests = re.findall(r"^ *def test_", (page.parent / each).read_text(), re.MULTILINE)
            assert tests, f"{page.name}: {each} has no test"


def test_what_becomes_of_each_kind_of_file_is_a_promise() -> None:
    rows = list(promises(DOCS / "reliability.md"))
    for named in ("query.json", "panes/", "state/", "spark/offsets", "journal/", "dead_letters/"):
        assert any(row.startswith(f"| `{named}") for row in rows), named
