"""Elastic-PPQ run again: its fuzzy controller, and the streams that it was tried on."""

from __future__ import annotations

import csv
from pathlib import Path

from penstock.elasticity.fuzzy_rules import (
    ANY,
    CHANGES,
    RULES,
    Parallelism,
    factors,
    next_parallelism,
    speed,
    splitting,
)
from penstock.errors import ConfigurationError
from penstock.reproduction.ppq_stages import stages
from penstock.reproduction.ppq_streams import claims, real_streams, scales, table_3
from penstock.reproduction.result import Beside, Figure, Progress, Reproduction, Table

THREADS = 59  # of the authors' runs
_LOG = "ppq_transitions.csv"
_SEEN = ("rho_plq", "splitting", "rho_wlq")
_CONTROLLER_SECONDS = 2.5
# Inputs at which a word holds fully, and no other does.
_UTILISED = {"fast": 0.5, "acceptable": 0.9, "slow": 1.3}
_SPLIT = {"moderate": 1.0, "intensive": 5.0}


def reproduce(*, data: Path | None, quick: bool, progress: Progress) -> Reproduction:
    """Run the controller on the paper's examples and log, make its streams, and run its stages."""
    progress("fuzzy rules", 0.0)
    workers, over_time = artificial_scenario()
    tables = [fuzzification(), table_2(), workers]
    figures = [*memberships(), over_time]
    remarks = list(_REMARKS)
    progress("the authors' decisions", 0.1)
    log = _find_log(data)
    if log is None:
        remarks.append(f"The authors' logged decisions were not compared: --data has no {_LOG}.")
    else:
        tables.append(logged_decisions(log))
    progress("streams", 0.2)
    tables.append(table_3(quick))
    progress("burstiness", 0.5)
    tables.append(claims(quick))
    figures += scales()
    real = real_streams(data) if data is not None else None
    if real is None:
        remarks.append("The football match's streams were left out: --data has no ppq_game1.txt.")
    else:
        tables.append(real[0])
        figures.append(real[1])
    progress("two stages", 0.6)
    both = stages(quick)
    tables += both.tables
    figures += both.figures
    progress("two stages", 1.0)
    return Reproduction("ppq", _TITLE, tuple(tables), tuple(figures), tuple(remarks))


def fuzzification() -> Table:
    """Turn a utilisation of 0.6 into words, as section 4.2 does."""
    printed = {"fast": 0.75, "acceptable": 0.25, "slow": 0.0}
    rows = (Beside(word, printed[word], round(found, 12)) for word, found in speed(0.6).items())
    return Table("ppq_fuzzification", "Fuzzification of the utilisation 0.6", tuple(rows))


def table_2() -> Table:
    """Give the controller inputs at which each rule holds alone."""
    rows: list[Beside] = []
    for number, (first, split, second, *changes) in enumerate(RULES, start=1):
        sigma = _SPLIT["moderate" if split is ANY else split[0]]
        found = factors(_UTILISED[first], sigma, _UTILISED[second], THREADS)
        rows += [
            Beside(f"rule {number}: stage {stage}", CHANGES[change], factor)
            for stage, change, factor in zip((1, 2), changes, found, strict=True)
        ]
    return Table("ppq_table_2", "Change of parallelism by each rule (Tables 1 and 2)", tuple(rows))


def memberships() -> tuple[Figure, ...]:
    """Draw the degrees of the controller's words (Fig. 7)."""
    utilised = [each / 100 for each in range(151)]
    split = [1 + each / 20 for each in range(121)]
    speeds, splits = (
        [speed(each) for each in utilised],
        [splitting(each, THREADS) for each in split],
    )
    return (
        Figure(
            "ppq_fig_7_speed",
            "Words for a utilisation (Fig. 7, left)",
            "utilisation",
            "degree",
            utilised,
            {word: [each[word] for each in speeds] for word in speeds[0]},
        ),
        Figure(
            "ppq_fig_7_splitting",
            "Words for splitting, as the authors' code has them (Fig. 7, right)",
            "splitting factor",
            "degree",
            split,
            {word: [each[word] for each in splits] for word in splits[0]},
        ),
    )


