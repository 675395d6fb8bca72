"""K-slack: K is the largest delay; and the loop that holds a rate of late rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.errors import ConfigurationError
from penstock.windows.kslack import KSlack
from penstock.windows.watermark import FixedDelay, Mark, Seen

SECOND = 1_000_000
TEN_YEARS = 10 * 365 * 86_400 * SECOND

batches_of_times = st.lists(
    st.lists(st.integers(-(10**9), 10**9), max_size=5), min_size=1, max_size=15
)


def shown(times: list[int], mark: Mark = Mark()) -> Seen:  # noqa: B008
    """Return what a batch of rows shows, its late rows counted."""
    late = 0 if mark.micros is None else sum(time <= mark.micros for time in times)
    if not times:
        return Seen(rows=0, newest_micros=None, oldest_micros=None)
    return Seen(len(times), max(times), min(times), late)


def run(rule: KSlack, batches: list[list[int]]) -> list[Mark]:
    """Return the mark after every batch."""
    mark, marks = Mark(), []
    for times in batches:
        mark = rule.advance(mark, shown(times, mark))
        marks.append(mark)
    return marks


def in_seconds(*batches: list[int]) -> list[list[int]]:
    return [[second * SECOND for second in batch] for batch in batches]


def test_k_grows_to_the_largest_delay() -> None:
    # times       100   98 104   103 101 110   -     90 111   120
    # delay       -     2        3             -     20       none
    # K           0     2        3             3     20       20
    # newest - K  100   102      107           107   91       100
    # watermark   100   102      107           107   107      107
    marks = run(KSlack(), in_seconds([100], [98, 104], [103, 101, 110], [], [90, 111], [120]))
    slacks = [mark.slack_micros for mark in marks]
    assert slacks == [second * SECOND for second in (0, 2, 3, 3, 20, 20)]
    watermarks = [mark.micros for mark in marks]
    assert watermarks == [second * SECOND for second in (100, 102, 107, 107, 107, 107)]


def test_disorder_within_a_batch_is_no_delay() -> None:
    marks = run(KSlack(), in_seconds([100, 5, 50], [160, 101, 130]))
    assert [mark.slack_micros for mark in marks] == [0, 0]


def test_it_counts_in_whole_milliseconds_rounded_down() -> None:
    marks = run(KSlack(), [[10_999], [10_498, 22_600]])
    assert [mark.micros for mark in marks] == [10_000, 22_000]
    assert marks[1].slack_micros == 501  # 22.6 ms - 0.501 ms = 22.099 ms
    assert run(KSlack(), [[-1]])[0].micros == -1_000


def test_bounds() -> None:
    batches = in_seconds([100], [99, 110], [60, 120])
    marks = run(KSlack(at_least="5 seconds", at_most="8 seconds"), batches)
    assert [mark.slack_micros for mark in marks] == [5 * SECOND, 5 * SECOND, 8 * SECOND]
    assert [mark.micros for mark in marks] == [95 * SECOND, 105 * SECOND, 112 * SECOND]


def test_one_row_ten_years_behind_stops_the_watermark_unless_k_is_bounded() -> None:
    batches = [[0], [-TEN_YEARS], *in_seconds([10], [20])]
    assert [mark.micros for mark in run(KSlack(), batches)] == [0, 0, 0, 0]
    bounded = run(KSlack(at_most="5 seconds"), batches)
    assert [mark.micros for mark in bounded] == [0, 0, 5 * SECOND, 15 * SECOND]


def test_one_row_ten_years_ahead_takes_the_watermark_along() -> None:
    for rule in (KSlack(), KSlack(at_most="1 minute"), KSlack(drop_rate=0.05)):
        marks = run(rule, [[0], [TEN_YEARS], *in_seconds([10], [20])])
        assert [mark.micros for mark in marks[1:]] == [TEN_YEARS] * 3


@given(batches_of_times)
def test_k_is_the_largest_delay_of_any_row(batches: list[list[int]]) -> None:
    newest: int | None = None
    largest = 0
    for times, mark in zip(batches, run(KSlack(), batches), strict=True):
        for time in times:
            largest = largest if newest is None else max(largest, newest - time)
        newest = max([*times, *([] if newest is None else [newest])], default=None)
        assert mark.newest_micros == newest
        assert mark.slack_micros == (None if newest is None else largest)


@given(batches_of_times)
def test_a_row_no_later_than_one_before_it_is_not_before_the_watermark(
    batches: list[list[int]],
) -> None:
    """But for the time in which the watermark, which cannot go back, stands until it is K behind.

    A window that holds such a row ends after it, so it was not closed.
    """
    mark, largest = Mark(), 0
    for times in batches:
        newest = mark.newest_micros
        for time in times:
            delay = 0 if newest is None else newest - time
            has_stood = newest is not None and mark.micros is not None
            if delay <= largest and has_stood and mark.micros <= newest - largest:
                assert time >= mark.micros
        if newest is not None:
            largest = max([largest, *(newest - time for time in times)])
        mark = KSlack().advance(mark, shown(times))


@given(batches_of_times)
def test_with_the_largest_delay_known_from_the_start_no_row_is_before_the_watermark(
    batches: list[list[int]],
) -> None:
    largest = run(KSlack(), batches)[-1].slack_micros or 0
    rule, mark = KSlack(at_least=timedelta(microseconds=largest)), Mark()
    for times in batches:
        assert mark.micros is None or all(time >= mark.micros for time in times)
        mark = rule.advance(mark, shown(times))
        assert mark.slack_micros in (None, largest)


def test_the_watermark_stands_until_it_is_k_behind() -> None:
    # newest      100   100   102   106
    # row         -     96    97
    # K           0     4     4     4
    # watermark   100   100   100   102     97 is late, though by 3 only
    marks = run(KSlack(), in_seconds([100], [96], [102, 97], [106]))
    assert [mark.micros for mark in marks] == [s * SECOND for s in (100, 100, 100, 102)]


@given(batches_of_times, st.integers(0, 10**9))
def test_it_trails_no_more_than_it_must(batches: list[list[int]], bound: int) -> None:
    """Where the watermark moved, it stands at the newest time less K, to the millisecond."""
    before = None
    for mark in run(KSlack(at_most=bound / SECOND), batches):
        if mark.micros != before:
            assert mark.newest_micros is not None
            assert mark.slack_micros is not None
            assert mark.micros is not None
            assert 0 <= mark.newest_micros - mark.slack_micros - mark.micros < 1_000
        before = mark.micros


# The loop. Rows arrive evenly; each is as old as its delay says.


@dataclass(frozen=True)
class Traffic:
    """A stationary stream: so many rows in so many seconds a batch, with delays like these."""

    delays: Callable[[np.random.Generator, int], NDArray[np.float64]]
    batch_seconds: float
    rows: int = 200

    def times(self, batch: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Draw the event times of a batch, in microseconds."""
        arrival = (batch + random.random(self.rows)) * self.batch_seconds
        return ((arrival - self.delays(random, self.rows)) * SECOND).astype(np.int64)


