"""The times of which a journal says nothing: between two runs of a query, above all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.history.query_history import QueryHistory
from penstock.report.story import Chapter

_TIMES_THE_USUAL = 10.0
_SHORTEST_SECONDS = 1.0


def gaps_of(query: QueryHistory) -> tuple[tuple[float, float], ...]:
    """Return from when until when no batch ended, where that is well above the usual time."""
    at, spans = query.batches.column("at"), query.batches.column("span")
    spans = spans[spans > 0]
    if len(at) < 2 or not len(spans):
        return ()
    # A span does not count the time before a run: one batch a run is enough to know the usual.
    longest = max(_SHORTEST_SECONDS, _TIMES_THE_USUAL * float(np.median(spans)))
    wide = np.flatnonzero(np.diff(at) > longest)
    return tuple((float(at[n]), float(at[n + 1])) for n in wide)


def with_gaps(chapter: Chapter, gaps: tuple[tuple[float, float], ...]) -> Chapter:
    """Return a chapter whose figures over time draw no line across the gaps."""
    figures = tuple(
        replace(figure, gaps=gaps) if figure.zone is not None else figure
        for figure in chapter.figures
    )
    return replace(chapter, figures=figures)
