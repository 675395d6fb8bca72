from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import CheckpointError
from penstock.sources import waiting_rows
from penstock.sources.offset import ReplayOffset

offsets = st.builds(ReplayOffset, st.integers(0, 2**62), st.integers(0, 2**45), st.text())


@given(offsets)
def test_an_offset_goes_through_json_and_comes_back(offset: ReplayOffset) -> None:
    assert ReplayOffset.from_dict(json.loads(json.dumps(offset.as_dict()))) == offset


def test_an_offset_of_another_source_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"\{'0': 5\}, which is of another source"):
        ReplayOffset.from_dict({"0": 5})


@given(offsets, offsets)
def test_waiting_rows_is_the_difference_in_rows(end: ReplayOffset, latest: ReplayOffset) -> None:
    waiting = max(0, latest.row - end.row)
    assert waiting_rows(end.as_dict(), latest.as_dict()) == waiting
    assert waiting_rows(json.dumps(end.as_dict()), json.dumps(latest.as_dict())) == waiting


@pytest.mark.parametrize("foreign", [None, "null", "not json", {"topic": {"0": 7}}, "7", "[1]"])
def test_other_sources_do_not_tell(foreign: Any) -> None:
    ours = ReplayOffset(5, 0, "").as_dict()
    assert waiting_rows(ours, foreign) is None
    assert waiting_rows(foreign, ours) is None
