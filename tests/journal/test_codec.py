from __future__ import annotations

import ast
import gc
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import Observation
from penstock.journal.codec import decode, decoder, encode


@dataclass(frozen=True)
class Gauge:
    level: float
    limit: float | None = None


def test_non_finite_numbers_become_null_at_any_depth() -> None:
    deep = {"a": (Gauge(math.nan, math.inf), Gauge(1.5, -math.inf))}
    assert encode(deep) == {
        "a": [{"level": None, "limit": None}, {"level": 1.5, "limit": None}],
    }


def test_null_reads_as_nan_where_a_number_is_required_and_as_none_where_it_is_optional() -> None:
    gauge = decode(Gauge, {"level": None, "limit": None})
    assert math.isnan(gauge.level)
    assert gauge.limit is None


def test_numpy_scalars_are_written_as_plain_numbers() -> None:
    values = (np.int64(3), np.float32(0.5), np.float64("nan"), np.uint8(7))
    encoded = encode(values)
    assert encoded == [3, 0.5, None, 7]
    assert [type(v) for v in encoded] == [int, float, type(None), int]


@pytest.mark.parametrize(
    ("value", "named"), [({1: 2}, "1"), (b"x", "bytes"), (object(), "object"), (Gauge, "type")]
)
def test_what_json_cannot_hold_is_refused(value: object, named: str) -> None:
    with pytest.raises(TypeError, match=named):
        encode({"here": value})


@pytest.mark.parametrize(
    ("hint", "value", "message"),
    [
        (int, True, "expected a whole number, found True"),
        (int, 1.5, "expected a whole number, found 1.5"),
        (float, False, "expected a number, found False"),
        (float, 10**400, "expected a number"),
        (str, 1, "expected a string, found 1"),
        (bool, 1, "expected true or false, found 1"),
        (tuple[int, ...], {}, "expected a list"),
        (Mapping[str, int], [], "expected an object"),
        (Decision, [], r"expected an object \(Decision\)"),
        (Decision, {"slots": 1}, "Decision has no 'reason'"),
        (Decision, {"slots": 1, "reason": "r", "tasks": {"a": "b"}}, "Decision.tasks: expected"),
        (
            Observation,
            {
                "batch_id": 1,
                "at_seconds": 0,
                "batch_seconds": 0,
                "trigger_seconds": None,
                "slots": 1,
                "sources": [{"name": "s", "rows": "many"}],
            },
            "Observation.sources: SourceObservation.rows: expected a whole number, found 'many'",
        ),
    ],
)
def test_a_value_of_the_wrong_shape_is_named(hint: object, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(hint, value)


@pytest.mark.parametrize("hint", [int | str, tuple[int, str], Mapping[int, str], list[int], bytes])
def test_a_type_that_could_not_be_read_back_is_refused(hint: object) -> None:
    with pytest.raises(TypeError, match="no way to read back"):
        decoder(hint)


class Watched(list[object]):
    """A list of which somebody who lists all objects sees what is made, half way."""

    def __iter__(self) -> Iterator[object]:
        for item in super().__iter__():
            seen = gc.get_objects()
            yield item
            del seen


def test_a_tuple_that_somebody_else_sees_while_it_is_made_is_made() -> None:
    assert decode(tuple[int, ...], Watched(range(50))) == tuple(range(50))


@pytest.mark.parametrize("part", ["journal", "history"])
def test_no_tuple_grows_where_a_thread_may_read(part: str) -> None:
    files = sorted((Path(penstock.__file__).parent / part).glob("*.py"))
    assert files
    growing = [
        f"{file.name}:{call.lineno}"
        for file in files
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "tuple"
        and any(isinstance(each, ast.GeneratorExp) for each in call.args)
    ]
    assert growing == []
