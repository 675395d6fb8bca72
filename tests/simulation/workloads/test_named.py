from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.simulation.workloads.map2 import Map2
from penstock.simulation.workloads.named import WORKLOADS, workload_named, workload_names
from penstock.simulation.workloads.progressive import Progressive
from penstock.simulation.workloads.random_walk import RandomWalk

SHORT = "seconds=30,seed="


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_seed_decides_everything(name: str) -> None:
    one, again, other = (workload_named(f"{name}:{SHORT}{seed}") for seed in (7, 7, 8))
    assert one == again
    assert one.trace.counts != other.trace.counts
    assert one.duration_seconds == 30


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_name_alone_is_enough(name: str) -> None:
    assert workload_named(name) == WORKLOADS[name]().load()


def test_settings_reach_the_workload() -> None:
    text = "map2:rate=500,dispersion=50,seconds=20,fast=3,seed=4"
    assert workload_named(text) == Map2(500, 50, 20, fast=3, seed=4).load()
    assert workload_named(" progressive: low = 1e2, high=1200/2".strip()) == Progressive().load()


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("steady:rows_per_second=5,seconds=3", (5, 5, 5)),
        ("ramp:start=0,end=8,seconds=4", (1, 3, 5, 7)),
        ("sine:mean=10,amplitude=10,period_seconds=4,seconds=4", (16, 16, 4, 4)),
        ("spikes:base=1,peak=9,every_seconds=3,width_seconds=1,seconds=3", (1, 1, 9)),
    ],
)
def test_the_patterns_of_live_sources_have_names_too(text: str, counts: tuple[int, ...]) -> None:
    assert workload_named(text).trace.counts == counts


def test_a_trace_is_scaled_in_height_and_in_time(tmp_path: Path) -> None:
    file = tmp_path / "day.csv"
    file.write_text("time,errors,visits\n0,1,3\n60,0,5\n120,0,4\n")
    load = workload_named(f"{file}:column=visits")
    assert (load.trace.counts, load.duration_seconds) == ((3, 5, 4), 180.0)
    fast = workload_named(f"{file}:column=visits,scale=2.5,speed=60")
    assert (fast.trace.counts, fast.duration_seconds) == ((7, 13, 10), 3.0)
    assert fast.rows == 30


def test_a_path_may_have_a_colon(tmp_path: Path) -> None:
    file = tmp_path / "a:b=1"
    file.write_text("3\n4\n")
    assert workload_named(str(file)).trace.counts == (3, 4)
    assert workload_named(f"{file}:scale=2").trace.counts == (6, 8)


