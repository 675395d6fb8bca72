"""A topology as the journal tells it: operators in users' words, and where each of them runs."""

from __future__ import annotations

from penstock.journal.topology_events import PlannedOperator, TopologyPlanned
from penstock.topology.components import Components
from penstock.topology.explain_components import detail_of, runs_in_python
from penstock.topology.explain_words import cut
from penstock.topology.operators import Compute, Consolidate, Operator

MOST_LETTERS = 200
_WINDOWS = {Compute.kind: "partials", Consolidate.kind: "window"}


def topology_planned(components: Components, batch_id: int) -> TopologyPlanned:
    """Return the operators of a topology and the components they run in from a batch on."""
    homes = components.grouping.homes
    operators = tuple(
        PlannedOperator(
            name=operator.name,
            kind=kind_in_words(operator),
            component=homes.get(operator.name, ""),
            inputs=tuple(operator.inputs),
            runs_python=runs_in_python(operator),
            detail=cut(detail_of(operator), MOST_LETTERS),
        )
        for operator in components.topology
    )
    return TopologyPlanned(batch_id, operators)


def kind_in_words(operator: Operator) -> str:
    """Return what kind of operator it is, as a user would say it: source, map, window, sink."""
    return _WINDOWS.get(operator.kind, operator.kind.replace("_", " "))
