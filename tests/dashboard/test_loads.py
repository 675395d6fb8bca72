"""What is kept of pages that were sent while nobody has come back for them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dashboard.journals import batch, started, write_journal
from penstock.dashboard.loads import MOST_WAITING, Loads

READ_BY_A_PROGRAM = """
import sys
from pathlib import Path
from nicegui import Client
from starlette.testclient import TestClient
from penstock.dashboard.site import make_site
from penstock.dashboard.watched import Watched

app = make_site(Watched([Path(sys.argv[1])]), ("*",), None, control=False)
most = 0
with TestClient(app) as asking:
    for number in range(60):
        assert asking.get(("/", "/compare", "/faults")[number % 3]).status_code == 200
        most = max(most, len(Client.instances))
print(most)
"""


@dataclass
class Page:
    """A page as the web server knows it."""

    id: str
    handlers: list[Callable[[], object]] = field(default_factory=list)
    at_end: list[Callable[[], object]] = field(default_factory=list)
    is_gone: bool = False

    def on_connect(self, handler: Callable[[], object]) -> None:
        self.handlers.append(handler)

    def on_delete(self, handler: Callable[[], object]) -> None:
        self.at_end.append(handler)

    def connect(self) -> None:
        for each in self.handlers:
            each()

    def delete(self) -> None:
        assert not self.is_gone
        self.is_gone = True
        for each in self.at_end:
            each()


def sent(loads: Loads, *names: str) -> list[Page]:
    pages = [Page(name) for name in names]
    for each in pages:
        loads.sent(each)
    return pages


def test_the_oldest_that_nobody_came_back_for_goes_first() -> None:
    a, b, c, d = sent(Loads(most=2), *"abcd")
    assert [each.is_gone for each in (a, b, c, d)] == [True, True, False, False]


def test_one_that_is_shown_stays_and_takes_nobodys_place() -> None:
    loads = Loads(most=2)
    (a,) = sent(loads, "a")
    a.connect()
    b, c, d = sent(loads, *"bcd")
    assert [each.is_gone for each in (a, b, c, d)] == [False, True, False, False]
    a.connect()  # as after its connection was lost
    assert not a.is_gone


def test_one_that_went_by_itself_is_forgotten() -> None:
    loads = Loads(most=2)
    a, b = sent(loads, *"ab")
    a.delete()
    sent(loads, "c")
    assert not b.is_gone


def test_a_program_that_reads_pages_does_not_fill_the_memory(tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "journal", [(1.0, started()), batch(0)])
    done = subprocess.run(
        [sys.executable, "-c", READ_BY_A_PROGRAM, str(journal)],
        capture_output=True, text=True, timeout=90, check=True,
    )  # fmt: skip
    assert int(done.stdout) <= MOST_WAITING + 1, done.stdout