def artificial_scenario() -> tuple[Table, Figure]:
    """Let the rate rise by 25 % after 30 seconds and by 40 % after 60 (Fig. 9).

    The first stage's utilisation is the rate over what its workers serve, and 0.9 at the start,
    with three workers; panes are split for all of them. The second stage is at its set point.
    """
    served = 40_000 / (3 * 0.9)
    workers, seconds, levels, utilisations = 3, 0.0, [], []
    while seconds < 90:
        rate = 40_000 * (1.0 if seconds < 30 else 1.25 if seconds < 60 else 1.25 * 1.4)
        utilised = rate / (workers * served)
        levels.append(float(workers))
        utilisations.append(utilised)
        now = Parallelism(workers, 10)
        workers = next_parallelism(now, utilised, float(workers), 0.9, THREADS).first
        seconds += _CONTROLLER_SECONDS
    at = [_CONTROLLER_SECONDS * step for step in range(len(levels))]
    table = Table(
        "ppq_fig_9_workers",
        "Workers of the first stage when the rate rises (Fig. 9)",
        (
            Beside("40,000 tuples/s: until 30 s", 3, levels[at.index(27.5)]),
            Beside("25 % more: until 60 s", 4, levels[at.index(57.5)]),
            Beside("40 % more: at first", 5, levels[at.index(62.5)]),
            Beside("40 % more: in the end", 6, levels[at.index(87.5)]),
        ),
    )
    drawn = Figure(
        name="ppq_fig_9",
        title="Workers of the first stage and their utilisation (Fig. 9, until 90 s)",
        x_label="seconds",
        y_label="workers; utilisation",
        x=at,
        series={"workers": levels, "utilisation": utilisations},
    )
    return table, drawn


def logged_decisions(log: Path) -> Table:
    """Compare the controller with the decisions that the authors' own one logged."""
    same = near = total = 0
    with log.open(encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.DictReader(file), start=2):
            try:
                now = Parallelism(int(row["plq_workers"]), int(row["wlq_workers"]))
                then = Parallelism(int(row["next_plq_workers"]), int(row["next_wlq_workers"]))
                rho_1, sigma, rho_2 = (float(row[name]) for name in _SEEN)
            except (KeyError, TypeError, ValueError) as error:
                raise ConfigurationError(
                    f"{log} line {line} is no decision; its columns must be rho_plq, splitting, "
                    "rho_wlq, plq_workers, wlq_workers, next_plq_workers and next_wlq_workers"
                ) from error
            given = next_parallelism(now, rho_1, sigma, rho_2, THREADS)
            off = max(abs(given.first - then.first), abs(given.second - then.second))
            total, same, near = total + 1, same + (off == 0), near + (off <= 1)
    if not total:
        raise ConfigurationError(f"{log} has no decisions; leave it out, or give the whole log")
    return Table(
        "ppq_decisions",
        f"{total:,} decisions of the authors' controller",
        (
            Beside("share decided alike", None, same / total, why=_TIES),
            Beside("share alike, or one worker off", None, near / total),
        ),
    )


def _find_log(data: Path | None) -> Path | None:
    if data is None:
        return None
    places = (data / _LOG, data / "controller" / _LOG, data.parent / "controller" / _LOG)
    return next((place for place in places if place.is_file()), None)


_TITLE = (
    "Elastic-PPQ: a two-level autonomic system for spatial preference query processing over "
    "dynamic data streams"
)
_TIES = (
    "Those that differ are one worker off: exactly half a worker is rounded up here, and up or "
    "down in the log."
)
_REMARKS = (
    "Figs. 10 to 13 are simulated: rows take the comparisons that block-nested loops make on "
    "random 8-attribute points, and how long one takes is calibrated once, on Fig. 9.",
    "Figs. 15 to 18 and Tables 4 and 5 measure a machine with 64 cores; they are not simulated.",
    "Fig. 9 is followed until 90 s: the paper does not say by how much the rate changes after. Its "
    "three workers at the start are given; what the controller makes of them is not.",
)
