"""K-slack: a watermark that learns how late rows come (Elastic-PPQ, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import sqrt

from penstock.arguments import checked
from penstock.errors import ConfigurationError
from penstock.windows.durations import Duration, in_seconds, microseconds
from penstock.windows.pid import Pid, PidState
from penstock.windows.watermark import Mark, Seen, latest, whole_millis

# The measured share of late rows is averaged over as many rows as hold this many late ones.
REMEMBERED_LATE_ROWS = 20.0
# How much of the mean step of event time is the newest step.
STEP_WEIGHT = 0.1
# How many mean steps K may be ahead of what a watermark that cannot go back can give it.
STEPS_AHEAD = 5


@dataclass(frozen=True, slots=True)
class KSlack:
    """Trails the newest event time by K, which grows to the largest delay seen.

    A row's delay is how far it lies behind the newest time known *before* its batch: within a batch
    disorder does no harm. When K grows, the watermark stands until it is K behind; from then on no
    row is before it that is no later than an earlier one.

    With ``drop_rate``, a PID loop holds the share of late rows at that rate instead, by a K below
    the largest delay. ``at_least`` and ``at_most`` bound K; it starts at ``at_least``. The loop's
    error is in units of the square root of the rate, its output in mean steps of event time a
    batch, from -1 (the watermark moves at double speed) to 1 (it stands).

    >>> rule = KSlack(at_most="1 hour")
    >>> mark = rule.advance(Mark(), Seen(rows=1, newest_micros=9_000_000, oldest_micros=9_000_000))
    >>> mark = rule.advance(mark, Seen(rows=2, newest_micros=12_000_000, oldest_micros=7_000_000))
    >>> mark.slack_micros, mark.micros
    (2000000, 10000000)
    """

    drop_rate: float | None = None
    at_most: Duration | None = None
    at_least: Duration = 0
    kp: float = 1.0
    ki: float = 0.0
    kd: float = 0.0

    def __post_init__(self) -> None:
        rate = self.drop_rate
        if rate is not None and not (_is_number(rate) and 0 < rate < 1):
            raise ConfigurationError(
                f"KSlack's drop_rate is {rate!r}. Write the share of rows that may be late, above "
                f"0 and below 1, like drop_rate=0.05; leave it out to wait for every row."
            )
        lowest_micros, highest_micros = self._lowest_micros, self._highest_micros
        if highest_micros is not None and highest_micros < lowest_micros:
            raise ConfigurationError(
                f"KSlack waits at_least={self.at_least!r} and at_most={self.at_most!r}. Write "
                f"at_least up to at_most."
            )
        self._pid(0.5)  # refuses gains that cannot be

    @property
    def counts_late(self) -> bool:
        """It looks at late rows when it has a rate to hold."""
        return self.drop_rate is not None

    def describe(self) -> str:
        """Say the rule in a few words."""
        if self.drop_rate is None:
            rule = "the largest delay seen behind the newest row"
        else:
            rule = f"behind the newest row so that {100 * self.drop_rate:g} % are late"
        bounds = []
        if self._lowest_micros:
            bounds.append(f"at least {in_seconds(self._lowest_micros)}")
        if self._highest_micros is not None:
            bounds.append(f"at most {in_seconds(self._highest_micros)}")
        return ", ".join([rule, *bounds])

    @checked
    def advance(self, mark: Mark, seen: Seen) -> Mark:
        """Return the newest event time seen, less K."""
        if seen.newest_micros is None or seen.oldest_micros is None:
            return mark
        before = mark.newest_micros
        newest = latest(before, seen.newest_micros)
        delay = 0 if before is None else max(0, before - seen.oldest_micros)
        loop = _Loop.from_memory(mark.memory)
        largest = max(mark.slack_micros or 0, round(loop.largest_micros), delay)
        if self.drop_rate is None:
            slack, loop = self._bounded(largest), _Loop()
        else:
            loop = replace(loop, largest_micros=float(largest))
            slack, loop = self._controlled(self.drop_rate, loop, mark, seen, newest)
        return replace(
            mark,
            micros=latest(mark.micros, whole_millis(newest - slack)),
            newest_micros=newest,
            slack_micros=slack,
            memory=loop.to_memory(),
        )

    def _controlled(
        self, rate: float, loop: _Loop, mark: Mark, seen: Seen, newest: int
    ) -> tuple[int, _Loop]:
        if mark.micros is None or mark.slack_micros is None or mark.newest_micros is None:
            return self._bounded(0), loop  # no K was in force, so nothing was measured
        loop = loop.counting(seen, rate).stepping(newest - mark.newest_micros)
        # By chance, the share of late rows strays as the root of the rate: so it is the unit.
        before = PidState(integral=loop.integral, measured=loop.measured)
        after = self._pid(rate).step(before, loop.late_share / sqrt(rate), dt=1.0)
        wanted = mark.slack_micros + round(after.output * loop.step_micros)
        # A larger K only makes the watermark stand. If K ran on ahead of that, it would hold the
        # watermark long after the share of late rows is right again: wind-up.
        reach = newest - mark.micros + round(STEPS_AHEAD * loop.step_micros)
        slack = self._bounded(min(wanted, reach, round(loop.largest_micros)))
        integral = after.integral if slack == wanted else loop.integral
        return slack, replace(loop, integral=integral, measured=after.measured)

    def _pid(self, rate: float) -> Pid:
        return Pid(sqrt(rate), self.kp, self.ki, self.kd, -1.0, 1.0, acting="direct")

    def _bounded(self, slack_micros: int) -> int:
        slack = max(slack_micros, self._lowest_micros)
        return slack if self._highest_micros is None else min(slack, self._highest_micros)

    @property
    def _lowest_micros(self) -> int:
        return microseconds(self.at_least)

    @property
    def _highest_micros(self) -> int | None:
        return None if self.at_most is None else microseconds(self.at_most)


@dataclass(frozen=True, slots=True)
class _Loop:
    """What the loop remembers from batch to batch."""

    largest_micros: float = 0.0
    late_share: float = 0.0
    counted_rows: float = 0.0
    step_micros: float = 0.0
    integral: float = 0.0
    measured: float | None = None

    @classmethod
    def from_memory(cls, memory: Mapping[str, float]) -> _Loop:
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in memory.items() if name in known})

    def to_memory(self) -> dict[str, float]:
        return {} if self == _Loop() else {k: v for k, v in asdict(self).items() if v is not None}

    def counting(self, seen: Seen, rate: float) -> _Loop:
        """Average the share of late rows: over all rows at first, then over the newest ones."""
        remembered = min(self.counted_rows, REMEMBERED_LATE_ROWS / rate)
        counted = remembered + seen.rows
        share = (self.late_share * remembered + seen.late_rows) / counted
        return replace(self, late_share=share, counted_rows=counted)

    def stepping(self, advance_micros: int) -> _Loop:
        """Average the steps of event time from batch to batch.

        A gap in the stream is one huge step. It counts as the largest delay at most, or K would
        swing between its bounds until the gap is forgotten.
        """
        step = min(float(advance_micros), self.largest_micros)
        if self.step_micros:
            step = self.step_micros + STEP_WEIGHT * (step - self.step_micros)
        return replace(self, step_micros=step)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
