"""DABS-Storm's numbers, beside those found here."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduction.dabs.experiments import Experiment
from penstock.reproduction.dabs.means import Mean
from penstock.reproduction.dabs.methods import METHODS
from penstock.reproduction.dabs.runs import OURS
from penstock.reproduction.dabs.setup import Stream
from penstock.reproduction.dabs.variations import Variation
from penstock.reproduction.result import Beside, Table

Found = Mapping[Experiment, Mapping[str, Mean]]
"""The means by method, for every experiment."""

ADAPTING = ("incremental", "learning", "AutoScale+")
"""The methods that the paper compares with each other."""
ALIKE_SHARE = 0.1
"""The share of a printed number by which another may differ without a reason given."""
ALL_ALIKE = 0.5
"""Per cent of rows by which methods may differ and still share a rank."""

BETTER = (
    "Better than printed: what arrives during a restart waits at the source here, and Storm's "
    "other troubles (acknowledging, garbage collection, its scheduler) are not simulated. The "
    "table of what was chosen says what comes of it where such rows are lost."
)
NO_STREAM = (
    "The paper draws its streams without numbers, and gives neither thresholds nor execution "
    "times. On the streams here one executor every 20 s follows the ramp of the progressive "
    "stream late, and the sudden changes of the erratic one not at all."
)
WORSE = (
    "The paper gives neither rates nor execution times, nor how long a restart takes; the table of "
    "what was chosen says how much depends on them."
)
NO_LOSS = "Rows are late, not lost: a restart, which drops them, is no part of our mechanism."
NO_UNITS = (
    "The paper counts processing units of the whole cluster that are active, which depends on how "
    "Storm packs executors into workers; here it is executors of the observed operator."
)
OTHER_RANK = (
    "The order is another one here: with what arrives during a restart held at the source, "
    "AutoScale+ loses little, as it counts the rows that wait; the learning method does not."
)
LEARNT_BEFORE = (
    "The order is another one here: on a stream that changes slowly, a table of rates that was "
    "learnt from that very stream has all it needs. Both lose little."
)


def dephased(found: Found) -> Table:
    """Return the share of dephased tuples in every experiment (Figs. 12c to 17c)."""
    rows = []
    for experiment, methods in found.items():
        for name in (*METHODS, OURS):
            printed = experiment.dephased.get(name)
            here = round(100 * methods[name].dephased, 2)
            why = _why_other_share(name, printed, here)
            rows.append(Beside(f"{experiment.name}: {name}", printed, here, "%", why))
    return Table(
        "dephased", "Dephased tuples (Figs. 12c to 17c), per cent of the stream", tuple(rows)
    )


def _why_other_share(name: str, printed: float | None, here: float) -> str:
    if name == OURS:
        return NO_LOSS if here else ""
    if printed is None or abs(here - printed) <= ALIKE_SHARE * printed:
        return ""
    if name == "incremental":
        return NO_STREAM
    return BETTER if here < printed else WORSE


def ranks(found: Found) -> Table:
    """Return which method has the fewest dephased tuples, where the paper's text says so."""
    rows = []
    for experiment, methods in found.items():
        for name, printed in experiment.ranks.items():
            here = rank(name, {each: methods[each].dephased for each in ADAPTING})
            why = "" if here == printed else _why_other_rank(methods)
            what = f"{experiment.name}: {name}"
            rows.append(Beside(what, float(printed), float(here), "", why))
    title = "Order of the three methods that adapt: 1 has the fewest dephased tuples"
    return Table("order", title, tuple(rows))


def rank(name: str, dephased_share: Mapping[str, float]) -> int:
    """Return the place of a method; those less than half a per cent of all rows apart share one.

    >>> rank("b", {"a": 0.010, "b": 0.012, "c": 0.2}), rank("c", {"a": 0.010, "b": 0.012, "c": 0.2})
    (1, 3)
    """
    own = dephased_share[name]
    return 1 + sum(100 * (own - other) > ALL_ALIKE for other in dephased_share.values())


def _why_other_rank(methods: Mapping[str, Mean]) -> str:
    learning, ours = methods["learning"].dephased, methods["AutoScale+"].dephased
    return LEARNT_BEFORE if learning < ours else OTHER_RANK


def executors(found: Found) -> Table:
    """Return what the incremental method takes more than others (section 7.3), and all means."""
    rows = []
    first = next(iter(found.values()))
    mean = {name: float(each.parallelism.mean()) for name, each in first.items()}
    for name, printed in (("learning", 64.0), ("AutoScale+", 18.0)):
        more = 100 * (mean["incremental"] / mean[name] - 1)
        what = f"insensitive, progressive: incremental over {name}"
        rows.append(Beside(what, printed, round(more, 1), "%", NO_UNITS))
    for experiment, methods in found.items():
        for name in (*METHODS, OURS):
            here = round(float(methods[name].parallelism.mean()), 2)
            rows.append(Beside(f"{experiment.name}: {name}", None, here))
    title = "Executors of the observed operator, on average over time (Figs. 12a to 17a)"
    return Table("executors", title, tuple(rows))


def restarts(found: Found) -> Table:
    """Return how often each method restarted the topology."""
    rows = tuple(
        Beside(f"{experiment.name}: {name}", None, round(methods[name].changes, 1))
        for experiment, methods in found.items()
        for name in ADAPTING
    )
    return Table("restarts", "Restarts of the topology", rows)


def chosen(found: Mapping[Variation, Mapping[Stream, Mapping[str, Mean]]]) -> Table:
    """Return how dephased tuples depend on every constant that the paper leaves open."""
    rows = tuple(
        Beside(
            f"{variation.what}, {stream}: {name}", None, round(100 * means[name].dephased, 2), "%"
        )
        for variation, streams in found.items()
        for stream, means in streams.items()
        for name in ADAPTING
    )
    title = (
        "What was chosen, one thing changed at a time: dephased tuples, insensitive topology "
        "(means over two streams, five as chosen)"
    )
    return Table("chosen", title, rows)