def uniform(random: np.random.Generator, rows: int) -> NDArray[np.float64]:
    return random.uniform(0.0, 2.0, rows)


def exponential(random: np.random.Generator, rows: int) -> NDArray[np.float64]:
    return random.exponential(1.0, rows)


def heavy(random: np.random.Generator, rows: int) -> NDArray[np.float64]:
    return random.pareto(1.5, rows)


def two_sites(random: np.random.Generator, rows: int) -> NDArray[np.float64]:
    return np.where(random.random(rows) < 0.5, 1.0, 0.01)


def ten_times_slower(random: np.random.Generator, rows: int) -> NDArray[np.float64]:
    return random.exponential(10.0, rows)


def feed(
    rule: KSlack, mark: Mark, traffic: Traffic, batches: range
) -> tuple[Mark, list[Mark], NDArray[np.float64]]:
    """Run batches; return the last mark, all marks, and the share of late rows of each batch."""
    random = np.random.default_rng([1, batches.start])
    marks, shares = [], []
    for batch in batches:
        times = traffic.times(batch, random)
        late = 0 if mark.micros is None else int((times <= mark.micros).sum())
        mark = rule.advance(mark, Seen(len(times), int(times.max()), int(times.min()), late))
        marks.append(mark)
        shares.append(late / len(times))
    return mark, marks, np.array(shares)


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2])
@pytest.mark.parametrize(
    ("delays", "batch_seconds"),
    [
        (uniform, 0.2),
        (uniform, 1.0),
        (exponential, 0.2),
        (exponential, 1.0),
        (two_sites, 0.2),
        (two_sites, 1.0),
        # K must be many times the mean delay here, and takes as much event time to get there.
        (heavy, 1.0),
        (heavy, 2.0),
    ],
)
def test_the_loop_holds_the_rate(
    delays: Callable[..., Any], batch_seconds: float, rate: float
) -> None:
    """After 400 batches, the rate over any 200 is within a tenth of what was asked for."""
    traffic = Traffic(delays, batch_seconds, rows=400)
    _, marks, shares = feed(KSlack(rate), Mark(), traffic, range(1_000))
    means = np.convolve(shares[400:], np.ones(200) / 200, "valid")
    assert 0.9 * rate < means.min()
    assert means.max() < 1.1 * rate
    # Not by swinging from none to all: K is steady.
    slacks = np.array([mark.slack_micros for mark in marks[400:]], dtype=float)
    assert slacks.std() < 0.2 * slacks.mean()


