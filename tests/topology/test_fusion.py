"""Fusion, against Algorithm 1 written out plainly and against the paper's own example."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.reproduction.random_jobs import random_job
from penstock.topology.dag import Topology
from penstock.topology.fusion import (
    Edge,
    Job,
    Members,
    PlainJob,
    Score,
    by_attributes,
    by_rate,
    communication,
    fuse,
)
from penstock.topology.fusion_baseline import baseline
from penstock.topology.fusion_rules import TopologyJob
from topology.strategies import topologies

SCHEMA = frozenset(
    {"user", "area", "date", "approval", "amount", "return", "lendingTime", "income"}
)
AREA = frozenset({"area"})
GLOBAL: frozenset[Hashable] = frozenset()
FIG_1 = {"op1": SCHEMA, "op2": AREA, "op3": AREA, "op4": GLOBAL, "op5": GLOBAL}
FIG_2 = (frozenset({"op1", "op2", "op3"}), frozenset({"op4"}), frozenset({"op5"}))

Method = Callable[[Job], tuple[Members, ...]]
METHODS: dict[str, Method] = {
    "COMM": fuse,
    "PA": lambda job: fuse(job, by_attributes),
    "baseline": lambda job: baseline(job, seed=7),
    "baseline that takes in components": lambda job: baseline(job, 7, takes_components=True),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def plainly(job: Job, score: Score) -> tuple[Members, ...]:
    """Algorithm 1 line by line: every edge is looked at again after every fusion."""
    fused: dict[str, Members] = {name: frozenset({name}) for name in job.operators}
    while True:
        largest, best = 0.0, None
        for i, j in job.rates:
            source, target = fused[i], fused[j]
            if j in source or not job.attributes(source | target):
                continue
            if not job.may_fuse(source, target):
                continue
            found = score(job, (i, j), source, target)
            if found > largest:
                largest, best = found, source | target
        if best is None:
            return tuple(dict.fromkeys(fused.values()))
        fused.update(dict.fromkeys(best, best))


@dataclass(frozen=True)
class FussyJob(PlainJob):
    """Takes components by their sizes, so that what is refused may be possible later on."""

    sizes: frozenset[tuple[int, int]] = field(default_factory=frozenset)

    def may_fuse(self, upstream: Members, downstream: Members) -> bool:
        return (len(upstream), len(downstream)) in self.sizes


@st.composite
def plain_jobs(draw: st.DrawFn) -> PlainJob:
    """Up to nine operators that read any before them, with few rates, so that many are alike."""
    names = [f"op{number}" for number in range(draw(st.integers(1, 9)))]
    some = st.frozensets(st.sampled_from("abcdef"))
    sets: Mapping[str, frozenset[Hashable]] = {name: draw(some) for name in names}
    possible = [(i, j) for place, j in enumerate(names) for i in names[:place]]
    edges = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    return PlainJob(sets, {edge: draw(st.sampled_from([0.0, 1.0, 2.5, 4.0])) for edge in edges})


@st.composite
def fussy_jobs(draw: st.DrawFn) -> FussyJob:
    job = draw(plain_jobs())
    sizes = draw(st.frozensets(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=4))
    return FussyJob(job.partition_attributes, job.rates, sizes)


def job(sets: Mapping[str, str], rates: Mapping[Edge, float]) -> PlainJob:
    return PlainJob({name: frozenset(each) for name, each in sets.items()}, rates)


@every_method
def test_the_papers_example(method: Method) -> None:
    edges = {("op1", "op2"), ("op1", "op3"), ("op2", "op4"), ("op3", "op5")}
    for order in (sorted(edges), sorted(edges, reverse=True)):
        assert method(PlainJob(FIG_1, dict.fromkeys(order, 1.0))) == FIG_2


@pytest.mark.parametrize("score", [by_rate, by_attributes])
@given(jobs=plain_jobs() | fussy_jobs())
def test_it_is_algorithm_1(score: Score, jobs: PlainJob) -> None:
    assert fuse(jobs, score) == plainly(jobs, score)


@pytest.mark.parametrize("score", [by_rate, by_attributes])
@given(operators=st.integers(10, 30), seed=st.integers(0, 10_000))
def test_it_is_algorithm_1_on_the_papers_jobs(score: Score, operators: int, seed: int) -> None:
    jobs = random_job(operators, np.random.default_rng(seed))
    assert fuse(jobs, score) == plainly(jobs, score)


@given(topology=topologies())
def test_topologies_are_fused_as_algorithm_1_does(topology: Topology) -> None:
    found = TopologyJob(topology)
    assert fuse(found) == plainly(found, by_rate)


@every_method
@given(jobs=plain_jobs() | fussy_jobs())
def test_the_conditions_of_fusion_hold(method: Method, jobs: PlainJob) -> None:
    components = method(jobs)
    # Condition 1: each operator belongs to exactly one component.
    assert sorted(name for members in components for name in members) == sorted(jobs.operators)
    at = {name: place for place, name in enumerate(jobs.operators)}
    firsts = [min(at[name] for name in members) for members in components]
    assert firsts == sorted(firsts)
    for members in components:
        if len(members) > 1:
            # Condition 2: something is left on which all of them may be partitioned.
            assert frozenset.intersection(*[jobs.partition_attributes[name] for name in members])
            assert is_connected(members, jobs.rates)


def is_connected(members: Members, rates: Mapping[Edge, float]) -> bool:
    reached = {min(members)}
    for _ in members:
        reached |= {name for edge in rates if reached & set(edge) for name in edge} & members
    return reached == members


@pytest.mark.parametrize("score", [by_rate, by_attributes])
@given(jobs=plain_jobs())
def test_nothing_is_left_to_fuse(score: Score, jobs: PlainJob) -> None:
    home = {name: members for members in fuse(jobs, score) for name in members}
    for (i, j), rate in jobs.rates.items():
        if rate > 0 and home[i] != home[j]:
            assert not jobs.attributes(home[i] | home[j])


@every_method
@given(jobs=plain_jobs())
def test_communication_is_a_share(method: Method, jobs: PlainJob) -> None:
    share = communication(jobs, method(jobs))
    assert 0.0 <= share <= 1.0
    assert communication(jobs, [frozenset(jobs.operators)]) == 0.0
    alone = [frozenset({name}) for name in jobs.operators]
    assert communication(jobs, alone) == (1.0 if any(jobs.rates.values()) else 0.0)


def test_rates_of_nothing_are_not_fused() -> None:
    idle = job({"a": "x", "b": "x"}, {("a", "b"): 0.0})
    assert fuse(idle) == (frozenset("a"), frozenset("b"))
    # Attributes are counted where rates are not known.
    assert fuse(idle, by_attributes) == (frozenset("ab"),)


def test_scores_choose_differently() -> None:
    chosen = job({"a": "xyz", "b": "x", "c": "yz"}, {("a", "b"): 9.0, ("a", "c"): 1.0})
    assert fuse(chosen, by_rate) == (frozenset("ab"), frozenset("c"))
    assert fuse(chosen, by_attributes) == (frozenset("ac"), frozenset("b"))
    assert communication(chosen, fuse(chosen, by_rate)) == 0.1
    assert communication(chosen, fuse(chosen, by_attributes)) == 0.9


@pytest.mark.parametrize("order", [(("a", "b"), ("a", "c")), (("a", "c"), ("a", "b"))])
def test_of_equal_edges_the_first_is_fused(order: tuple[Edge, Edge]) -> None:
    even = job({"a": "xy", "b": "x", "c": "y"}, dict.fromkeys(order, 3.0))
    for score in (by_rate, by_attributes):
        assert frozenset(order[0]) in fuse(even, score)


class LateJob(PlainJob):
    """Keeps a and b apart as long as they are by themselves."""

    def may_fuse(self, upstream: Members, downstream: Members) -> bool:
        return (upstream, downstream) != (frozenset("a"), frozenset("b"))


@pytest.mark.parametrize("score", [by_rate, by_attributes])
@pytest.mark.parametrize("grows", [("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")])
def test_what_was_refused_is_asked_again_when_either_has_grown(score: Score, grows: Edge) -> None:
    sets = {"a": frozenset("xyz"), "b": frozenset("xyz"), "c": frozenset("x")}
    edges = {("a", "b"): 9.0, grows: 1.0}
    assert fuse(LateJob(sets, edges), score) == (frozenset("abc"),)
    assert len(fuse(LateJob(sets, {("a", "b"): 9.0}), score)) == 3


@given(jobs=plain_jobs() | fussy_jobs())
def test_the_baseline_begins_with_the_first_operator(jobs: PlainJob) -> None:
    grown = frozenset({jobs.operators[0]})
    while True:
        readers = dict.fromkeys(j for i, j in jobs.rates if i in grown and j not in grown)
        possible = [name for name in readers if jobs.may_fuse(grown, frozenset({name}))]
        left = {name: len(jobs.attributes(grown | {name})) for name in possible}
        most = max(left.values(), default=0)
        assert most == 0 or baseline(jobs, seed=1)[0] > grown
        if list(left.values()).count(most) != 1 or most == 0:
            break  # nothing more, or several that are as good
        grown |= {next(name for name in left if left[name] == most)}
    assert baseline(jobs, seed=1)[0] >= grown
    assert most > 0 or baseline(jobs, seed=1)[0] == grown


@pytest.mark.parametrize("order", ["bc", "cb"])
def test_the_baseline_takes_what_leaves_the_most(order: str) -> None:
    edges = {("a", name): 1.0 for name in order} | {("b", "d"): 1.0}
    # b leaves three, d then two; only z is left for c.
    sets = {"a": "wxyz", "b": "xyz", "c": "wz", "d": "yz"}
    assert baseline(job(sets, edges), seed=0) == (frozenset("abcd"),)
    without = sets | {"c": "w"}
    assert baseline(job(without, edges), seed=0) == (frozenset("abd"), frozenset("c"))


def test_the_baseline_goes_on_with_a_random_operator() -> None:
    # b and c may go with d, whichever has its turn first; a with none.
    fork = job({"a": "w", "b": "x", "c": "y", "d": "xy"}, {("b", "d"): 1.0, ("c", "d"): 1.0})
    found = {baseline(fork, seed) for seed in range(40)}
    with_b = (frozenset("a"), frozenset("bd"), frozenset("c"))
    with_c = (frozenset("a"), frozenset("b"), frozenset("cd"))
    alone = tuple(frozenset(name) for name in "abcd")
    assert found == {with_b, with_c, alone}
    assert all(baseline(fork, seed) == baseline(fork, seed) for seed in range(40))


def test_the_baseline_may_take_in_what_has_grown_before() -> None:
    chain = job(dict.fromkeys("abc", "x") | {"a": "y"}, {("a", "b"): 1.0, ("b", "c"): 1.0})
    apart = (frozenset("a"), frozenset("b"), frozenset("c"))
    together = (frozenset("a"), frozenset("bc"))
    assert {baseline(chain, seed) for seed in range(20)} == {apart, together}
    assert {baseline(chain, seed, takes_components=True) for seed in range(20)} == {together}
