"""Tells the story of each query that journals know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import tzinfo
from math import isfinite

from penstock.history.journal_history import JournalHistory
from penstock.history.query_history import QueryHistory
from penstock.history.summary import summary_of
from penstock.report.chapters.decisions import decisions_chapter
from penstock.report.chapters.faults import faults_chapter
from penstock.report.chapters.load import (
    batch_time_chapter,
    input_chapter,
    latency_chapter,
    slots_chapter,
    waiting_chapter,
)
from penstock.report.chapters.operators import operators_chapter, topology_chapter
from penstock.report.chapters.placement import placement_chapter
from penstock.report.chapters.preference import preference_chapter
from penstock.report.chapters.windows import windows_chapter
from penstock.report.gaps import gaps_of, with_gaps
from penstock.report.headline import ending_of, headline_of, time_of
from penstock.report.story import Chapter, Report, Story
from penstock.report.turning_points import moments_of, turning_points_chapter
from penstock.report.words import counted, day_and_clock

_CHAPTERS: tuple[Callable[[QueryHistory, tzinfo], Chapter | None], ...] = (
    turning_points_chapter,
    input_chapter,
    waiting_chapter,
    batch_time_chapter,
    latency_chapter,
    slots_chapter,
    topology_chapter,
    operators_chapter,
    decisions_chapter,
    placement_chapter,
    windows_chapter,
    preference_chapter,
    faults_chapter,
)


def report_of(histories: Sequence[JournalHistory], zone: tzinfo) -> Report:
    """Tell the stories of journals that have been read; times are those of ``zone``."""
    stories: list[Story] = []
    problems: dict[str, str] = {}
    for history in histories:
        if history.problem is not None:
            problems[str(history.path)] = history.problem
        with history.lock:
            told = [query for query in history.queries if _has_begun(query)]
            if not told and history.problem is None:
                problems[str(history.path)] = why_empty(history, zone)
            stories += [_story(_name(history, query), query, zone) for query in told]
    return Report(tuple(_with_own_names(stories, histories)), problems)


def why_empty(history: JournalHistory, zone: tzinfo) -> str:
    """Say why a journal that can be read tells no story."""
    if history.left_out is not None:
        first, last = (day_and_clock(each, zone) for each in history.left_out)
        return (
            f"the journal at {history.path} tells nothing of the time asked for: its events are "
            f"from {first} to {last}. Ask for another time, or for all of it."
        )
    faults = history.queries[0].faults
    if faults.corrupt_lines:
        newest = faults.newest_corrupt
        what = "" if newest is None else f", such as line {newest.line} of {newest.file}"
        are = "is no event" if faults.corrupt_lines == 1 else "are no events"
        return (
            f"the journal at {history.path} holds {counted(faults.corrupt_lines, 'line')} that "
            f"{are}{what}, and nothing else. Name the journal of another run."
        )
    return (
        f"the journal at {history.path} is empty so far: no query has begun. Start one with "
        "penstock run, or wait for its first micro-batch."
    )


def _has_begun(query: QueryHistory) -> bool:
    # What began before the time that is told of, and was not heard of in it, has no story.
    is_known = query.started is not None and isfinite(query.last_at_seconds)
    return query.batch_count > 0 or is_known or query.decisions.count > 0


def _name(history: JournalHistory, query: QueryHistory) -> str:
    return query.name or (query.started.name if query.started else "") or history.name


def _with_own_names(
    stories: Sequence[Story], histories: Sequence[JournalHistory]
) -> Sequence[Story]:
    """Tell stories apart that have one name, by their journals or else by number."""
    names = [story.name for story in stories]
    if len(histories) == len(stories):
        names = [
            f"{name} ({history.name})" if names.count(name) > 1 else name
            for name, history in zip(names, histories, strict=True)
        ]
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if names.count(name) > 1:
            names[place] = f"{name}, number {seen[name]}"
    return [replace(story, name=name) for story, name in zip(stories, names, strict=True)]


def _story(name: str, query: QueryHistory, zone: tzinfo) -> Story:
    chapters = (chapter(query, zone) for chapter in _CHAPTERS)
    gaps = gaps_of(query)
    began, ended = time_of(query)
    return Story(
        name=name,
        headline=headline_of(query, zone),
        chapters=tuple(with_gaps(each, gaps) for each in chapters if each is not None),
        moments=moments_of(query, zone),
        summary=summary_of(query),
        began_seconds=began,
        ended_seconds=ended,
        outcome=ending_of(query, zone),
    )
