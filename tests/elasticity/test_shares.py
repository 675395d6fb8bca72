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


counts = st.integers(0, 10**7)


@given(st.lists(st.builds(batch, a=st.tuples(counts, counts), b=st.tuples(counts, counts))))
def test_what_was_saved_goes_on_as_before(batches: list[Observation]) -> None:
    shares = learnt(batches)
    restored = Shares()
    restored.load(json.loads(json.dumps(shares.save(), allow_nan=False)))
    for each in [shares, restored]:
        each.observe(batch(a=(7, 3), b=(3, 3)))
    assert shares.nodes() == restored.nodes()


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
