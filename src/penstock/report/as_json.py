"""A report in what JSON knows."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import Any

from penstock.report.story import Report, Story, Table


def as_dict(report: Report) -> dict[str, Any]:
    """Return numbers, sentences and tables of all stories; None for numbers nobody knows."""
    told = {
        "stories": [_story(story) for story in report.stories],
        "problems": dict(report.problems),
    }
    return _known(told)  # type: ignore[no-any-return]


def _story(story: Story) -> dict[str, Any]:
    return {
        "name": story.name,
        "headline": list(story.headline),
        "began_seconds": story.began_seconds,
        "ended_seconds": story.ended_seconds,
        "outcome": story.outcome,
        "summary": asdict(story.summary),
        "turning_points": [asdict(moment) for moment in story.moments],
        "chapters": [
            {
                "title": chapter.title,
                "said": chapter.said,
                "tables": [_table(each) for each in chapter.tables],
            }
            for chapter in story.chapters
        ],
    }


def _table(table: Table) -> dict[str, Any]:
    return {"title": table.title, "columns": list(table.columns), "rows": [*map(list, table.rows)]}


def _known(value: Any) -> Any:
    """Put None for NaN and infinity, which JSON does not know."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _known(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_known(each) for each in value]
    return value
