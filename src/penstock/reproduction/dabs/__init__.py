"""DABS-Storm's experiments: three topologies, two streams, four methods (Figs. 12 to 17)."""

from __future__ import annotations

from pathlib import Path

from penstock.reproduction.dabs import tables
from penstock.reproduction.dabs.experiments import EXPERIMENTS
from penstock.reproduction.dabs.means import by_method
from penstock.reproduction.dabs.methods import METHODS
from penstock.reproduction.dabs.panels import panels
from penstock.reproduction.dabs.runs import Case, run_all
from penstock.reproduction.dabs.setup import Setup, Stream
from penstock.reproduction.dabs.variations import variations
from penstock.reproduction.result import Progress, Reproduction

STREAMS: tuple[Stream, ...] = ("progressive", "erratic")
SEEDS, VARIED_SEEDS = range(1, 6), range(1, 3)
QUICK = Setup(low=20.0, high=120.0, seconds=80.0)


def reproduce(*, data: Path | None, quick: bool, progress: Progress) -> Reproduction:
    """Run all experiments and all variations of what the paper leaves open; no traces needed."""
    setup = QUICK if quick else Setup()
    varied = variations(setup)[:2] if quick else variations(setup)
    cases = [
        Case(setup, each.topology, each.stream, method, seed)
        for each in EXPERIMENTS
        for method in (*METHODS, None)
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]
    cases += [
        Case(each.setup, "insensitive", stream, method, seed)
        for each in varied[1:]
        for stream in STREAMS
        for method in METHODS[1:]
        for seed in (VARIED_SEEDS[:1] if quick else VARIED_SEEDS)
    ]
    runs = run_all(cases, progress, processes=1 if quick else None)
    found = {each: by_method(runs, setup, each.topology, each.stream) for each in EXPERIMENTS}
    around = {
        each: {stream: by_method(runs, each.setup, "insensitive", stream) for stream in STREAMS}
        for each in varied
    }
    return Reproduction(
        paper="dabs",
        title="DABS-Storm: AutoScale+ and OSG (Figs. 12 to 17)",
        tables=(
            tables.dephased(found),
            tables.ranks(found),
            tables.executors(found),
            tables.restarts(found),
            tables.chosen(around),
        ),
        figures=tuple(each for one in EXPERIMENTS for each in panels(one, found[one])),
        remarks=remarks(setup),
    )


def remarks(setup: Setup) -> tuple[str, ...]:
    """Say what the paper leaves open and what was chosen."""
    return (
        "The paper prints few numbers; the curves of its figures can't be read, and are drawn here "
        "without the paper's beside them.",
        f"It gives neither rates nor execution times. Chosen: {setup.low:g} to {setup.high:g} rows "
        f"a second over {setup.seconds:g} s, {setup.downtime_seconds:g} s for a restart, "
        f"{setup.settling_seconds:g} s without monitoring after it for every method, and the "
        "execution times in the topologies' files. One table says what comes of other choices.",
        "All methods begin with one executor per operator and may use 36, the cluster's workers. "
        "The learning method was trained with the very stream it then meets, as in the paper.",
        "OSG begins anew with every restart, and deals in turn until it knows what rows cost; on "
        "streams that change this often it seldom gets further, so that it changes little here.",
        "Penstock is our own AutoScalePlus in micro-batches of 1 s on 36 slots, which take 15 s to "
        "come; its executors are slots, which all operators share.",
    )
