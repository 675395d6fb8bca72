"""Shares are learnt where rows flow and held where none do."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elasticity.observation import Observation, OperatorObservation
from penstock.elasticity.propagation import Node, estimate_inputs
from penstock.elasticity.shares import Shares


def batch(**rows: tuple[int, int]) -> Observation:
    """A chain of operators in this order, each with its rows in and out."""
    operators: list[OperatorObservation] = []
    for name, (rows_in, rows_out) in rows.items():
        inputs = (operators[-1].name,) if operators else ()
        operators.append(
            OperatorObservation(name, rows_in, rows_out, 0.1, 2, 0.06, 0.05, inputs=inputs)
        )
    return Observation(0, 1.0, 0.5, None, slots=2, operators=tuple(operators))


def learnt(batches: Iterable[Observation]) -> Shares:
    shares = Shares()
    for each in batches:
        shares.observe(each)
    return shares


def test_a_share_is_what_a_parent_puts_out_per_row_it_takes_in() -> None:
    shares = learnt([batch(read=(100, 100), split=(100, 250), keep=(250, 10))])
    assert shares.nodes() == (
        Node("read"),
        Node("split", {"read": 1.0}),
        Node("keep", {"split": 2.5}),
    )


def test_shares_are_held_while_a_parent_is_idle() -> None:
    shares = learnt(
        [batch(split=(100, 250), keep=(250, 250)), *[batch(split=(0, 0), keep=(0, 0))] * 50]
    )
    assert shares.share("split") == 2.5


def test_a_parent_never_seen_at_work_gives_on_what_it_gets() -> None:
    assert learnt([batch(split=(0, 0), keep=(0, 0))]).share("split") == 1.0


def test_rows_are_averaged_not_batches() -> None:
    shares = learnt([batch(keep=(10_000, 5_000)), batch(keep=(2, 2))])
    assert shares.share("keep") == pytest.approx(0.5, rel=0.01)


def test_a_lasting_change_is_followed_within_a_few_batches() -> None:
    shares = learnt([*[batch(keep=(1_000, 500))] * 20, *[batch(keep=(1_000, 900))] * 5])
    assert shares.share("keep") == pytest.approx(0.9, abs=0.07)


def test_operators_that_are_gone_are_forgotten() -> None:
    shares = learnt([batch(old=(10, 10), keep=(10, 10)), batch(new=(10, 20), keep=(20, 20))])
    assert [node.name for node in shares.nodes()] == ["new", "keep"]
    assert "old" not in json.dumps(shares.save())


def test_a_reader_of_what_was_not_observed_counts_as_a_source() -> None:
    lonely = OperatorObservation("keep", 5, 5, 0.1, 1, 0.1, 0.1, inputs=("elsewhere",))
    shares = learnt([Observation(0, 1.0, 0.5, None, slots=2, operators=(lonely,))])
    assert estimate_inputs(shares.nodes(), {"keep": 9.0}) == {"keep": 9.0}


def dead_letters(parse: tuple[int, int, int], score: tuple[int, int, int]) -> Observation:
    """Two operators after each other and the rows that each failed on, read by one sink."""
    operators = (
        OperatorObservation("parse", parse[0], parse[1], 0.1, 2, 0.06, 0.05),
        OperatorObservation("score", score[0], score[1], 0.1, 2, 0.06, 0.05, inputs=("parse",)),
        OperatorObservation(
            "dead", parse[2] + score[2], parse[2] + score[2], 0.1, 2, 0.06, 0.05,
            inputs=("parse", "score"), received_rows=(parse[2], score[2]),
        ),
        OperatorObservation(
            "kept", parse[2] + score[2], parse[2] + score[2], 0.1, 2, 0.06, 0.05, inputs=("dead",)
        ),
    )  # fmt: skip
    return Observation(0, 1.0, 0.5, None, slots=2, operators=operators)


def test_dead_letters_are_what_failed_and_not_what_went_on() -> None:
    shares = learnt([dead_letters(parse=(1_000, 990, 10), score=(990, 959, 31))])
    assert shares.nodes()[2] == Node("dead", {"parse": 0.01, "score": 31 / 990})
    rows = estimate_inputs(shares.nodes(), {"parse": 2_000.0})
    assert rows["score"] == 1_980
    assert rows["dead"] == rows["kept"] == pytest.approx(82)


def test_an_operator_that_fails_on_every_row_still_tells_where_they_go() -> None:
    shares = learnt([dead_letters(parse=(100, 0, 100), score=(0, 0, 0))])
    assert estimate_inputs(shares.nodes(), {"parse": 50.0}) == {
        "parse": 50.0, "score": 0.0, "dead": 50.0, "kept": 50.0,
    }  # fmt: skip


def test_the_share_of_dead_letters_is_held_while_nothing_comes() -> None:
    idle = dead_letters(parse=(0, 0, 0), score=(0, 0, 0))
    shares = learnt([dead_letters(parse=(100, 80, 20), score=(80, 80, 0)), idle, idle])
    assert shares.nodes()[2].shares == {"parse": 0.2, "score": 0.0}
    assert shares.share("parse") == 0.8


counts = st.integers(0, 10**7)


@given(st.lists(st.builds(batch, a=st.tuples(counts, counts), b=st.tuples(counts, counts))))
def test_what_was_saved_goes_on_as_before(batches: list[Observation]) -> None:
    shares = learnt(batches)
    restored = Shares()
    restored.load(json.loads(json.dumps(shares.save(), allow_nan=False)))
    for each in [shares, restored]:
        each.observe(batch(a=(7, 3), b=(3, 3)))
    assert shares.nodes() == restored.nodes()


flows = st.tuples(counts, counts, counts)


@given(st.lists(st.builds(dead_letters, flows, flows)))
def test_what_was_saved_of_dead_letters_goes_on_as_before(batches: list[Observation]) -> None:
    shares = learnt(batches)
    restored = Shares()
    restored.load(json.loads(json.dumps(shares.save(), allow_nan=False)))
    for each in [shares, restored]:
        each.observe(dead_letters(parse=(70, 60, 10), score=(60, 59, 1)))
    assert shares.nodes() == restored.nodes()


def test_what_an_older_version_saved_is_taken_up() -> None:
    shares = learnt([dead_letters(parse=(100, 80, 20), score=(80, 80, 0))])
    state = shares.save()
    del state["received"]
    older = Shares()
    older.load(state)
    assert older.nodes()[1] == shares.nodes()[1]


@pytest.mark.parametrize("state", [{}, {"rows": 3, "inputs": {}}, {"rows": {"a": 1}, "inputs": {}}])
def test_a_state_of_another_kind_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no saved shares"):
        Shares().load(state)


def test_what_is_asked_again_is_what_was_learnt_since() -> None:
    def seen(rows_out: int) -> Observation:
        parse = OperatorObservation("parse", 100, rows_out, 0.1, 1, 0.1, 0.1)
        score = OperatorObservation("score", rows_out, 0, 0.1, 1, 0.1, 0.1, inputs=("parse",))
        return Observation(0, 1.0, 0.5, None, 2, (parse, score))

    shares = Shares(memory=0.0)
    shares.observe(seen(50))
    assert shares.nodes()[1].shares == {"parse": 0.5}
    kept = shares.save()
    shares.observe(seen(20))
    assert shares.nodes()[1].shares == {"parse": 0.2}
    shares.load(kept)
    assert shares.nodes()[1].shares == {"parse": 0.5}