def test_the_loop_waits_less_than_k_slack_without_it() -> None:
    traffic = Traffic(exponential, 1.0)
    held, _, _ = feed(KSlack(0.05), Mark(), traffic, range(300))
    patient, _, _ = feed(KSlack(), Mark(), traffic, range(300))
    assert held.slack_micros is not None
    assert patient.slack_micros is not None
    assert held.slack_micros < patient.slack_micros / 2


def test_the_loop_follows_when_delays_change() -> None:
    rule = KSlack(0.05)
    mark, _, _ = feed(rule, Mark(), Traffic(exponential, 1.0), range(200))
    quick = mark.slack_micros
    mark, _, _ = feed(rule, mark, Traffic(ten_times_slower, 1.0), range(200, 500))
    slow = mark.slack_micros
    mark, _, shares = feed(rule, mark, Traffic(exponential, 1.0), range(500, 900))
    assert quick is not None
    assert slow is not None
    assert mark.slack_micros is not None
    assert slow > 5 * quick
    assert mark.slack_micros < 2 * quick
    assert 0.04 < shares[-100:].mean() < 0.06


def test_a_rate_that_cannot_be_reached_gives_the_least_slack() -> None:
    # Of a batch of 20 seconds, rows a second late are a 20th: fewer than may be late.
    rule = KSlack(0.5, at_least="100 milliseconds")
    mark, _, shares = feed(rule, Mark(), Traffic(exponential, 20.0), range(200))
    assert mark.slack_micros == 100_000
    assert shares[1:].max() < 0.5


def test_one_wild_row_behind_is_one_late_row() -> None:
    rule, traffic = KSlack(0.05), Traffic(exponential, 1.0)
    mark, _, _ = feed(rule, Mark(), traffic, range(200))
    wild = Seen(rows=200, newest_micros=200 * SECOND, oldest_micros=-TEN_YEARS, late_rows=11)
    mark = rule.advance(mark, wild)
    assert mark.slack_micros is not None
    assert mark.slack_micros < 10 * SECOND
    _, _, shares = feed(rule, mark, traffic, range(201, 500))
    assert 0.04 < shares[-200:].mean() < 0.06


def test_a_gap_in_the_stream_does_not_set_the_loop_swinging() -> None:
    rule, traffic = KSlack(0.05), Traffic(exponential, 1.0)
    mark, _, _ = feed(rule, Mark(), traffic, range(200))
    _, marks, shares = feed(rule, mark, traffic, range(30_000, 30_200))
    slacks = np.array([each.slack_micros for each in marks], dtype=float)
    assert slacks.std() < 0.5 * slacks.mean()
    assert 0.04 < shares[50:].mean() < 0.06


@pytest.mark.parametrize("gains", [{}, {"ki": 0.2}, {"kd": 0.3}])
def test_it_does_not_wind_up_while_every_row_is_late(gains: dict[str, float]) -> None:
    """K keeps near what the watermark can do: it stands, so the slack grows with event time."""
    rule = KSlack(0.05, at_least="1 minute", **gains)
    now, mark = 0, Mark()
    for batch in range(400):
        now = batch * SECOND
        oldest = now - 3_600 * SECOND
        late = 0 if batch < 100 else 100
        mark = rule.advance(mark, Seen(100, now, oldest, late))
        if batch >= 100:
            assert mark.micros is not None
            assert mark.slack_micros is not None
            assert mark.slack_micros <= now - mark.micros + 6 * SECOND
    stood = mark.micros
    for batch in range(400, 440):
        now = batch * SECOND
        mark = rule.advance(mark, Seen(100, now, now - 3_600 * SECOND, 0))
    assert stood is not None
    assert mark.micros is not None
    assert mark.micros - stood > 10 * SECOND


def test_rows_that_only_come_late_do_not_move_k() -> None:
    # Event time stands, so no K in the world would let them in: it stays what it really is.
    rule = KSlack(0.05)
    before = run(rule, in_seconds([100], [20, 110], [109, 120]))[-1]
    mark = before
    for _ in range(300):
        mark = rule.advance(mark, shown([50 * SECOND], mark))
        assert mark.micros == before.micros
        assert mark.micros is not None
        assert mark.slack_micros is not None
        ahead = mark.slack_micros - (120 * SECOND - mark.micros)
        assert ahead <= 5 * mark.memory["step_micros"] + 1
    assert mark.newest_micros == before.newest_micros == 120 * SECOND
    assert mark.slack_micros == 120 * SECOND - (mark.micros or 0)


