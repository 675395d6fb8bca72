"""The slots that were best for a rate before: reinforcement learning."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil, exp, floor, inf, isfinite, log
from operator import index
from random import Random
from typing import Any, ClassVar

from penstock.arguments import checked, shown
from penstock.elasticity.adapting import Adapting
from penstock.elasticity.observation import Observation
from penstock.elasticity.rails.rail import in_slots
from penstock.elasticity.rates_in_words import rate_in_words
from penstock.elasticity.settings import number, whole
from penstock.elasticity.wish import Moment, Wish, figure
from penstock.elasticity.workload import Workload, in_use
from penstock.errors import ConfigurationError

LOWEST_BUCKET = -1
LATE = -10.0
MOST_ROUNDS = 1_000_000


@dataclass(frozen=True, slots=True)
class RateSample:
    """What a rate took once: rows a second, slots, and how busy they were (above 1: too few)."""

    rows_per_second: float
    slots: int
    utilisation: float


@dataclass(frozen=True, kw_only=True)
class QLearning(Adapting):
    """Maps the input rate to slots by a table learnt before: the baseline of AutoScale+'s paper.

    ``train`` it with what a query did, then it goes by the table: the rate's bucket (each
    ``bucket`` times as high as the one below), or the nearest that was trained, and of its slots
    the number with the highest value. Keeping up below ``utilisation`` is worth more the fewer
    slots it takes; not keeping up costs more the later it gets. The rate does not depend on
    the slots, so that the future is the same for every choice and left out (a discount of 0).
    Without training it changes nothing, and says so.

    >>> policy = QLearning(max_slots=8)
    >>> policy.train([(100.0, 4, 0.2), (400.0, 4, 0.8), (800.0, 4, 1.6)])
    >>> [policy.best(rate) for rate in (100.0, 400.0, 800.0, 5_000.0)]
    [1, 4, 8, 8]
    """

    utilisation: float = 0.8
    bucket: float = 1.25
    _table: dict[int, dict[int, float]] = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "QLearning"

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.kind, "utilisation", self.utilisation, above=0, up_to=1)
        number(self.kind, "bucket", self.bucket, above=1)
        self._set("_table", {})

    @checked
    def train(
        self,
        samples: Iterable[Observation | RateSample | tuple[float, int, float]],
        *,
        seed: int = 0,
        rounds: int = 100,
        exploration: float = 0.3,
    ) -> None:
        """Learn the table anew from observations in their order, or from samples of rates.

        First every number of slots is tried once for every bucket. Then each of the ``rounds`` goes
        through all samples and tries, for each, the best number of slots so far, or with the
        probability ``exploration`` one of those tried least. A sample with n slots busy u of the
        time would keep m slots busy u n / m. The same ``seed`` learns the same table.
        """
        whole("QLearning.train", "rounds", rounds, most=MOST_ROUNDS)
        number("QLearning.train", "exploration", exploration, above=0, up_to=1)
        known = _rate_samples(samples)
        if not known:
            raise ConfigurationError(
                "QLearning.train got no sample to learn from. Give it observations of a run, two "
                "or more, or tuples of rows a second, slots and utilisation."
            )
        most = self.rails.max_slots or max(
            max(each.slots, ceil(each.slots * each.utilisation / self.utilisation))
            for each in known
        )
        chance = Random(int(seed))
        table: dict[int, dict[int, float]] = {}
        tried: dict[tuple[int, int], int] = {}

        def attempt(sample: RateSample, bucket: int, slots: int) -> None:
            reward, values = self._reward(sample, slots, most), table.setdefault(bucket, {})
            tried[bucket, slots] = tried.get((bucket, slots), 0) + 1
            value = values.get(slots, 0.0)
            values[slots] = value + (reward - value) / tried[bucket, slots]

        for sample in known:  # or the rounds might end before every choice was tried
            bucket = self._bucket(sample.rows_per_second)
            if bucket not in table:
                for slots in range(1, most + 1):
                    attempt(sample, bucket, slots)
        for _ in range(rounds):
            for sample in known:
                bucket = self._bucket(sample.rows_per_second)
                if chance.random() < exploration:
                    slots = _least_tried(range(1, most + 1), bucket, tried, chance)
                else:
                    slots = _best(table[bucket])
                attempt(sample, bucket, slots)
        self._table.clear()
        self._table.update(table)

    def _reward(self, sample: RateSample, slots: int, most: int) -> float:
        busy = sample.utilisation * sample.slots / slots
        return 1.0 - slots / (most + 1) if busy <= self.utilisation + 1e-9 else LATE * busy

    def _bucket(self, rows_per_second: float) -> int:
        if rows_per_second < 1:
            return LOWEST_BUCKET
        return floor(log(rows_per_second) / log(self.bucket) + 1e-9)

    @checked
    def best(self, rows_per_second: float) -> int | None:
        """Return the slots that the table has for a rate; None before it was trained."""
        number("QLearning.best", "rows_per_second", rows_per_second, above=-inf)
        bucket = self._nearest(rows_per_second)
        return None if bucket is None else _best(self._table[bucket])

    def _nearest(self, rows_per_second: float) -> int | None:
        wanted = self._bucket(rows_per_second)
        # Of two that are equally near the higher one: too many slots harm less than too few.
        return min(self._table, key=lambda each: (abs(each - wanted), -each), default=None)

    def _wish(self, moment: Moment) -> Wish | None:
        arrivals = self._workload.arrivals
        if not arrivals.rates:
            return None
        rate = sum(arrivals.mean_rates().values())
        bucket = self._nearest(rate)
        if bucket is None:
            untrained = f"{rate_in_words(rate)} come, and no rate was trained: call train() first"
            return Wish(moment.planned, untrained)
        wanted = _best(self._table[bucket])
        low, high = (exp(each * log(self.bucket)) for each in (bucket, bucket + 1))
        like = "less than 1" if bucket == LOWEST_BUCKET else f"{figure(low)} to {figure(high)}"
        best = f"{in_slots(wanted)} {'was' if wanted == 1 else 'were'} best"
        reason = f"{rate_in_words(rate)} come; for {like} rows/s {best}"
        return Wish(wanted, reason, demand_slots=float(wanted))

    def _save_own(self) -> dict[str, Any]:
        return {
            "table": [
                [bucket, [[slots, value] for slots, value in values.items()]]
                for bucket, values in self._table.items()
            ]
        }

    def _load_own(self, state: dict[str, Any]) -> None:
        table = {
            int(bucket): {int(slots): float(value) for slots, value in values}
            for bucket, values in state["table"]
        }
        self._table.clear()
        self._table.update(table)


def _least_tried(
    choices: range, bucket: int, tried: dict[tuple[int, int], int], chance: Random
) -> int:
    fewest = min(tried.get((bucket, slots), 0) for slots in choices)
    return chance.choice([each for each in choices if tried.get((bucket, each), 0) == fewest])


def _best(values: dict[int, float]) -> int:
    return max(values, key=lambda slots: (values[slots], -slots))


def _rate_sample(given: Any) -> RateSample:
    if isinstance(given, tuple | list) and len(given) == 3:
        with suppress(TypeError, ValueError, OverflowError):
            return RateSample(float(given[0]), index(given[1]), float(given[2]))
    raise ConfigurationError(
        f"QLearning.train can't learn from {shown(given)}. Give observations of a run, or tuples "
        "of rows a second, slots and utilisation."
    )


def _rate_samples(
    given: Iterable[Observation | RateSample | tuple[float, int, float]],
) -> list[RateSample]:
    load, samples = Workload(), []
    for each in given:
        if isinstance(each, Observation):
            if each.batch_id < 0 or not load.observe(each, each.at_seconds, learn=False):
                continue
            utilisation = load.utilisation(each)
            if utilisation is not None:
                rate = sum(load.arrivals.rates.values())
                samples.append(RateSample(rate, in_use(each), utilisation))
        else:
            samples.append(each if isinstance(each, RateSample) else _rate_sample(each))
    for sample in samples:
        numbers = (sample.rows_per_second, sample.utilisation)
        if sample.slots < 1 or not all(isfinite(each) and each >= 0 for each in numbers):
            raise ConfigurationError(
                f"QLearning.train can't learn from {sample}. Rows a second and utilisation are "
                f"numbers from 0 up, slots are 1 or more."
            )
    return samples
