"""The times of which a journal says nothing: between two runs of a query, above all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.history.query_history import QueryHistory
from penstock.history.weighted import thinned_quantile
from penstock.report.story import Chapter

_TIMES_THE_USUAL = 10.0
_SHORTEST_SECONDS = 1.0


def gaps_of(query: QueryHistory) -> tuple[tuple[float, float], ...]:
    """Return from when until when no batch ended, where that is well above the usual time."""
    at, spans = query.batches.column("at"), query.batches.column("span")
    counts = query.batches.column("count")
    each = (spans / counts)[spans > 0]
    if len(at) < 2 or not len(each):
        return ()
    # A span does not count the time before a run: one batch a run is enough to know the usual.
    usual = thinned_quantile(each, each, counts[spans > 0], 0.5)
    longest = max(_SHORTEST_SECONDS, _TIMES_THE_USUAL * usual)
    # A row of several batches ends when the last of them did.
    wide = np.flatnonzero(np.diff(at) > longest * counts[1:])
    return tuple((float(at[n]), float(at[n + 1])) for n in wide)


def with_gaps(chapter: Chapter, gaps: tuple[tuple[float, float], ...]) -> Chapter:
    """Return a chapter whose figures over time draw no line across the gaps."""
    figures = tuple(
        replace(figure, gaps=gaps) if figure.zone is not None else figure
        for figure in chapter.figures
    )
    return replace(chapter, figures=figures)
