"""Which executors are asked whether they see the driver's disk, and when. A fake cluster looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import penstock as ps
from penstock.engine import shared_disk
from penstock.engine.executors import Executor
from penstock.engine.shared_disk import SharedDisk


class FakeCluster:
    """Executors by id; those in ``blind`` see none of the driver's directories."""

    def __init__(self, *ids: str) -> None:
        self.there = {each: Executor(each, f"host-{each}", slots=1) for each in ids}
        self.blind: set[str] = set()
        self.too_busy: set[str] = set()
        self.looks: list[list[str]] = []

    def come(self, name: str, running_tasks: int = 0) -> None:
        self.there[name] = Executor(name, f"host-{name}", slots=1, running_tasks=running_tasks)

    def registered(self) -> Set[str]:
        return set(self.there)

    def executors(self) -> Mapping[str, Executor]:
        return dict(self.there)

    def found_by(
        self, spark: Any, view: Any, executors: Sequence[Executor], places: Sequence[Any]
    ) -> tuple[set[tuple[str, str, str]], set[str]]:
        asked = [each.id for each in executors]
        self.looks.append(asked)
        assert all(place.marked.exists() for place in places)
        found = {
            ("missing", f"host-{each}", place.directory)
            for each in self.blind.intersection(asked)
            for place in places
        }
        return found, set(asked) - self.too_busy


@pytest.fixture
def disk_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[FakeCluster], SharedDisk]:
    def make(cluster: FakeCluster) -> SharedDisk:
        monkeypatch.setattr(shared_disk, "ClusterView", lambda context: cluster)
        monkeypatch.setattr(shared_disk, "_found_by", cluster.found_by)
        monkeypatch.setattr(shared_disk, "_NO_MORE_CAME_SECONDS", 0.0)
        spark = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://driver:7077"))
        files = SimpleNamespace(is_local=lambda path: True, qualify=lambda path: f"file:{path}")
        topology = SimpleNamespace(outputs=())
        return SharedDisk(*cast("Any", (spark, files, topology, str(tmp_path / "checkpoint"))))

    return make


def test_an_executor_is_asked_once(
    disk_of: Callable[[FakeCluster], SharedDisk], tmp_path: Path
) -> None:
    cluster = FakeCluster("0", "1")
    disk = disk_of(cluster)
    disk.check_start()
    for batch in range(3):
        disk.check_newcomers(batch, at_end=False)
        disk.check_newcomers(batch, at_end=True)
    cluster.come("2")
    disk.check_newcomers(3, at_end=False)
    disk.check_newcomers(3, at_end=True)
    assert cluster.looks == [["0", "1"], ["2"]]
    assert list((tmp_path / "checkpoint").iterdir()) == []


def test_no_batch_is_committed_that_a_blind_newcomer_may_have_written(
    disk_of: Callable[[FakeCluster], SharedDisk],
) -> None:
    cluster = FakeCluster("0")
    disk = disk_of(cluster)
    disk.check_start()
    cluster.blind.add("1")
    cluster.come("1")
    for at_end in (True, False):
        with pytest.raises(
            ps.QueryError, match=r"host-1 can't see 'file:/.*Micro-batch 7 is not committed"
        ):
            disk.check_newcomers(7, at_end=at_end)


def test_one_that_is_made_ready_is_waited_for_only_where_it_may_have_written(
    disk_of: Callable[[FakeCluster], SharedDisk],
) -> None:
    cluster = FakeCluster("0")
    disk = disk_of(cluster)
    disk.check_start()
    cluster.come("1", running_tasks=1)
    cluster.too_busy.add("1")
    disk.check_newcomers(0, at_end=False)
    disk.check_newcomers(0, at_end=True)
    cluster.too_busy.clear()
    cluster.come("1")
    disk.check_newcomers(1, at_end=False)  # another did the looking for it until now
    disk.check_newcomers(1, at_end=True)
    assert cluster.looks == [["0"], ["1"], ["1"]]


def test_a_refused_start_takes_back_what_it_made(
    disk_of: Callable[[FakeCluster], SharedDisk], tmp_path: Path
) -> None:
    cluster = FakeCluster("0")
    cluster.blind.add("0")
    with pytest.raises(ps.ConfigurationError, match=r"\(checkpoint\), where the driver just wrote"):
        disk_of(cluster).check_start()
    assert not (tmp_path / "checkpoint").exists()
