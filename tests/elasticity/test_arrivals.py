"""How many rows come, and what a policy makes of sources and operators."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from penstock.elasticity.arrivals import Arrivals
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.elasticity.workload import Workload, in_use, wired


def batch(
    number: int, started: float, rows: int, waiting: int | None = None, seconds: float = 0.5
) -> Observation:
    source = SourceObservation("clicks", rows, waiting)
    parse = OperatorObservation("parse", rows, rows // 2, rows * 0.01, 2, 0.1, 0.1)
    return Observation(number, started + seconds, seconds, 1.0, 4, (parse,), (source,))


def follow(*batches: Observation) -> Arrivals:
    arrivals = Arrivals()
    for each in batches:
        arrivals.observe(each, each.started_seconds)
    return arrivals


class TestArrivals:
    def test_what_batches_took_is_what_came_between_their_starts(self) -> None:
        arrivals = follow(batch(0, 0.0, 999), batch(1, 2.0, 100), batch(2, 4.0, 60))
        assert arrivals.rates == {"clicks": 30.0}
        assert arrivals.operator_rates == {"parse": 30.0}
        assert arrivals.between_seconds == 2.0

    def test_what_waits_has_come_too(self) -> None:
        arrivals = follow(batch(0, 0.0, 100, waiting=50), batch(1, 1.0, 100, waiting=250))
        assert arrivals.rates == {"clicks": 300.0}
        assert arrivals.operator_rates == {"parse": 100.0}

    def test_what_was_waiting_has_come_before(self) -> None:
        arrivals = follow(batch(0, 0.0, 100, waiting=250), batch(1, 1.0, 300, waiting=0))
        assert arrivals.rates == {"clicks": 50.0}

    def test_no_source_gives_less_than_nothing(self) -> None:
        arrivals = follow(batch(0, 0.0, 100, waiting=900), batch(1, 1.0, 10, waiting=0))
        assert arrivals.rates == {"clicks": 0.0}

    def test_batches_that_begin_at_once_count_together(self) -> None:
        arrivals = follow(
            batch(0, 0.0, 5), batch(1, 0.0, 100), batch(2, 0.0, 50), batch(3, 2.0, 30)
        )
        assert arrivals.rates == {"clicks": 90.0}

    def test_means_are_those_since_they_were_last_asked_for(self) -> None:
        arrivals = follow(batch(0, 0.0, 0), batch(1, 1.0, 100), batch(2, 3.0, 500))
        assert arrivals.mean_rates() == {"clicks": 200.0}
        assert arrivals.mean_rates() == {"clicks": 250.0}  # nothing new: the last known

    @pytest.mark.parametrize("seconds", [0.4, 0.5, 0.6])
    def test_a_clock_set_back_is_not_twice_the_load(self, seconds: float) -> None:
        arrivals = follow(*(batch(number, float(number), 100) for number in range(6)))
        back = replace(batch(6, 6.0, 100, seconds=seconds), at_seconds=-3_600.0)
        # The clock that never goes back stands still meanwhile: at the end of the last batch.
        assert arrivals.observe(back, 5.5 - seconds)
        assert arrivals.rates == {"clicks": 100.0}
        after = replace(batch(7, 7.0, 100), at_seconds=-3_599.0)
        arrivals.observe(after, 6.5 - seconds)
        assert arrivals.rates == {"clicks": 100.0}

    def test_a_burst_is_not_usual(self) -> None:
        steady = [batch(number, float(number), 100) for number in range(6)]
        arrivals = follow(*steady, batch(6, 6.0, 9_000), batch(7, 7.0, 8_000))
        assert arrivals.rates == {"clicks": 8_000.0}
        assert arrivals.usual_rates == {"clicks": 100.0}
        arrivals.observe(batch(8, 8.0, 7_000), 8.0)
        assert arrivals.usual_rates == {"clicks": 7_000.0}


class TestWired:
    def test_topologies_of_penstock_stay_as_they_are(self) -> None:
        source = SourceObservation("clicks", 10)
        operators = (
            OperatorObservation("clicks", 10, 10, 0.0, 0, 0.0, 0.0),
            OperatorObservation("parse", 10, 5, 0.1, 1, 0.1, 0.1, inputs=("clicks",)),
        )
        seen = Observation(0, 1.0, 1.0, 1.0, 4, operators, (source,))
        assert wired(seen) is seen

    def test_what_says_nothing_reads_every_source(self) -> None:
        sources = (SourceObservation("a", 10), SourceObservation("b", 30))
        query = OperatorObservation("query", 40, 5, 0.1, 1, 0.1, 0.1)
        seen = wired(Observation(0, 1.0, 1.0, 1.0, 4, (query,), sources))
        assert [(each.name, each.rows_out, each.inputs) for each in seen.operators] == [
            ("query", 5, ("a", "b")),
            ("a", 10, ()),
            ("b", 30, ()),
        ]


class TestWorkload:
    def workload(self) -> Workload:
        load = Workload()
        for number in range(5):
            each = batch(number, float(number), 100, waiting=0)
            load.observe(each, each.at_seconds, learn=True)
        return load

    def test_rows_go_through_the_topology(self) -> None:
        rows = self.workload().rows({"clicks": 100.0}, 10.0, {"clicks": 50.0})
        assert rows == pytest.approx({"clicks": 1_050.0, "parse": 1_050.0})

    def test_work_is_rows_times_their_cost(self) -> None:
        assert self.workload().work_per_second() == pytest.approx(1.0, rel=0.05)

    def test_rows_come_while_a_batch_is_late(self) -> None:
        late = batch(5, 5.0, 100, waiting=20, seconds=3.0)
        assert self.workload().pending(late) == {"clicks": pytest.approx(20 + 2 * 100)}

    @pytest.mark.parametrize(("trigger", "utilisation"), [(2.0, 0.25), (None, 1.0 / (3 * 1.0))])
    def test_utilisation(self, trigger: float | None, utilisation: float) -> None:
        load = self.workload()
        parse = OperatorObservation("parse", 100, 50, 1.0, 2, 0.5, 0.5)
        seen = Observation(5, 5.5, 0.5, trigger, 4, (parse,), used_slots=3)
        assert load.utilisation(seen) == pytest.approx(utilisation)

    def test_tasks_are_only_those_of_operators(self) -> None:
        load = self.workload()
        assert load.tasks(batch(5, 5.0, 100), slots=8).keys() == {"parse"}
        few = load.tasks(batch(5, 5.0, 100), slots=3)["parse"]
        assert few == 3  # a second of work pays for all of them

    def test_nothing_is_learnt_of_costs_where_told_so(self) -> None:
        load = self.workload()
        before = json.dumps(load.capacity.save())
        odd = batch(5, 5.0, 1, seconds=0.9)
        load.observe(odd, odd.at_seconds, learn=False)
        assert json.dumps(load.capacity.save()) == before
        assert load.arrivals.rates == {"clicks": 1.0}

    def test_slots_in_use_are_among_those_there_are(self) -> None:
        assert in_use(Observation(0, 1.0, 1.0, None, 4)) == 4
        assert in_use(Observation(0, 1.0, 1.0, None, 4, used_slots=2)) == 2
        assert in_use(Observation(0, 1.0, 1.0, None, 4, used_slots=9)) == 4
