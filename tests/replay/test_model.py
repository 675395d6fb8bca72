"""A replay worked out by hand, and what holds for every replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.elasticity.static import Static
from penstock.replay.arrivals import Arrivals
from penstock.replay.batches import IDLE_SECONDS, ReplayedBatch
from penstock.replay.model import replay
from penstock.replay.work import Work
from replay.loads import conditions

# 10 rows a second for 30 s.
STEADY = Arrivals((0.0, 30.0), (0, 300))
WORK = Work(fixed_seconds=1.0, slot_seconds_per_row=0.1)


@dataclass
class Asks:
    """Asks for these slots, one after the other, and remembers what it was shown."""

    slots: Sequence[int]
    seen: list[Observation] = field(default_factory=list)

    def decide(self, observation: Observation) -> Decision:
        self.seen.append(observation)
        return Decision(self.slots[min(len(self.seen), len(self.slots)) - 1], "as told")


def test_slots_that_keep_up() -> None:
    # rows     |0........100|......200|......300|
    # batches               |--6 s--| |--6 s--| |--6 s--|
    # time     0           10      16 20      26 30     36
    found = replay(STEADY, WORK, Static(2), conditions())
    assert found.batches == (
        ReplayedBatch(10.0, 6.0, 100, slots=2, waiting_rows=60),
        ReplayedBatch(20.0, 6.0, 100, slots=2, waiting_rows=60),
        ReplayedBatch(30.0, 6.0, 100, slots=2, waiting_rows=0),
    )
    assert (found.slot_seconds, found.behind_seconds, found.changes) == (72.0, 0.0, 0)
    # Every batch's rows came in the 10 s before it and were done 6 s after its start.
    assert found.mean_latency_seconds == pytest.approx(11.0)
    assert found.p95_latency_seconds == pytest.approx(15.5, abs=1e-3)


def test_slots_that_do_not_keep_up() -> None:
    # A batch that takes longer than the trigger is followed at once by the next.
    found = replay(STEADY, WORK, Static(1), conditions())
    assert found.batches == (
        ReplayedBatch(10.0, 11.0, 100, slots=1, waiting_rows=110),
        ReplayedBatch(21.0, 12.0, 110, slots=1, waiting_rows=90),
        ReplayedBatch(33.0, 10.0, 90, slots=1, waiting_rows=0),
    )
    assert (found.slot_seconds, found.behind_seconds) == (43.0, 23.0)
    assert found.mean_latency_seconds == pytest.approx((100 * 16 + 110 * 17.5 + 90 * 17.5) / 300)


def test_slots_take_their_time_to_come() -> None:
    policy = Asks([1, 3])
    found = replay(STEADY, WORK, policy, conditions(executor_seconds=5.0))
    # Asked for when the first batch is over, at 21; there at 26, so for the batch at 33.
    assert [(batch.started_seconds, batch.slots) for batch in found.batches] == [
        (10.0, 1),
        (21.0, 1),
        (33.0, 3),
    ]
    assert found.timeline == ((0.0, 1), (26.0, 3))
    assert found.slot_seconds == 1 * 26 + 3 * (37 - 26)
    assert found.changes == 1


def test_slots_cost_until_the_end_of_what_was_recorded() -> None:
    assert replay(STEADY, WORK, Static(2), conditions(ended_seconds=100.0)).slot_seconds == 200.0


def test_a_policy_is_asked_until_the_end_of_what_was_recorded() -> None:
    policy = Asks([4, 4, 4, 4, 1])
    found = replay(STEADY, WORK, policy, conditions(ended_seconds=100.0))
    idle = [seen.at_seconds for seen in policy.seen[1:] if not seen.rows_in]
    assert idle == [50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    assert found.slot_seconds == 4 * 50 + 1 * 50
    assert found.ended_seconds < 40.0


def test_a_recording_without_rows_is_idle_to_its_end() -> None:
    found = replay(Arrivals((0.0, 9.0), (0, 0)), WORK, Asks([3, 1]), conditions(ended_seconds=50.0))
    assert found.slot_seconds == 3 * 10 + 1 * 40


def test_slots_that_are_not_wanted_go_at_once() -> None:
    found = replay(STEADY, WORK, Asks([4, 1]), conditions(executor_seconds=60.0))
    assert [batch.slots for batch in found.batches] == [4, 1, 1]


def test_a_policy_is_held_to_the_bounds() -> None:
    found = replay(STEADY, WORK, Asks([1, 99]), conditions(least_slots=2, most_slots=5))
    assert [batch.slots for batch in found.batches] == [2, 5, 5]


def test_what_a_policy_sees() -> None:
    policy = Asks([2])
    replay(STEADY, WORK, policy, conditions(tells_waiting=True))
    start, first = policy.seen[:2]
    assert (start.batch_id, start.slots, start.most_slots) == (-1, 2, 8)
    assert (first.batch_id, first.at_seconds, first.batch_seconds) == (0, 16.0, 6.0)
    assert (first.rows_in, first.waiting_rows, first.trigger_seconds) == (100, 0, 10.0)
    assert first.operators[-1].busy_seconds == pytest.approx(10.0)
    assert policy.seen[-1].batch_id == 2


def test_a_policy_is_told_that_nothing_comes() -> None:
    pause = Arrivals((0.0, 0.0, 100.0, 100.0), (0, 50, 50, 100))
    policy = Asks([2])
    found = replay(pause, WORK, policy, conditions(trigger_seconds=None))
    assert [batch.started_seconds for batch in found.batches] == [0.0, 100.0]
    idle = [seen.at_seconds for seen in policy.seen if seen.batch_id == 0][1:]
    assert idle == pytest.approx([3.5 + IDLE_SECONDS * n for n in range(1, 10)])


def test_a_policy_that_keeps_its_mind_is_asked_less_often_in_a_long_pause() -> None:
    days = 30 * 86_400.0
    pause = Arrivals((0.0, 0.0, days, days), (0, 50, 50, 100))
    policy = Asks([2])
    found = replay(pause, WORK, policy, conditions(trigger_seconds=None))
    assert [batch.started_seconds for batch in found.batches] == [0.0, days]
    idle = [seen.at_seconds for seen in policy.seen if seen.batch_id == 0][1:]
    assert len(idle) < 5_000
    assert idle[359] == pytest.approx(3.5 + 360 * IDLE_SECONDS)
    assert idle[360] - idle[359] == pytest.approx(600.0)
    assert found.slot_seconds == pytest.approx(2 * (days + 3.5))


def test_a_policy_that_changes_its_mind_in_a_long_pause_is_asked_as_usual_again() -> None:
    pause = Arrivals((0.0, 0.0, 1e5, 1e5), (0, 50, 50, 100))
    policy = Asks([2] * 400 + [3])
    replay(pause, WORK, policy, conditions(trigger_seconds=None))
    changed = policy.seen[400].at_seconds
    assert changed - policy.seen[399].at_seconds == pytest.approx(600.0)
    assert policy.seen[401].at_seconds - changed == pytest.approx(IDLE_SECONDS)


@pytest.mark.parametrize(("rate", "third"), [(1, 20.0), (7, 21.4)])
def test_a_batch_that_began_late_is_followed_at_once_if_it_runs_on(rate: int, third: float) -> None:
    """Spark waits for the first trigger after a batch began, not for the first after it ended."""
    # 110 rows take 12 s, and the 12 or 84 that come meanwhile 2.2 s or 9.4 s from then on
    burst = Arrivals((0.0, 0.0, 30.0), (110, 110, 110 + 30 * rate))
    found = replay(burst, WORK, Static(1), conditions())
    starts = [batch.started_seconds for batch in found.batches]
    assert starts[:3] == pytest.approx([0.0, 12.0, third])


def test_triggers_are_at_whole_multiples_of_their_time_whenever_a_query_began() -> None:
    began = 1_767_225_604.0
    rows = Arrivals((began, began, began + 30.0), (10, 10, 310))
    found = replay(rows, WORK, Static(2), conditions())
    starts = [batch.started_seconds - began for batch in found.batches]
    assert starts == pytest.approx([0.0, 6.0, 16.0, 26.0, 36.0])


def test_without_a_trigger_batches_follow_each_other() -> None:
    found = replay(STEADY, WORK, Static(2), conditions(trigger_seconds=None))
    ends = [batch.started_seconds + batch.seconds for batch in found.batches]
    assert [batch.started_seconds for batch in found.batches[1:]] == pytest.approx(ends[:-1])


@st.composite
def loads(draw: st.DrawFn) -> Arrivals:
    gaps = draw(st.lists(st.floats(0, 100), min_size=1, max_size=12))
    added = draw(st.lists(st.integers(0, 5_000), min_size=len(gaps), max_size=len(gaps)))
    times, totals = [1.7e9], [draw(st.integers(0, 100))]
    for gap, rows in zip(gaps, added, strict=True):
        times.append(times[-1] + gap)
        totals.append(totals[-1] + rows)
    return Arrivals(tuple(times), tuple(totals))


@given(
    arrivals=loads(),
    fixed=st.floats(0.05, 20),
    per_row=st.floats(0, 0.5),
    trigger=st.none() | st.floats(0.5, 60),
    asked=st.lists(st.integers(1, 20), min_size=1, max_size=6),
    executor_seconds=st.floats(0, 60),
)
def test_every_row_is_processed_once_or_waits(
    arrivals: Arrivals,
    fixed: float,
    per_row: float,
    trigger: float | None,
    asked: list[int],
    executor_seconds: float,
) -> None:
    given_ = conditions(trigger_seconds=trigger, executor_seconds=executor_seconds)
    found = replay(arrivals, Work(fixed, per_row), Asks(asked), given_)
    done, end = 0, arrivals.times_seconds[0]
    for batch in found.batches:
        assert batch.started_seconds >= end - 1e-6
        done += batch.rows
        end = batch.started_seconds + batch.seconds
        assert done + batch.waiting_rows == arrivals.until(end)
        assert 1 <= batch.slots <= 8
        assert batch.rows > 0
    assert done == arrivals.rows
    assert found.mean_latency_seconds >= 0
    assert found.slot_seconds >= 0


def test_a_load_without_rows_has_no_batches() -> None:
    found = replay(Arrivals((0.0, 9.0), (0, 0)), WORK, Static(3), conditions(ended_seconds=9.0))
    assert (found.batches, found.slot_seconds, found.p95_latency_seconds) == ((), 27.0, 0.0)
