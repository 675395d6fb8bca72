"""A story, before anybody has decided how to show it: on a page, in a terminal, or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.drawing.figure import Figure
from penstock.history.summary import Summary


@dataclass(frozen=True, slots=True)
class Table:
    """Texts in columns; the columns named in ``why`` hold sentences. ``note`` stands below.

    Rows come with what matters most first, or ``over_time``, the newest last.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    why: tuple[str, ...] = ()
    note: str = ""
    title: str = ""
    over_time: bool = False


@dataclass(frozen=True, slots=True)
class Chapter:
    """One side of a run: a sentence of what is to be seen, then figures and tables.

    ``drawing`` is SVG, and the only thing in a story that is markup.
    """

    title: str
    said: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    drawing: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, and when."""

    at_seconds: float
    what: str
    kind: str


@dataclass(frozen=True, slots=True)
class Story:
    """The story of one query: what a reader must know, then chapter by chapter."""

    name: str
    headline: tuple[str, ...]
    chapters: tuple[Chapter, ...]
    moments: tuple[Moment, ...]
    summary: Summary
    began_seconds: float | None
    ended_seconds: float | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Report:
    """The stories of all queries of some journals; ``problems`` are of journals that have none."""

    stories: tuple[Story, ...]
    problems: Mapping[str, str]
