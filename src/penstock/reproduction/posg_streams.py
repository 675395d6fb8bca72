"""The streams of POSG's simulations (section V-A), and how groupings fare on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import cpu_count

import numpy as np
from numpy.typing import NDArray

from penstock.reproduction.result import Progress
from penstock.simulation.operator.groupings import Grouping, Posg
from penstock.simulation.operator.simulating import simulate
from penstock.simulation.operator.tuples import Speeds, Tuples, evenly_spaced
from penstock.simulation.processes import in_processes
from penstock.sources.keys import ZipfKeys

KEYS = 4_096


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of a figure: a kind of stream, and instances; the defaults are the paper's.

    ``zipf`` of 0 makes all keys as likely. Execution times are ``values`` milliseconds at equal
    distances from 1 to ``longest_ms``.
    """

    zipf: float = 1.0
    instances: int = 5
    provisioning: float = 1.0
    longest_ms: float = 64.0
    values: int = 64
    tuples: int = 32_768
    speeds: tuple[Speeds, ...] = ()


@dataclass(frozen=True, slots=True)
class Fared:
    """Mean completion times on every stream of a setting, and POSG's first tuple of RUN."""

    mean_seconds: Mapping[str, NDArray[np.float64]]
    run_from: Mapping[str, tuple[int | None, ...]]

    def speed_ups(self, name: str, over: str) -> NDArray[np.float64]:
        """Return how many times longer tuples take ``over`` another grouping, on each stream."""
        return np.asarray(self.mean_seconds[over] / self.mean_seconds[name])


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting, the groupings to try on it, and how many streams."""

    setting: Setting
    groupings: Mapping[str, Grouping]
    streams: int


def stream(setting: Setting, seed: int) -> Tuples:
    """Draw a stream: which key takes how long is drawn anew for every seed (section V-A).

    >>> tuples = stream(Setting(tuples=1000), seed=1)
    >>> len(tuples), float(tuples.seconds.max()) <= 0.064
    (1000, True)
    """
    rng = np.random.default_rng(seed)
    keys = ZipfKeys(KEYS, setting.zipf).draw(rng.random(setting.tuples))
    times = np.linspace(1.0, setting.longest_ms, setting.values) / 1e3
    by_key = times[rng.permutation(KEYS) % setting.values]
    return evenly_spaced(
        keys, by_key[keys], setting.instances, setting.provisioning, setting.speeds
    )


def fared(trial: Trial) -> Fared:
    """Try all groupings on the same streams."""
    seconds: dict[str, list[float]] = {name: [] for name in trial.groupings}
    began: dict[str, list[int | None]] = {name: [] for name in trial.groupings}
    for seed in range(trial.streams):
        tuples = stream(trial.setting, seed)
        for name, grouping in trial.groupings.items():
            done = simulate(tuples, trial.setting.instances, grouping)
            seconds[name].append(done.mean_seconds)
            began[name].append(done.run_from)
    return Fared(
        {name: np.array(found) for name, found in seconds.items()},
        {
            name: tuple(found)
            for name, found in began.items()
            if isinstance(trial.groupings[name], Posg)
        },
    )


def all_fared(
    trials: Sequence[Trial], progress: Progress, processes: int | None = None
) -> list[Fared]:
    """Try all of them, on as many processes as there are cores; the order stays."""
    fared(Trial(Setting(tuples=10), trials[0].groupings, 1))  # compiles, once for all processes
    done: list[Fared] = []
    for found in in_processes(fared, trials, processes or cpu_count() or 1):
        done.append(found)
        progress("POSG's streams", len(done) / len(trials))
    return done
