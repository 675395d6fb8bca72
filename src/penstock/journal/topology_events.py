"""What a journal can say of a topology: its operators, and the components they run in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedOperator:
    """One operator of a topology as it runs: what it is, where, and what it reads.

    ``kind`` is in users' words: source, map, filter, window, sink and so on. ``component`` names
    the component that it runs in, ``inputs`` the operators it reads, and ``detail`` is what
    ``explain`` says of it.
    """

    name: str
    kind: str
    component: str
    inputs: tuple[str, ...] = ()
    runs_python: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StartedQuery:
    """What the start of a query said of it, for when that is no longer in the journal."""

    query_id: str
    name: str
    penstock_version: str
    spark_version: str
    slots: int


@dataclass(frozen=True, slots=True)
class TopologyPlanned:
    """All operators of a query and the components they run in from this micro-batch on.

    Written when a query starts, after each change of its plan, and near the start of each segment
    of the journal; there with ``started``, which says whose topology it is.
    """

    batch_id: int
    operators: tuple[PlannedOperator, ...]
    started: StartedQuery | None = None
