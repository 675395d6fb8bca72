"""Where the files of keyed state may be, and how a manifest names them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from penstock import ConfigurationError
from penstock.engine.state_files import check_reachable, connect
from penstock.engine.state_manifest import (
    FANOUT,
    FULL,
    Manifest,
    StateFile,
    file_name,
    to_merge,
)


@pytest.mark.parametrize("path", ["/tmp/a", "file:/tmp/a", "file:///tmp/a"])
def test_a_disk_needs_no_connection(path: str) -> None:
    check_reachable(path)


def test_a_file_system_that_arrow_does_not_know_is_refused_with_those_that_it_does() -> None:
    with pytest.raises(ConfigurationError, match=r"can't open 'abfss://box/a'.*s3:, gs: or hdfs:"):
        check_reachable("abfss://box/a")


def test_hadoops_name_for_s3_is_arrows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Seen:
        @staticmethod
        def from_uri(uri: str) -> tuple[Any, str]:
            asked.append(uri)
            return None, uri

    monkeypatch.setattr(fs, "FileSystem", Seen)
    connect("s3a://bucket/check/point")
    connect("gs://bucket/a")
    assert asked == ["s3://bucket/check/point", "gs://bucket/a"]


def file(batch: int, level: int, pieces: dict[int, int]) -> StateFile:
    """A file with the pieces of some groups, and since when each holds changes."""
    groups = tuple(sorted(pieces))
    name = file_name(batch, level, 7)
    return StateFile(name, 100, groups, tuple(pieces[group] for group in groups))


def test_a_piece_stands_for_those_that_it_was_made_of() -> None:
    #  batch:   0      1     2     3 (holds 1..3 of group 0)   4
    manifest = Manifest().after([file(0, FULL, {0: 0, 1: 0})])
    for batch in (1, 2):
        manifest = manifest.after([file(batch, 0, {0: batch, 1: batch})])
    manifest = manifest.after([file(3, 1, {0: 1})]).after([file(4, 0, {0: 4})])
    pieces = manifest.pieces([0, 1, 2])
    assert [(at.batch, at.since) for at in pieces[0]] == [(4, 4), (3, 1), (0, 0)]
    assert [(at.batch, at.since) for at in pieces[1]] == [(2, 2), (1, 1), (0, 0)]
    assert pieces[2] == []
    full = manifest.after([file(5, FULL, {1: 0})])
    # Now nobody needs the changes of batches 1 and 2; of batch 0 group 0 still does.
    assert [each.batch for each in full.files] == [0, 3, 4, 5]


files = st.builds(
    lambda batch, level, groups, since: file(
        batch, level, {group: min(batch, s) for group, s in zip(groups, since, strict=False)}
    ),
    st.integers(0, 10**6),
    st.sampled_from([0, 1, FULL]),
    st.sets(st.integers(0, 32_767), min_size=1, max_size=5),
    st.lists(st.integers(0, 10**6), min_size=5, max_size=5),
)


@given(st.lists(files, max_size=5))
def test_a_manifest_survives_json(some: list[StateFile]) -> None:
    manifest = Manifest(tuple(some))
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_groups_take_turns_to_put_their_pieces_together() -> None:
    pieces = [(0, 10)] * 5 + [(FULL, 10_000)]
    depths = [to_merge(batch=3, group=group, new_rows=10, pieces=pieces) for group in range(16)]
    assert depths == [5 if (3 + group) % FANOUT == 0 else 0 for group in range(16)]


@pytest.mark.parametrize(
    ("pieces", "depth"),
    [
        ([(0, 10)] * 2 + [(FULL, 10_000)], 0),  # too few to be worth it
        ([(0, 10)] * 7 + [(1, 80)] * 3 + [(FULL, 10_000)], 7),  # the changes alone
        ([(0, 10)] * 7 + [(1, 80)] * 7 + [(2, 600)] + [(FULL, 10_000)], 14),  # two levels
        ([(0, 10)] * 7 + [(1, 80)] * 2 + [(FULL, 300)], 10),  # half as much as there is: all
    ],
)
def test_pieces_of_one_level_are_put_together(pieces: list[tuple[int, int]], depth: int) -> None:
    assert to_merge(batch=8, group=0, new_rows=10, pieces=pieces) == depth