def test_speed_leaves_no_rounding_behind() -> None:
    load = workload_named("steady:rows_per_second=1,seconds=1000,speed=7")
    assert load.duration_seconds == pytest.approx(1000 / 7, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("mpa2:rate=5", r"there is no workload 'mpa2'. Did you mean 'map2'\? Write one of prog"),
        ("map2:rte=5", r"workload 'map2': there is no 'rte'. Did you mean 'rate'\?"),
        ("map2:rate", r"workload 'map2': 'rate' is no setting; write settings as in map2:rate="),
        ("map2:rate=", r"'rate=' is no setting"),
        ("map2:", r"'' is no setting"),
        ("map2:rate=1,rate=2", r"'rate' is there twice"),
        ("map2:rate=fast", r"workload 'map2': rate is 'fast'; write a number"),
        ("map2:seed=1.5", r"seed is '1.5'; write a whole number"),
        ("map2:seed=-1", r"seed is -1; write a whole number from 0"),
        ("map2:rate=0", r"rate is 0.0; write a number above 0"),
        ("map2:dispersion=1", r"dispersion is 1.0; .* one of 4.6 or more"),
        ("map2:dispersion=4.5", r"dispersion is 4.5; .* one of 4.6 or more"),
        ("map2:fast=1", r"fast is 1.0; write a number above 1"),
        ("map2:rate=1e9", r"600,000,000,000 rows are too many"),
        ("self-similar:hurst=1", r"hurst is 1.0; write one from 0.5 to below 1"),
        ("self-similar:hurst=0.4", r"hurst is 0.4"),
        ("self-similar:variation=-1", r"variation is -1.0"),
        ("random-walk:volatility=0", r"volatility is 0.0"),
        ("progressive:low=5,high=4", r"low 5.0 is above high 4.0"),
        ("erratic:low=5,high=4", r"low 5.0 is above high 4.0"),
        ("poisson:seconds=-3", r"seconds is -3.0"),
        ("steady:seconds=4", r"'rows_per_second' is missing"),
        ("steady:rows_per_second=4,seconds=1.5", r"seconds is 1.5; write a whole number"),
        ("poisson:scale=0", r"workload 'poisson': load: scale is 0.0; write a number above 0"),
        ("poisson:rate=1e13", r"rate is 1e\+?13|10000000000000.0; write 1e\+12 at most"),
        ("poisson:seconds=1e12", r"1e\+12 seconds in steps of 0.1 are .* steps; write fewer"),
        ("random-walk:every_seconds=1e9,seconds=1e9", r"are 1,000,000,000 steps"),
        ("steady:rows_per_second=1,seconds=1e9", r"are 1,000,000,000 steps"),
        ("self-similar:variation=11", r"variation is 11.0; write 10 at most"),
        ("poisson:rate=nan", r"rate is 'nan'; write a number"),
        ("poisson:seed=1e999999999", r"seed is '1e999999999'; write a number"),
        ("gone.csv", r"the trace gone.csv cannot be read: No such file"),
        ("gone.csv:colum=x", r"the trace gone.csv: there is no 'colum'. Did you mean 'column'"),
    ],
)
def test_a_mistake_is_told_with_what_to_write(text: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        workload_named(text)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["poisson", "random-walk", "self-similar", "ramp", "progressive"]),
    st.lists(
        st.tuples(
            st.sampled_from(["rate", "seconds", "seed", "scale", "speed", "hurst", "start", ""]),
            st.sampled_from(["1", "0.7", "-1", "0", "1e-9", "1e6", "inf", "1/3", "", "x", "="]),
        ),
        max_size=4,
    ),
)
def test_whatever_is_written_is_a_load_or_refused(name: str, given: list[tuple[str, str]]) -> None:
    written = ",".join(f"{key}={value}" for key, value in {"seconds": "9", **dict(given)}.items())
    # Anything but a load or a complaint that is meant for a person would come out of here.
    with suppress(ConfigurationError):
        assert workload_named(f"{name}:{written}").rows > 0


def test_all_names_are_listed() -> None:
    assert set(WORKLOADS) < set(workload_names())
    assert "ramp" in workload_names()


@pytest.mark.parametrize("seconds", [0.26, 1.0, 2.5, 7.0, 12.0, 61.3])
@pytest.mark.parametrize("name", [*WORKLOADS, "random-walk:every_seconds=2.5"])
def test_a_load_lasts_as_long_as_it_should(name: str, seconds: float) -> None:
    name, colon, rest = name.partition(":")
    load = workload_named(f"{name}:seconds={seconds}{',' if colon else ''}{rest}")
    assert load.duration_seconds == pytest.approx(seconds, abs=1e-6)


def test_a_walk_that_ends_between_two_changes_keeps_its_rate() -> None:
    # 5 s, 5 s and 2 s
    walk = RandomWalk(rate=100_000, seconds=12.0, seed=8)
    assert len(walk.rates()) == 3
    assert walk.rates() @ [5, 5, 2] / 12 == pytest.approx(100_000)
    counts = walk.load().trace.counts
    assert len(counts) == 12
    assert sum(counts[10:]) / 2 == pytest.approx(walk.rates()[2], rel=0.01)