def test_the_integral_does_not_wind_up_while_k_is_at_its_bound() -> None:
    rule, mark = KSlack(0.05, at_least="1 second", kp=0.0, ki=0.2), Mark()
    for batch in range(200):
        now = batch * 10 * SECOND
        mark = rule.advance(mark, Seen(100, now, now - 60 * SECOND, 0))
    assert mark.slack_micros == SECOND
    mark = rule.advance(mark, Seen(100, 2_000 * SECOND, 1_900 * SECOND, 50))
    assert mark.slack_micros is not None
    assert mark.slack_micros > SECOND


@pytest.mark.parametrize(
    ("gains", "slack_seconds"),
    [({"kp": 1.0}, 37.5), ({"kp": 0.0, "ki": 0.5}, 18.75), ({"kp": 0.0, "kd": 0.4}, 15.0)],
)
def test_a_step_of_the_loop(gains: dict[str, float], slack_seconds: float) -> None:
    # rate 0.25, so its root is 0.5; 80 rows are remembered
    # late       none    20 of 80        80 of 80
    # share      -       0.25            (20 + 80) / 160 = 0.625
    # measured   -       0.5             1.25, which is 0.75 above the set point and the last one
    # delay      -       50 s            -
    # step       -       50 s            50 s: 100 s of event time, but no more than the delay
    rule = KSlack(0.25, **gains)
    mark = rule.advance(Mark(), Seen(80, 0, 0))
    mark = rule.advance(mark, Seen(80, 100 * SECOND, -50 * SECOND, 20))
    assert (mark.slack_micros, mark.micros) == (0, 100 * SECOND)
    mark = rule.advance(mark, Seen(80, 200 * SECOND, 100 * SECOND, 80))
    assert mark.slack_micros == slack_seconds * SECOND
    assert mark.micros == (200 - slack_seconds) * SECOND


@given(batches_of_times, st.sampled_from([0.01, 0.3, 0.99]), st.floats(0, 5), st.floats(0, 5))
def test_the_loop_keeps_k_below_the_largest_delay(
    batches: list[list[int]], rate: float, ki: float, kd: float
) -> None:
    patient = run(KSlack(), batches)
    for held, free in zip(run(KSlack(rate, ki=ki, kd=kd), batches), patient, strict=True):
        if free.slack_micros is not None:
            assert held.slack_micros is not None
            assert 0 <= held.slack_micros <= free.slack_micros


def test_the_loop_goes_on_from_json_as_if_nothing_had_happened() -> None:
    rule, traffic = KSlack(0.05, ki=0.1, kd=0.2), Traffic(exponential, 1.0)
    mark, _, _ = feed(rule, Mark(), traffic, range(100))
    again = Mark.from_json(json.loads(json.dumps(mark.to_json())))
    assert again == mark
    assert (
        feed(rule, again, traffic, range(100, 200))[1]
        == (feed(rule, mark, traffic, range(100, 200))[1])
    )


def test_only_the_loop_counts_late_rows() -> None:
    assert not KSlack().counts_late
    assert KSlack(0.05).counts_late


def test_changing_the_rule_keeps_the_watermark() -> None:
    batches = in_seconds([50], [47, 60], *([second] for second in range(61, 111)))
    mark = run(KSlack(0.05), batches)[-1]
    assert mark.slack_micros is not None
    assert mark.slack_micros < 3 * SECOND
    # Without the rate, K is the largest delay again.
    patient = KSlack().advance(mark, shown([111 * SECOND]))
    assert patient.slack_micros == 3 * SECOND
    assert patient.memory == {}
    fixed = FixedDelay.of("1 hour").advance(mark, shown([111 * SECOND]))
    assert (fixed.micros, fixed.slack_micros, fixed.memory) == (mark.micros, None, {})
    for rule in (KSlack(), KSlack(0.05)):
        back = rule.advance(fixed, shown([112 * SECOND]))
        assert back.micros == 112 * SECOND


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (KSlack(), "the largest delay seen behind the newest row"),
        (KSlack(at_most="1 hour"), "the largest delay seen behind the newest row, at most 3600 s"),
        (
            KSlack(0.05, at_least=1, at_most=2),
            "behind the newest row so that 5 % are late, at least 1 s, at most 2 s",
        ),
    ],
)
def test_says_its_rule(rule: KSlack, text: str) -> None:
    assert rule.describe() == text


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, 5, float("nan"), True, "5 %"])
def test_a_rate_that_is_no_share_is_refused(rate: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"drop_rate is .*like drop_rate=0\.05"):
        KSlack(rate)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"at_most": "soon"}, "'soon' is not a length of time"),
        ({"at_least": -1}, "-1 is not a length of time"),
        ({"at_least": "2 hours", "at_most": "1 hour"}, "at_least up to at_most"),
        ({"kp": -1.0}, r"kp is -1\.0"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        KSlack(**settings)
