"""The PID controller: exact steps, no wind-up, no kick, and the same as another's."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.windows.pid import Pid, PidState

gains = st.floats(0, 10)
measurements = st.lists(st.floats(-100, 100), min_size=1, max_size=20)
steps_of_time = st.floats(0.01, 100)


def outputs(pid: Pid, measured: list[float], dt: float = 1.0) -> list[float]:
    """Return the output after every measurement."""
    state, answers = PidState(), []
    for each in measured:
        state = pid.step(state, each, dt)
        answers.append(state.output)
    return answers


def test_proportional() -> None:
    assert outputs(Pid(10.0, kp=2.0), [10.0, 7.0, 14.0]) == [0.0, 6.0, -8.0]


def test_integral() -> None:
    # error       2    2    0   -4
    # sum x 0.5   1    2    2    0      half a unit of time a step
    pid = Pid(10.0, kp=0.0, ki=1.0)
    assert outputs(pid, [8.0, 8.0, 10.0, 14.0], dt=0.5) == [1.0, 2.0, 2.0, 0.0]


def test_derivative() -> None:
    # The first step has no change. Then the measurement rises by 3 in 0.5: the output falls by 6.
    pid = Pid(10.0, kp=0.0, kd=1.0)
    assert outputs(pid, [4.0, 7.0, 7.0, 5.0], dt=0.5) == [0.0, -6.0, 0.0, 4.0]


def test_the_regulator_of_elastic_ppq() -> None:
    # Kp 1.8, Kd 2, within 0.3: a stage used above 0.9 makes the threshold fall.
    pid = Pid(0.9, kp=1.8, kd=2.0, lowest=-0.3, highest=0.3)
    assert outputs(pid, [0.9, 0.95, 0.95, 1.5]) == pytest.approx([0.0, -0.19, -0.09, -0.3])


def test_a_new_set_point_gives_no_kick() -> None:
    before = Pid(10.0, kp=1.0, kd=100.0)
    state = before.step(PidState(), 10.0, 1.0)
    after = replace(before, set_point=13.0).step(state, 10.0, 1.0)
    assert after.output == 3.0


def test_it_does_not_wind_up() -> None:
    pid = Pid(0.0, kp=0.0, ki=1.0, lowest=-5.0, highest=5.0)
    answers = outputs(pid, [-10.0] * 1_000 + [1.0, 1.0])
    assert answers[999:] == [5.0, 4.0, 3.0]


@given(measurements, gains, gains, gains, steps_of_time)
def test_the_output_is_within_its_limits(
    measured: list[float], kp: float, ki: float, kd: float, dt: float
) -> None:
    pid = Pid(1.0, kp, ki, kd, lowest=-2.0, highest=3.0)
    assert all(-2.0 <= each <= 3.0 for each in outputs(pid, measured, dt))


@given(measurements, gains, gains, gains, steps_of_time)
def test_direct_is_the_mirror_of_reverse(
    measured: list[float], kp: float, ki: float, kd: float, dt: float
) -> None:
    reverse = Pid(1.0, kp, ki, kd, lowest=-2.0, highest=2.0)
    direct = replace(reverse, acting="direct")
    assert outputs(direct, measured, dt) == [-each for each in outputs(reverse, measured, dt)]


def test_which_way_it_acts() -> None:
    assert Pid(20.0).step(PidState(), 25.0, 1.0).output == -5.0
    assert Pid(20.0, acting="direct").step(PidState(), 25.0, 1.0).output == 5.0


def test_it_brings_a_slow_process_to_the_set_point() -> None:
    pid = Pid(50.0, kp=1.0, ki=0.4, kd=0.1, lowest=0.0, highest=100.0)
    state, warmth = PidState(), 0.0
    for _ in range(200):
        state = pid.step(state, warmth, 1.0)
        warmth += 0.2 * (state.output - 10.0 - warmth)  # a leak of 10, to be made up for
    assert warmth == pytest.approx(50.0, abs=0.01)


@given(measurements, gains, gains, gains, steps_of_time, st.sampled_from(["reverse", "direct"]))
def test_it_is_what_simple_pid_computes(
    measured: list[float], kp: float, ki: float, kd: float, dt: float, acting: Any
) -> None:
    simple_pid = pytest.importorskip("simple_pid")
    way = 1 if acting == "reverse" else -1
    other = simple_pid.PID(
        way * kp, way * ki, way * kd, setpoint=3.0, sample_time=None, output_limits=(1.0, 9.0)
    )
    pid = Pid(3.0, kp, ki, kd, lowest=1.0, highest=9.0, acting=acting)
    expected = [other(each, dt=dt) for each in measured]
    assert outputs(pid, measured, dt) == pytest.approx(expected)


@pytest.mark.parametrize("dt", [0.0, -1.0, inf, nan])
def test_time_must_pass(dt: float) -> None:
    with pytest.raises(ValueError, match="time must pass"):
        Pid(1.0).step(PidState(), 1.0, dt)


@pytest.mark.parametrize("measured", [inf, -inf, nan])
def test_a_measurement_that_is_no_number_is_refused(measured: float) -> None:
    with pytest.raises(ValueError, match="cannot be fed"):
        Pid(1.0).step(PidState(), measured, 1.0)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kp": -1.0}, r"kp is -1\.0.*acting='direct'"),
        ({"ki": nan}, "ki is nan"),
        ({"kd": inf}, "kd is inf"),
        ({"kp": "1"}, "kp is '1'"),
        ({"set_point": nan}, "set point is nan"),
        ({"lowest": 2.0, "highest": 1.0}, r"2\.0 and 1\.0.*lowest below highest"),
        ({"lowest": nan}, "output limits"),
        ({"acting": "forward"}, r"acts 'forward'.*acting='reverse'"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Pid(**{"set_point": 1.0} | settings)
