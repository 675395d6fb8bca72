"""POSG's printed numbers beside those found here, figure by figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10

import numpy as np

from penstock.reproduction.posg_readings import AS_REPORTED, IN_TURN, KNOWING, KNOWING_LATER, Axis
from penstock.reproduction.posg_streams import Fared
from penstock.reproduction.result import Beside, Table

_SMALLER = "corrections every N tuples make up for much of what coarser sketches can't tell apart"
_WARM_UP = "2 N k tuples are dealt in turn: an eighth of the stream for k = 2, 62 % for k = 10"
_NO_WARM_UP = "POSG deals a third of the stream in turn, full knowledge nothing"


def figure_tables(
    axes: Mapping[str, Axis], fared: Mapping[str, Sequence[Fared]]
) -> tuple[Table, ...]:
    """Return a table for each of the figures 4 to 9."""

    def at(name: str) -> dict[float, Fared]:
        return dict(zip(axes[name].values, fared[name], strict=True))

    return (
        Table("fig4-numbers", "Gain over round robin by skew (figure 4)", _by_skew(at("fig4"))),
        Table("fig5-numbers", "Speed-up by over-provisioning (figure 5)", _by_load(at("fig5"))),
        Table(
            "fig6-numbers", "Speed-up by the longest time (figure 6)", _mean("w_max", at("fig6"))
        ),
        Table(
            "fig7-numbers", "Speed-up by the number of times (figure 7)", _mean("w_n", at("fig7"))
        ),
        Table(
            "fig8-numbers", "Speed-up by instances (figure 8)", _by_instances(at("fig8"), _WARM_UP)
        ),
        Table(
            "fig8-per-instance-numbers",
            "Speed-up by instances, with as many tuples for each (figure 8)",
            _by_instances(at("fig8-per-instance"), ""),
        ),
        Table("fig9-numbers", "Speed-up by epsilon (figure 9)", _by_epsilon(at("fig9"))),
    )


def _speed_up(each: Fared) -> float:
    return float(each.speed_ups(AS_REPORTED, IN_TURN).mean())


def _by_skew(at: Mapping[float, Fared]) -> tuple[Beside, ...]:
    paper = {0.0: 0.06, 0.5: 0.06, 1.0: 0.25}
    why = {0.0: _SMALLER, 0.5: _SMALLER}
    gains = [
        Beside(
            f"gain at Zipf-{zipf}" if zipf else "gain, uniform",
            paper.get(zipf),
            _speed_up(each) - 1,
            why=why.get(zipf, ""),
        )
        for zipf, each in at.items()
    ]
    equal = []
    for zipf in (2.5, 3.0):
        for name, reason in ((KNOWING_LATER, ""), (KNOWING, _NO_WARM_UP)):
            posg, known = (at[zipf].mean_seconds[each] for each in (AS_REPORTED, name))
            what = f"completion time at Zipf-{zipf} over that of {name}"
            equal.append(Beside(what, 1.0, float(posg.mean() / known.mean()), why=reason))
    return (*gains, *equal)


def _by_load(at: Mapping[float, Fared]) -> tuple[Beside, ...]:
    paper: dict[float, float] = {100: 1.15, 102: 1.26, 109: 1.15, 115: 1.07}
    found = {percent: _speed_up(each) for percent, each in at.items()}
    rows = [Beside(f"speed-up at {each} %", paper.get(each), found[each]) for each in found]
    best = max(found, key=lambda each: found[each])
    return (*rows, Beside("provisioning of the greatest speed-up", 102, best, "%"))


def _mean(what: str, at: Mapping[float, Fared]) -> tuple[Beside, ...]:
    found = [_speed_up(each) for each in at.values()]
    return (
        Beside(f"mean speed-up over all {what}", 1.19, float(np.mean(found))),
        Beside(f"least speed-up of any {what}", None, min(found)),
        Beside(f"greatest speed-up of any {what}", None, max(found)),
    )


def _by_instances(at: Mapping[float, Fared], why: str) -> tuple[Beside, ...]:
    found = {int(k): _speed_up(each) for k, each in at.items()}
    return (
        *(Beside(f"speed-up with k = {k}", 1.0 if k == 1 else None, found[k]) for k in found),
        Beside("growth from k = 2 to 3", 0.04, found[3] / found[2] - 1, why=why),
        Beside("growth from k = 9 to 10", 0.01, found[10] / found[9] - 1, why=why),
    )


def _by_epsilon(at: Mapping[float, Fared]) -> tuple[Beside, ...]:
    found = {epsilon: _speed_up(each) for epsilon, each in at.items()}
    tenfold = (found[0.001] / found[1.0]) ** (1 / log10(1.0 / 0.001)) - 1
    fine = [each.speed_ups(AS_REPORTED, IN_TURN).min() for e, each in at.items() if e <= 0.09]
    return (
        *(Beside(f"speed-up with epsilon = {each}", None, found[each]) for each in found),
        Beside("growth for a tenth of epsilon", 0.30, tenfold, why=_SMALLER),
        Beside(
            "least speed-up on any stream, epsilon of 0.09 and below",
            None,
            float(min(fine)),
            why="the paper says above 1 and gives no number",
        ),
    )
