"""POSG's figure 10, where instances change their speeds, and its messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.reproduction.posg_readings import AS_REPORTED, IN_TURN, readings
from penstock.reproduction.posg_streams import Setting, stream
from penstock.reproduction.result import Beside, Figure, Table
from penstock.simulation.operator.completions import Completions
from penstock.simulation.operator.groupings import RoundRobin
from penstock.simulation.operator.simulating import simulate
from penstock.simulation.operator.tuples import Speeds, Tuples, evenly_spaced
from penstock.sources.keys import ZipfKeys

CHANGE_AT = 75_000
CHANGING = Setting(
    tuples=150_000,
    speeds=(
        Speeds(0, (1.05, 1.025, 1.0, 0.975, 0.95)),
        Speeds(CHANGE_AT, (0.90, 0.95, 1.0, 1.05, 1.10)),
    ),
)
POINT_TUPLES = 2_000

# The prototype's stream (section V-C): 500,000 tweets of 35,000 entities, the most frequent of
# which is in 6.5 % of them. An exponent of 0.937 gives that.
TWEETS, ENTITIES, EXPONENT = 500_000, 35_000, 0.937
CLASS_SECONDS = (0.025, 0.005, 0.001)


@dataclass(frozen=True, slots=True)
class ByPoint:
    """Least, mean and greatest completion time in each stretch of ``POINT_TUPLES``."""

    least: NDArray[np.float64]
    mean: NDArray[np.float64]
    greatest: NDArray[np.float64]


def by_point(done: Completions) -> ByPoint:
    """Return the points of the paper's time series; what is left over at the end is left out."""
    whole = len(done.seconds) // POINT_TUPLES * POINT_TUPLES
    points = done.seconds[:whole].reshape(-1, POINT_TUPLES)
    return ByPoint(points.min(axis=1), points.mean(axis=1), points.max(axis=1))


def change_reproduced() -> tuple[Table, Figure]:
    """Run figure 10: one stream, whose instances change their speeds in the middle."""
    tuples = stream(CHANGING, seed=0)
    in_turn = simulate(tuples, CHANGING.instances, RoundRobin())
    placed = simulate(tuples, CHANGING.instances, readings(CHANGING.instances)[AS_REPORTED])
    control = placed.control
    renewed = [at for at in control.matrices_at if at >= CHANGE_AT] if control else []
    # Matrices that an instance had begun before the change are of both periods.
    last_of_all = renewed[CHANGING.instances - 1] if len(renewed) >= CHANGING.instances else -1
    known = control.matrices_at[CHANGING.instances - 1] if control else -1
    rows = (
        Beside("matrices of all instances are there", 10_690, known, "tuples", _A_STREAM),
        Beside("first tuple in RUN", 10_690, placed.run_from or -1, "tuples", _A_STREAM),
        Beside("new matrices of all after the change", 84_912, last_of_all, "tuples", _A_STREAM),
        *_periods(in_turn, placed),
    )
    curves = {IN_TURN: by_point(in_turn), AS_REPORTED: by_point(placed)}
    figure = Figure(
        "fig10",
        "Completion time while the instances' speeds change at tuple 75,000",
        "tuples",
        "completion time (s)",
        [POINT_TUPLES * (point + 1) for point in range(len(curves[IN_TURN].mean))],
        {name: curve.mean.tolist() for name, curve in curves.items()},
        {name: (curve.least.tolist(), curve.greatest.tolist()) for name, curve in curves.items()},
    )
    return Table("fig10-numbers", "Recovery after a change (figure 10)", rows), figure


_A_STREAM = "one stream of many; the paper does not say which tuples its own had"


def _periods(in_turn: Completions, placed: Completions) -> tuple[Beside, ...]:
    run, end = placed.run_from or 0, len(placed.seconds)
    recovered = CHANGE_AT + (end - CHANGE_AT) // 2
    parts = {
        "before RUN": slice(0, run),
        "from RUN to the change": slice(run, CHANGE_AT),
        "after the change": slice(CHANGE_AT, recovered),
        "in the last quarter": slice(recovered, end),
    }
    return tuple(
        Beside(
            f"speed-up over round robin {name}",
            1.0 if name == "before RUN" else None,
            float(in_turn.seconds[part].mean() / placed.seconds[part].mean()),
        )
        for name, part in parts.items()
        if part.start < part.stop
    )


def tweets(instances: int, seed: int) -> Tuples:
    """Draw a stream like the prototype's; which entity is of which class is drawn too."""
    rng = np.random.default_rng(seed)
    keys = ZipfKeys(ENTITIES, EXPONENT).draw(rng.random(TWEETS))
    seconds = np.array(CLASS_SECONDS)[rng.integers(0, len(CLASS_SECONDS), ENTITIES)]
    return evenly_spaced(keys, seconds[keys], instances)


def messages_counted(instances: int = 5) -> Table:
    """Count the messages for as many tuples as the prototype had."""
    tuples = tweets(instances, seed=0)
    rows = []
    for name, reading in readings(instances).items():
        control = simulate(tuples, instances, reading).control
        why = (
            "the prototype's count, for tweets that are not public and an unnamed number of "
            "instances; here a like stream, in a simulator"
        )
        extra = control.extra if control else 0
        rows.append(Beside(f"messages, {name}", 916, extra, "messages", why))
    return Table("messages", f"Control messages for {TWEETS:,} tuples (section V-C)", tuple(rows))
