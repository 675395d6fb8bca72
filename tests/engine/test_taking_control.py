"""Taking up what is asked of a query: everything that was asked is journaled, the last holds."""

from __future__ import annotations

from pathlib import Path

from penstock.elasticity.control import Control
from penstock.engine.taking_control import TakingControl
from penstock.journal import ControlTaken, FaultSeen
from penstock.journal.control_file import FILE_NAME, WatchedControl, write_control
from penstock.journal.events import KnownEvent


def test_what_was_overtaken_is_journaled_too(tmp_path: Path) -> None:
    written: list[KnownEvent] = []
    taking = TakingControl(WatchedControl(tmp_path), written.append)
    write_control(tmp_path, Control(max_slots=6), by="me", clock=lambda: 1.0)
    assert taking.look(3)
    write_control(tmp_path, Control(forced_slots=8), by="me", clock=lambda: 2.0)
    write_control(tmp_path, Control(forced_slots=4), by="you", clock=lambda: 3.0)
    assert taking.look(4)
    assert not taking.look(5)
    assert taking.control == Control(forced_slots=4)
    assert [
        (each.batch_id, each.forced_slots, each.by)
        for each in written
        if isinstance(each, ControlTaken)
    ] == [(3, None, "me"), (4, 8, "me"), (4, 4, "you")]
    assert isinstance(written[1], ControlTaken)
    assert written[1].reason.startswith("overtaken by what was asked next")


def test_a_broken_file_is_journaled_once_and_changes_nothing(tmp_path: Path) -> None:
    written: list[KnownEvent] = []
    taking = TakingControl(WatchedControl(tmp_path), written.append)
    write_control(tmp_path, Control(paused=True), by="me", clock=lambda: 1.0)
    assert taking.look(0)
    (tmp_path / FILE_NAME).write_text("{")
    assert not taking.look(1)
    assert not taking.look(2)
    assert taking.control == Control(paused=True)
    assert [type(each) for each in written] == [ControlTaken, FaultSeen]
