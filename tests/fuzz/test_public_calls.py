"""Public functions that need no Spark, called with what nobody should give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import penstock as ps
from fuzz.calling import judge
from fuzz.public_calls import CALLS
from fuzz.wrong_values import wrong_values


@pytest.mark.parametrize("name", CALLS)
def test_the_arguments_to_begin_with_are_right(name: str) -> None:
    error = judge(CALLS[name], {})
    assert error is None or name == "Topology", error  # of which an empty one can't run


@pytest.mark.parametrize("name", CALLS)
def test_one_wrong_argument_is_told_in_a_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)  # some write where they are told
    call = CALLS[name]
    for parameter in call.parameters:
        for value in call.values:
            judge(call, {parameter: value})


@st.composite
def mistakes(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a function and a few wrong arguments of it."""
    name = draw(st.sampled_from(sorted(CALLS)))
    names = st.sampled_from(CALLS[name].parameters or ("none",))
    wrong = draw(st.dictionaries(names, wrong_values, min_size=1, max_size=3))
    wrong.pop("none", None)
    return name, wrong


@given(mistakes())
@settings(max_examples=400)
@example(("Incremental", {"rails": None}))
@example(("AutoScalePlus", {"beta": 10**400}))
@example(("AutoScalePlus", {"combine": np.array([1.0, 2.0])}))
@example(("Fuzzy", {"first": None}))
@example(("GuardRails", {"excluded": [(0, 10**400)]}))
@example(("QLearning.train", {"rounds": 2**31}))
@example(("QLearning.train", {"samples": "a"}))
@example(("QLearning.best", {"rows_per_second": float("nan")}))
@example(("Decision", {"slots": 1, "expected_rows": {"a": None}}))
@example(("CostSketch", {"epsilon": "tight"}))
@example(("CostSketch.merge", {"other": None}))
@example(("CostSketch.estimate_cells", {"cells": [[1]]}))
@example(("FixedDelay", {"delay_micros": None}))
@example(("KeyState.update", {"columns": 3}))
@example(("LocalSlots", {"max": "4"}))
@example(("ExecutorSlots", {"max": 4, "patience_seconds": "long"}))
@example(("WindowSpec", {"name": np.array([1.0])}))
@example(("sinks.console", {"rows": None}))
@example(("sinks.parquet", {"partition_by": 3}))
@example(("sinks.jdbc", {"keys": None}))
@example(("sources.Steps", {"steps": [(1, None)]}))
@example(("sources.ZipfKeys", {"s": "steep"}))
@example(("sources.KeyCost", {"seed": np.int64(3)}))
@example(("sources.read_trace", {"trace": None}))
@example(("testing.fail_at", {"step": "sink"}))
@example(("testing.check_policy", {"batches": 2**31}))
@example(("simulate", {"policies": {"a": None}}))
def test_any_mistake_is_told_in_a_sentence(mistake: tuple[str, dict[str, Any]]) -> None:
    name, wrong = mistake
    if name == "simulate":  # it writes journals where it is told
        wrong.pop("journals", None)
    judge(CALLS[name], wrong)


def test_what_is_wrong_and_what_to_write_is_said() -> None:
    with pytest.raises(ps.ConfigurationError) as told:
        ps.sources.Steady("many")  # type: ignore[arg-type]
    assert str(told.value) == "Steady(rows_per_second='many') can't work. Write a number."
