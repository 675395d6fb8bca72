"""The heaviest keys: what tasks tell of them, and what the journal is told."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.call_costs import CostKey
from penstock.engine.heavy_keys import HeavyKey, HeavyKeys, key_text
from penstock.engine.hottest_keys import TOLD_EVERY, KeysSeen
from penstock.engine.key_loads import LoadsByKey
from penstock.engine.python_step import Tally
from penstock.journal.placement_events import HotKey, HottestKeys
from penstock.placement.attribution import SlicedCosts
from penstock.placement.cost_aware import CostAware
from penstock.placement.hashing import key_hashes


def never(operator: str, number: int) -> float | None:
    raise AssertionError("no sketch is needed where seconds are known")


def tally(keys: dict[str, float], busy_seconds: float) -> Tally:
    heavy = tuple(HeavyKey(hash(key), each, 10, key) for key, each in keys.items())
    return Tally(busy_nanos=round(busy_seconds * 1e9), heavy=heavy)


def told(seen: KeysSeen, batch_id: int, *tallies: Tally, mean: Any = never) -> list[HottestKeys]:
    return list(seen.events(batch_id, {"sums": tallies}, mean))


def test_shares_are_of_all_the_time_of_all_tasks() -> None:
    two = tally({"anna": 0.4, "ben": 0.2}, 1.0), tally({"anna": 0.2}, 1.0)
    assert told(KeysSeen(), 3, *two) == [
        HottestKeys(3, "sums", (HotKey("anna", 0.3, 0.03), HotKey("ben", 0.1, 0.02)))
    ]


def test_it_is_told_when_the_first_three_change_and_every_tenth_batch() -> None:
    seen, told_at = KeysSeen(), []
    for batch in range(30):
        keys = {"anna": 0.5, "ben": 0.3} if batch < 13 else {"ben": 0.5, "anna": 0.01}
        if told(seen, batch, tally(keys, 1.0)):
            told_at.append(batch)
    changed = next(batch for batch in told_at if batch > 12)
    assert changed < 18  # once the newer batches count for more
    assert told_at == [0, TOLD_EVERY, changed, changed + TOLD_EVERY]


def test_light_keys_that_change_places_are_not_told_of() -> None:
    seen = KeysSeen()
    found = [told(seen, batch, tally({f"k{batch}": 0.001}, 1.0)) for batch in range(TOLD_EVERY)]
    assert [bool(each) for each in found] == [True] + [False] * (TOLD_EVERY - 1)


def test_ten_are_shown_and_an_idle_batch_says_nothing() -> None:
    seen = KeysSeen()
    (found,) = told(seen, 0, tally({f"k{number}": 1.0 + number for number in range(30)}, 500.0))
    assert [key.key for key in found.keys] == [f"k{number}" for number in range(29, 19, -1)]
    assert told(seen, 1, Tally()) == []


def test_a_sketch_tells_what_rows_take_that_were_not_timed_one_by_one() -> None:
    sliced = SlicedCosts(np.zeros((1, 8), np.uint8), np.array([4, 4]), np.array([1.0, 1.0]))
    one = Tally(
        rows_in=80,  # ten times as many as were looked at
        busy_nanos=round(20e9),
        costs=sliced,
        heavy=(HeavyKey(7, 0.0, 6, "anna"), HeavyKey(8, 0.0, 2, "ben")),
    )
    costs = {7: 0.1, 8: 0.5}
    (found,) = told(KeysSeen(), 0, one, mean=lambda operator, number: costs[number])
    assert found.keys == (HotKey("ben", 0.5, 0.5), HotKey("anna", 0.3, 0.1))


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=60))
def test_a_task_tells_its_ten_heaviest(calls: list[tuple[int, int]]) -> None:
    heavy, total = HeavyKeys(), dict[int, int]()
    for number, seconds in calls:
        heavy.add(number, float(seconds), 2, lambda number=number: f"key {number}")
        total[number] = total.get(number, 0) + seconds
    found = pickle.loads(pickle.dumps(heavy.result()))
    assert [key.seconds for key in found] == sorted(map(float, total.values()), reverse=True)[:10]
    assert all(key.seconds == total[key.number] for key in found)
    assert all(key.text == f"key {key.number}" for key in found)
    assert sum(key.rows for key in found) == 2 * sum(
        number in {key.number for key in found} for number, _ in calls
    )


def test_a_million_keys_are_not_kept_and_the_heavy_one_is() -> None:
    heavy = HeavyKeys()
    for number in range(20_000):
        heavy.add(number, 0.001, 1, str)
        heavy.add(-1, 0.001, 1, lambda: "anna")
    first = heavy.result()[0]
    assert (first.text, first.rows) == ("anna", 20_000)
    assert len(heavy._by_number) <= 1_000


def test_calls_for_one_row_each_tell_their_keys() -> None:
    costs = CostKey(("k",), CostAware().sketch()).begin()
    batch = pa.record_batch({"id": [0, 1, 2], "k": ["anna", "ben", "anna"]})
    costs.add_costs(batch, np.array([0.1, 0.25, 0.2]))
    costs.add_costs(batch, np.array([0.1, 0.05, 0.2]))
    (anna, ben) = costs.heavy.result()
    assert (anna.text, anna.rows, anna.seconds) == ("anna", 4, pytest.approx(0.6))
    assert (ben.text, ben.rows, ben.seconds) == ("ben", 2, pytest.approx(0.3))
    assert anna.number == int(key_hashes(pa.array(["anna"]))[0])


def test_a_key_that_is_heaviest_in_the_end_has_its_value() -> None:
    loads = LoadsByKey(16)
    for part in range(3):
        keys = pa.record_batch({"k": [f"light {part}", "heavy"]})
        loads.add(part, 5)
        loads.add(99, 100)
        loads.note_texts(keys, {part: 0, 99: 1})
    found = {key.number: key.text for key in loads.heavy()}
    assert found == {99: "heavy", 0: "light 0", 1: "light 1", 2: "light 2"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("x" * 100, "x" * 79 + "…"),
        (None, "null"),
        (b"\xff", "b'\\xff'"),
        (2.5, "2.5"),
    ],
)
def test_a_key_is_shown_as_text(value: object, text: str) -> None:
    assert key_text(pa.record_batch({"k": pa.array([value])}), 0) == text


def test_a_moment_that_python_can_not_hold_is_shown_all_the_same() -> None:
    far = pa.array([2**62], pa.timestamp("us"))
    assert key_text(pa.record_batch({"k": far}), 0) == "(a value that Python can't hold)"
