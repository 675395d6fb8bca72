"""Runs whose journals don't tell how long their batches took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path

from penstock.history.journal_history import JournalHistory
from penstock.report.story import Story
from penstock.report.telling import report_of

from .journals import batch, write


def told(directory: Path, times: Sequence[float | None]) -> Story:
    events = []
    for number, seconds in enumerate(times):
        at, body = batch(number, float(number + 1))
        seen = replace(body.observation, batch_seconds=seconds)
        events.append((at, replace(body, observation=seen)))
    history = JournalHistory(write(directory, events))
    history.refresh()
    history.close()
    (story,) = report_of([history], UTC).stories
    return story


def test_batches_of_unknown_time_are_left_out(tmp_path: Path) -> None:
    story = told(tmp_path, [None, None, None, 0.5, 2.0])
    assert any("50 % of its batches took longer" in said for said in story.headline)
    assert any("the longest 2 s" in said for said in story.headline)
    (chapter,) = (each for each in story.chapters if each.title.startswith("Batch time"))
    assert chapter.said.startswith("Half of the batches took 1.25 s or less; 50 % took longer")


def test_where_none_is_known_nothing_is_said_of_them(tmp_path: Path) -> None:
    story = told(tmp_path, [None, None])
    assert "Nothing says how long its batches took." in story.headline
    assert not [each for each in story.chapters if each.title.startswith("Batch time")]
