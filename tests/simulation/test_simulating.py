"""Policies compared from Python: sweeps, processes, and which run is best."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError
from penstock.journal import read
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.laws import Constant
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.parallel import run_trials
from penstock.simulation.replicas.engine import ReplicaEngine
from penstock.simulation.simulating import simulate
from penstock.simulation.sweep import read_swept, trials_of
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology
from penstock.simulation.trial import Trial
from penstock.sources.trace import trace_of_counts

SCORE = SimulatedOperator("score", {"clicks": 1.0}, Constant(0.01))
CLICKS = SimulatedTopology("clicks", (SimulatedSource("clicks"),), (SCORE,))
COUNTS = [100.0] * 30 + [300.0] * 30
LOAD = Load(trace_of_counts(COUNTS))
SPARK = MicroBatch(executor_seconds=2.0, costs=BatchCosts(0.1, 0.0, 1.0))


def labels(*swept: str, policies: tuple[str, ...] = ("static:4", "replica-pool")) -> list[str]:
    return [each.label for each in trials_of(policies, SPARK, CLICKS, LOAD, read_swept(swept))]


def test_the_cheapest_that_keeps_up_is_best() -> None:
    found = simulate(COUNTS, CLICKS, ["static:2", "static:4", "static:8"], cluster=SPARK)
    slow, enough, much = (each.measures for each in found.outcomes)
    assert slow.p99_latency_seconds > 5 > enough.p99_latency_seconds > much.p99_latency_seconds
    assert found.best.label == "static:4"
    assert found.advice.startswith("static:4 is the cheapest of 3 tried that keeps up: 0.07 slot-h")
    assert (enough.saved, enough.slot_hours) == (0.5, 4 * 60 / 3600)
    assert slow.degradation > enough.degradation


def test_of_runs_that_cost_the_same_the_quickest_is_best() -> None:
    policies = {"late": Static(4), "soon": Static(4)}
    found = simulate(COUNTS, CLICKS, policies, cluster=SPARK)
    late = replace(found["late"].run, mean_latency_seconds=9.0)
    changed = replace(found, outcomes=(replace(found["late"], run=late), found["soon"]))
    assert changed.best.label == "soon"
    with pytest.raises(
        ConfigurationError, match=r"no run is called 'never'. There are: late, soon"
    ):
        changed["never"]


def test_the_advice_says_what_is_saved_or_that_none_keeps_up() -> None:
    enough = simulate(COUNTS, CLICKS, ["static:8"], cluster=SPARK).advice
    assert "static:8 is the cheapest that keeps up" in enough
    assert "slot-hours, as 8 slots all the time" in enough
    assert ", 50% less than 8 slots" in simulate(COUNTS, CLICKS, ["static:4"], cluster=SPARK).advice
    few = simulate(COUNTS, CLICKS, ["static:1"], cluster=SPARK).advice
    assert "static:1 comes nearest, but does not keep up: 99 % of the rows" in few
    assert "in a load of 60 s. It needs more slots" in few
    replicas = ReplicaEngine(most_replicas=1)
    slow = simulate([300.0] * 200, CLICKS, ["static:1"], cluster=replicas).advice
    assert "does not keep up" in slow


def test_rows_that_are_not_processed_are_worse_than_slots_saved() -> None:
    strict = replace(SPARK, deadline_seconds=3.0)
    found = simulate(COUNTS, CLICKS, ["static:4", "static:8"], cluster=strict)
    assert found.best.label == "static:4"
    # With the same latency of what is done, a run that loses rows is no choice.
    lossy = replace(found["static:4"].run, done_rows=found.load.rows * 99 // 100)
    changed = replace(found["static:4"], run=lossy)
    assert replace(found, outcomes=(changed, found["static:8"])).best.label == "static:8"


def test_a_sweep_is_all_combinations_and_names_what_differs() -> None:
    assert labels(
        "policy.utilisation=0.7,0.9", "costs.fixed_seconds=0.2", "topology.scale=1,2"
    ) == [
        "static:4, topology.scale=1",
        "static:4, topology.scale=2",
        "replica-pool:utilisation=0.7, topology.scale=1",
        "replica-pool:utilisation=0.7, topology.scale=2",
        "replica-pool:utilisation=0.9, topology.scale=1",
        "replica-pool:utilisation=0.9, topology.scale=2",
    ]


def test_what_is_set_is_what_runs() -> None:
    written = ["costs.fixed_seconds=0.3", "mechanism.executor_seconds=7", "mechanism.fused=false"]
    written += ["topology.scale=2", "policy.interval=5s", "mechanism.placement=cost-aware"]
    (trial,) = trials_of(["replica-pool"], SPARK, CLICKS, LOAD, read_swept(written))
    assert isinstance(trial.cluster, MicroBatch)
    assert trial.cluster.costs == BatchCosts(0.3, 0.0, 1.0)
    assert (trial.cluster.executor_seconds, trial.cluster.fused) == (7, False)
    assert trial.cluster.placement == "cost-aware"
    assert trial.topology.seconds_per_row() == pytest.approx(0.02)
    assert (trial.policy, trial.label) == ("replica-pool:interval=5s", "replica-pool")
    law = trial.topology.operators[0].law
    drawn = law.draw(np.zeros(2, dtype=np.int64), np.random.default_rng(0))
    assert drawn.tolist() == pytest.approx([0.02, 0.02])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("margin=0.1", "'margin=0.1' can't be set. Write policy.margin=0.1,0.2,0.3, for example"),
        ("cost.fixed_seconds=1", "before the dot is one of policy, mechanism, costs, topology"),
        ("policy.margin=0.1", "the policies static:4, replica-pool: there is no 'margin'"),
        ("policy.utilisation=0.1,,2", "has an empty value"),
        ("mechanism.executor_second=1", r"no 'executor_second'. Did you mean 'executor_seconds'\?"),
        ("costs.fixed_seconds=much", "the costs: fixed_seconds is 'much'; write a number"),
        ("costs.imbalance=0.5", "costs: imbalance is 0.5; write 1 or more"),
        ("mechanism.fused=7", "write true or false"),
        ("topology.speed=2", "a topology: there is no 'speed'"),
        ("topology.scale=-1", "a topology can't be scaled by -1.0"),
        ("mechanism.costs=3", "the mechanism: there is no 'costs'"),
        ("mechanism.most_slots=none", "the mechanism: most_slots is 'none'; write a number"),
        ("mechanism.most_slots=2.5", "the mechanism: most_slots is '2.5'; write a whole number"),
        ("mechanism.executor_seconds=true", "executor_seconds is 'true'; write a number"),
        ("costs.fixed_seconds=none", "the costs: fixed_seconds is 'none'; write a number"),
        ("mechanism.placement=far", "placement='far' can't be simulated"),
    ],
)
def test_mistakes_in_a_sweep_are_told(written: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        labels(written)


def test_a_setting_can_not_be_given_twice_and_a_sweep_has_an_end() -> None:
    with pytest.raises(ConfigurationError, match=r"'costs.cores' is set twice"):
        read_swept(["costs.cores=1", "costs.cores=2"])
    many = ",".join(str(number) for number in range(1, 200))
    with pytest.raises(ConfigurationError, match="more than 10,000 runs"):
        labels(f"mechanism.executor_seconds={many}", f"costs.cores={many}")


def test_processes_give_the_same_outcomes_in_the_same_order(tmp_path: Path) -> None:
    told: list[float] = []
    arguments: dict[str, Any] = {"cluster": SPARK, "sweep": ["policy.utilisation=0.6,0.9"]}
    alone = simulate(COUNTS, CLICKS, ["static:3", "replica-pool"], **arguments)
    beside = simulate(
        COUNTS,
        CLICKS,
        ["static:3", "replica-pool"],
        **arguments,
        workers=2,
        journals=tmp_path,
        on_progress=lambda what, share: told.append(share),
    )
    assert [each.label for each in beside.outcomes] == [each.label for each in alone.outcomes]
    assert [each.measures for each in beside.outcomes] == [each.measures for each in alone.outcomes]
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)
    folders = sorted(each.name for each in tmp_path.iterdir())
    assert folders == ["replica-pool-utilisation-0.6", "replica-pool-utilisation-0.9", "static-3"]
    assert len(list(read(tmp_path / "static-3"))) > 40


def test_a_wrong_trial_is_told_before_any_runs() -> None:
    ran: list[float] = []
    trials = [
        Trial("fine", "static:2", SPARK, CLICKS, LOAD),
        Trial("wrong", "static:99", SPARK, CLICKS, LOAD),
    ]
    with pytest.raises(ConfigurationError, match="static:99 is not from 1 to 8 slots"):
        run_trials(trials, 1, lambda what, share: ran.append(share))
    assert ran == []


def test_a_journal_that_is_there_is_told_before_any_runs(tmp_path: Path) -> None:
    simulate(LOAD, CLICKS, ["static:2"], cluster=SPARK, journals=tmp_path)
    with pytest.raises(ConfigurationError, match=r"there is one in .*static-2 already"):
        simulate(LOAD, CLICKS, ["static:4", "static:2"], cluster=SPARK, journals=tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["static-2"]


def test_a_process_that_ends_on_its_own_is_told() -> None:
    script = (
        "import penstock as ps\n"
        "ps.simulate([9.0] * 9, 'tweets', ['static:1', 'static:2'], workers=2)\n"
    )
    run = subprocess.run(
        [sys.executable, "-"], input=script, capture_output=True, text=True, check=False
    )
    told = run.stderr.splitlines()[-1]
    assert told.startswith("penstock.errors.PenstockError: a process that simulates ended")
    assert "if __name__ == '__main__'" in told


def test_what_can_not_go_to_another_process_is_told() -> None:
    class Own(Static):
        """A policy that no other process knows."""

    trials = [Trial(str(number), Own(2), SPARK, CLICKS, LOAD) for number in range(2)]
    with pytest.raises(ConfigurationError, match=r"can.t be handed to other processes .*workers=1"):
        run_trials(trials, 2)


def test_operators_with_replicas_of_their_own() -> None:
    pool = ReplicaEngine(interval_seconds=5.0, most_replicas=4)
    found = simulate(COUNTS, CLICKS, ["psps", "static:4", "incremental"], cluster=pool)
    psps = found["psps"].measures
    assert found["psps"].most_slots == 4
    assert 0 < psps.saved < 0.6
    assert psps.processed > 0.9
    with pytest.raises(ConfigurationError, match="psps is for operators with replicas"):
        simulate(COUNTS, CLICKS, ["psps"], cluster=SPARK)
    with pytest.raises(ConfigurationError, match="Static is a policy for one query"):
        simulate(COUNTS, CLICKS, {"mine": Static(2)}, cluster=pool)


def test_mistakes_are_told() -> None:
    with pytest.raises(ConfigurationError, match="there is no policy to simulate"):
        simulate(COUNTS, CLICKS, [])
    with pytest.raises(ConfigurationError, match="Give them in a list"):
        simulate(COUNTS, CLICKS, {"a": "static:2"}, sweep=["costs.cores=1"])
    with pytest.raises(ConfigurationError, match="there is no workload 'progresive'"):
        simulate("progresive", CLICKS)
