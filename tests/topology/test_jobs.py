"""The jobs of a micro-batch: nothing twice, nothing before its time, no more than needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import given

from penstock.topology.components import Components
from penstock.topology.dag import Topology
from penstock.topology.jobs import ALL_SOURCES, Job, dry_operators, jobs, kept
from penstock.topology.operators import DeadLetters, Operator, Output, PythonOperator, Source
from topology.builders import (
    dead_letters,
    filter_,
    join,
    map_,
    process,
    select,
    sink,
    source,
    union,
)
from topology.strategies import topologies


def plan(*operators: Operator) -> dict[str, tuple[str, tuple[str, ...]]]:
    """By job: its operators, and the jobs that it waits for."""
    return {job.name: (" ".join(job.operators), job.after) for job in jobs(Topology(operators))}


def test_the_letters_of_a_process_are_its_own_and_not_its_neighbours() -> None:
    # a --> m --> p --> n --> out, with the letters of m and of p
    topology = Topology(
        [
            source("a"),
            map_("m", "a", on_error="dead_letter"),
            process("p", "m", on_error="dead_letter"),
            map_("n", "p"),
            sink("out", "n"),
            dead_letters("d", "m", "p"),
            sink("bad", "d"),
        ]
    )
    assert [Components(topology).step_ends[name] for name in ("m", "p", "n")] == ["m", "p", "n"]
    assert kept(topology) == ("m", "p")


def test_a_process_has_work_also_when_no_rows_come() -> None:
    # a --> f --> p --> out: a timer may have come
    topology = Topology([source("a"), filter_("f", "a"), process("p", "f"), sink("out", "p")])
    assert dry_operators(topology, ["a"]) == frozenset()


class TestDrawn:
    def test_a_chain_is_one_job(self) -> None:
        # a --> m --> out
        assert plan(source("a"), map_("m", "a"), sink("out", "m")) == {"out": ("a m out", ())}

    def test_a_sink_with_only_sql_before_it_fills_the_cache_for_the_others(self) -> None:
        # a --> m* --> s --> raw          * kept
        #       m* --> n --> out
        assert plan(
            source("a"),
            map_("m", "a"),
            select("s", "m"),
            map_("n", "m"),
            sink("raw", "s"),
            sink("out", "n"),
        ) == {"raw": ("a m s raw", ()), "out": ("n out", ("raw",))}

    def test_an_extra_job_keeps_what_only_python_reads(self) -> None:
        # a* --> m --> out
        # a* --> n --> out2
        assert plan(
            source("a"), map_("m", "a"), map_("n", "a"), sink("out", "m"), sink("out2", "n")
        ) == {"a": ("a", ()), "out": ("m out", ("a",)), "out2": ("n out2", ("a",))}

    def test_the_sink_of_dead_letters_can_lead(self) -> None:
        # a --> m* --> f* --> n --> out
        #              f* --> p --> out2
        #       m* ..failed..> letters --> bad
        assert plan(
            source("a"),
            map_("m", "a", "dead_letter"),
            filter_("f", "m"),
            map_("n", "f"),
            map_("p", "f"),
            dead_letters("letters", "m"),
            sink("out", "n"),
            sink("out2", "p"),
            sink("bad", "letters"),
        ) == {
            "bad": ("a m letters bad", ()),
            "f": ("f", ("bad",)),
            "out": ("n out", ("f",)),
            "out2": ("p out2", ("f",)),
        }

    def test_dead_letters_are_read_at_the_end_of_the_fused_run(self) -> None:
        # a --> m --> n* --> out
        #       m ..failed..> letters --> bad
        operators = [
            source("a"),
            map_("m", "a", "dead_letter"),
            map_("n", "m"),
            dead_letters("letters", "m"),
            sink("out", "n"),
            sink("bad", "letters"),
        ]
        assert kept(Topology(operators)) == ("n",)
        assert plan(*operators) == {"out": ("a m n out", ()), "bad": ("letters bad", ("out",))}

    def test_several_sources_are_kept_together_and_filled_by_the_first_sql_sink(self) -> None:
        # a --> m --> out
        # b --> raw
        operators = [source("a"), source("b"), map_("m", "a"), sink("out", "m"), sink("raw", "b")]
        assert kept(Topology(operators)) == (ALL_SOURCES,)
        assert plan(*operators) == {"raw": ("b raw", ()), "out": ("a m out", ("raw",))}

    def test_sources_that_only_python_reads_are_kept_by_a_job_without_operators(self) -> None:
        # a --> m --> out
        # b --> n --> out2
        assert plan(
            source("a"),
            source("b"),
            map_("m", "a"),
            map_("n", "b"),
            sink("out", "m"),
            sink("out2", "n"),
        ) == {
            ALL_SOURCES: ("", ()),
            "out": ("a m out", (ALL_SOURCES,)),
            "out2": ("b n out2", (ALL_SOURCES,)),
        }

    def test_one_sink_may_fill_the_sources_it_reads_twice(self) -> None:
        # a --\
        #      u --> out
        # b --/
        assert plan(source("a"), source("b"), union("u", "a", "b"), sink("out", "u")) == {
            "out": ("a b u out", ())
        }

    def test_a_sink_that_reads_a_stream_twice_waits_until_it_is_kept(self) -> None:
        #            /--> f --\
        # a --> m* --          u --> out
        #            \--> g --/
        # Tasks of f and of g on two executors would each run m on the same rows.
        assert plan(
            source("a"),
            map_("m", "a"),
            filter_("f", "m"),
            filter_("g", "m"),
            union("u", "f", "g"),
            sink("out", "u"),
        ) == {"m": ("a m", ()), "out": ("f g u out", ("m",))}

    def test_a_sink_that_reads_a_stream_twice_leaves_the_lead_to_one_that_reads_it_once(
        self,
    ) -> None:
        # a --> m* ==> u --> out
        #       m* --> raw
        assert plan(
            source("a"), map_("m", "a"), union("u", "m", "m"), sink("out", "u"), sink("raw", "m")
        ) == {"raw": ("a m raw", ()), "out": ("u out", ("raw",))}

    def test_a_sink_that_reads_two_kept_streams_leads_neither(self) -> None:
        # a --> m* ..failed..> letters --> bad
        #       m* --> f* --> n --> out
        #              f* --\
        #                    u --> both
        #       m* ---------/
        assert plan(
            source("a"),
            map_("m", "a", "dead_letter"),
            filter_("f", "m"),
            map_("n", "f"),
            union("u", "f", "m"),
            dead_letters("letters", "m"),
            sink("out", "n"),
            sink("both", "u"),
            sink("bad", "letters"),
        ) == {
            "bad": ("a m letters bad", ()),
            "f": ("f", ("bad",)),
            "out": ("n out", ("f",)),
            "both": ("u both", ("bad", "f")),
        }

    def test_leaders_follow_each_other(self) -> None:
        # a* --> raw
        # a* --> m* --> f --> good
        #        m* --> n --> out
        assert plan(
            source("a"),
            map_("m", "a"),
            filter_("f", "m"),
            map_("n", "m"),
            sink("raw", "a"),
            sink("good", "f"),
            sink("out", "n"),
        ) == {
            "raw": ("a raw", ()),
            "good": ("m f good", ("raw",)),
            "out": ("n out", ("good",)),
        }

    def test_a_join_is_sql(self) -> None:
        # a* --> j --> out
        # a* --> m --> out2
        assert plan(
            source("a"), join("j", "a"), map_("m", "a"), sink("out", "j"), sink("out2", "m")
        ) == {"out": ("a j out", ()), "out2": ("m out2", ("out",))}

    def test_a_fused_run_ends_before_sql_and_before_a_fork(self) -> None:
        # a --> m --> n --> s --> p --> out
        #                         p --> out2
        topology = Topology(
            [
                source("a"),
                map_("m", "a"),
                map_("n", "m"),
                select("s", "n"),
                map_("p", "s"),
                sink("out", "p"),
                sink("out2", "p"),
            ]
        )
        assert [Components(topology).step_ends[name] for name in ("m", "n", "p")] == ["n", "n", "p"]

    def test_failed_rows_of_a_stream_that_forks_are_read_where_it_forks(self) -> None:
        # a --> m* --> n --> out
        #       m* --> p --> out2
        #       m* ..failed..> letters --> q --> bad
        operators = [
            source("a"),
            map_("m", "a", "dead_letter"),
            map_("n", "m"),
            map_("p", "m"),
            dead_letters("letters", "m"),
            map_("q", "letters"),
            sink("out", "n"),
            sink("out2", "p"),
            sink("bad", "q"),
        ]
        assert kept(Topology(operators)) == ("m",)
        assert plan(*operators) == {
            "m": ("a m", ()),
            "out": ("n out", ("m",)),
            "out2": ("p out2", ("m",)),
            "bad": ("letters q bad", ("m",)),
        }


# The properties. What each operator reads is worked out here anew, from the components.


def reads(topology: Topology) -> list[tuple[str, str]]:
    """All (stream, reader) pairs; dead letters come out of the end of their fused run."""
    end_of_step = {
        operator.name: step[-1].name
        for component in Components(topology)
        for step in component.steps
        for operator in step
    }
    pairs = []
    for operator in topology:
        if isinstance(operator, DeadLetters):
            ends = {end_of_step[name] for name in operator.inputs}
            pairs += [(end, operator.name) for end in ends]
        elif isinstance(operator, Source) and len(topology.sources) > 1:
            pairs.append((ALL_SOURCES, operator.name))
        else:
            pairs += [(name, operator.name) for name in operator.inputs]
    return pairs


def fillers(topology: Topology, planned: tuple[Job, ...]) -> dict[str, str]:
    """For each kept stream, the job that fills its cache."""
    found = {name: job.name for job in planned for name in job.operators}
    if ALL_SOURCES in kept(topology):
        reading = {found[source.name] for source in topology.sources}
        names = [job.name for job in planned]
        leading = next(name for name in names if name in reading)
        found[ALL_SOURCES] = ALL_SOURCES if ALL_SOURCES in names else leading
    return {name: found[name] for name in kept(topology)}


def ancestors(planned: Iterable[Job]) -> dict[str, set[str]]:
    """For each job all that it waits for; fails unless every job stands after those."""
    found: dict[str, set[str]] = {}
    for job in planned:
        found[job.name] = set(job.after).union(*(found[name] for name in job.after))
    return found


@given(topologies())
def test_what_is_read_more_than_once_is_kept_and_nothing_else(topology: Topology) -> None:
    times = Counter(stream for stream, _ in reads(topology))
    assert set(kept(topology)) == {stream for stream, count in times.items() if count > 1}
    assert len(kept(topology)) == len(set(kept(topology)))


@given(topologies())
def test_every_sink_is_written_by_one_job(topology: Topology) -> None:
    planned = jobs(topology)
    outputs = sorted(output.name for output in topology.outputs)
    assert sorted(job.name for job in planned if job.writes) == outputs
    assert {job.name for job in planned if not job.writes} <= set(kept(topology))


@given(topologies())
def test_the_work_of_every_operator_is_in_one_job(topology: Topology) -> None:
    done = [name for job in jobs(topology) for name in job.operators]
    assert sorted(done) == sorted(op.name for op in topology)


@given(topologies())
def test_within_a_job_operators_stand_after_those_that_they_read(topology: Topology) -> None:
    for job in jobs(topology):
        for stream, reader in reads(topology):
            if stream in job.operators and reader in job.operators:
                assert job.operators.index(stream) < job.operators.index(reader)


@given(topologies())
def test_jobs_stand_after_those_that_they_wait_for(topology: Topology) -> None:
    planned = jobs(topology)
    assert ancestors(planned).keys() == {job.name for job in planned}


@given(topologies())
def test_a_kept_stream_is_filled_before_anyone_else_reads_it(topology: Topology) -> None:
    planned = jobs(topology)
    before = ancestors(planned)
    job_of = {name: job.name for job in planned for name in job.operators}
    for stream, first in fillers(topology, planned).items():
        readers = {job_of[reader] for each, reader in reads(topology) if each == stream}
        assert all(first in before[reader] for reader in readers - {first})


@given(topologies())
def test_a_job_waits_for_those_that_fill_what_it_reads_and_for_nothing_else(
    topology: Topology,
) -> None:
    planned = jobs(topology)
    filled_by = fillers(topology, planned)
    for job in planned:
        needed = {stream for stream, reader in reads(topology) if reader in job.operators}
        waits = [filled_by[stream] for stream in kept(topology) if stream in needed]
        assert job.after == tuple(name for name in dict.fromkeys(waits) if name != job.name)


@given(topologies())
def test_no_job_does_the_work_of_a_stream_that_it_reads_twice(topology: Topology) -> None:
    job_of = {name: job.name for job in jobs(topology) for name in job.operators}
    pairs = reads(topology)
    for stream in set(kept(topology)) - {ALL_SOURCES}:
        here = [reader for each, reader in pairs if each == stream]
        inside = [reader for reader in here if job_of[reader] == job_of[stream]]
        assert len(inside) <= 1


@given(topologies())
def test_no_more_jobs_than_sinks_and_kept_streams(topology: Topology) -> None:
    assert len(jobs(topology)) <= len(topology.outputs) + len(kept(topology))


@given(topologies())
def test_an_extra_job_only_where_no_sink_can_fill_the_cache_on_its_way(
    topology: Topology,
) -> None:
    extra = {job.name for job in jobs(topology) if not job.writes}
    could_lead: dict[str, list[str]] = {name: [] for name in kept(topology)}
    for output in topology.outputs:
        from_cache, has_python = until_kept(topology, output)
        once = len(from_cache) == 1 or set(from_cache) == {ALL_SOURCES}
        if from_cache and once and not has_python:
            could_lead[from_cache[0]].append(output.name)
    assert extra == {stream for stream, sinks in could_lead.items() if not sinks}


def until_kept(topology: Topology, output: Output) -> tuple[list[str], bool]:
    """Walk back from a sink: the kept streams it comes to, and whether Python was on the way."""
    keeps, pairs = set(kept(topology)), reads(topology)
    found: list[str] = []
    has_python, way = False, [output.name]
    while way:
        reader = way.pop()
        has_python |= isinstance(topology[reader], PythonOperator)
        for stream in [stream for stream, each in pairs if each == reader]:
            (found if stream in keeps else way).append(stream)
    return found, has_python
