"""Traces and topologies for the simulator that are damaged or were never right."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fuzz.calling import QUICK_PHASES, within
from fuzz.mutations import damaged, mutated
from penstock.errors import PenstockError
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.replicas.engine import ReplicaEngine
from penstock.simulation.simulating import simulate
from penstock.simulation.topology_file import read_topology, shipped_topologies
from penstock.sources import read_trace, trace_reading

SHIPPED = Path(__file__).parents[2] / "src" / "penstock" / "simulation" / "topologies"
TEXTS = {name: (SHIPPED / f"{name}.yaml").read_text() for name in shipped_topologies()}
TRACE = "seconds,rows\n0,10\n1,20\n2.5,30\n4,15\n"
YAMLS = (
    "",
    "null",
    "3",
    "[]",
    "name: &a [*a]",
    "&a {sources: *a, operators: *a}",
    "sources: {a: }\noperators: {b: {inputs: a, seconds: .nan}}",
    "sources: {a: }\noperators: {b: {inputs: a, seconds: .inf}}",
    "sources: {a: }\noperators: {b: {inputs: a, seconds: 1e400}}",
    "sources: {a: }\noperators: {b: {inputs: a, seconds: -1}}",
    "sources: {a: }\noperators: {b: {inputs: b, seconds: 1}}",
    "sources: {a: }\nsources: {b: }",
    "!!python/object/apply:os.getcwd []",
    "? [a, b]\n: c",
    "? {a: b}\n: c",
    "2026-01-01: 3",
    "a: !!binary 3",
    "a: 9999999999999-99-99",
    "[" * 2_000,
    "{a: " * 2_000,
    "lol: &l [x,x]\nlol2: &m [*l,*l,*l]\nlol3: [*m,*m,*m,*m]",
    "\x00",
    "sources: {a: }\noperators: {b: {inputs: {a: 1e308}, seconds: 0.1}}",
)


def tried(path: Path) -> None:
    """Read a topology and, where that can be, run it on a small load."""
    with within(), suppress(PenstockError):
        shape = read_topology(path)
        repr(shape)
        if len(shape.operators) < 20:
            simulate([5.0] * 3, shape, ["static:2"], cluster=MicroBatch())


@given(data=st.data(), name=st.sampled_from(sorted(TEXTS)))
@settings(max_examples=40, suppress_health_check=list(HealthCheck), phases=QUICK_PHASES)
def test_a_topology_of_which_something_is_wrong(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    document: Any = yaml.safe_load(TEXTS[name])
    path = tmp_path_factory.mktemp("yaml") / "mine.yaml"
    path.write_text(yaml.safe_dump(data.draw(mutated(document)), allow_unicode=True))
    tried(path)


@pytest.mark.parametrize("text", YAMLS, ids=lambda text: text[:20])
def test_a_topology_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    tried(path)


@given(content=damaged(TEXTS["tweets"].encode()))
@settings(max_examples=20, suppress_health_check=list(HealthCheck), phases=QUICK_PHASES)
def test_a_topology_that_is_damaged(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("yaml") / "mine.yaml"
    path.write_bytes(content)
    tried(path)


@given(
    content=damaged(TRACE.encode())
    | st.lists(
        st.sampled_from(["1", "-1", "nan", "inf", "1e400", "", "a", '"', "2026-01-01", "9" * 400]),
        min_size=1,
        max_size=12,
    ).map(lambda cells: ",".join(cells).replace(",", "\n", 2).encode())
)
@settings(max_examples=150, suppress_health_check=list(HealthCheck), phases=QUICK_PHASES)
@example(content=b'0,"1\n1,2\n')
@example(content=b"0,1\n0,2\n")
@example(content=b"0,1\n1e300,2\n")
@example(content=b"0,1\n9999-12-31,2\n")
@example(content=b"0001-01-01,1\n9999-12-31T23:59:59,2\n")
@example(content=b"1,2\x00,3\n")
@example(content=b"9" * 400 + b"\n")
def test_a_trace_that_is_damaged(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("trace") / "mine.csv"
    path.write_bytes(content)
    with within(), suppress(PenstockError):
        read_trace(path).encode()


@pytest.mark.parametrize("name", ["folder.csv", "loop.csv", "gone.csv"])
def test_what_is_no_file_in_the_place_of_a_trace(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with pytest.raises(PenstockError, match="cannot be read"):
        read_trace(tmp_path / name)
    for folder in ("folder.csv", "loop.csv"):
        (tmp_path / folder.replace("csv", "yaml")).symlink_to(folder)
    with pytest.raises(PenstockError, match="cannot be read"):
        read_topology(tmp_path / "loop.yaml")


def test_pipes_and_devices_in_the_place_of_a_file_end(tmp_path: Path) -> None:
    for name in ("pipe.csv", "pipe.yaml"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    with within():
        with pytest.raises(PenstockError, match="is empty"):
            read_trace(tmp_path / "pipe.csv")
        with pytest.raises(PenstockError, match="is empty"):
            read_topology(tmp_path / "pipe.yaml")
        with pytest.raises(PenstockError, match="cannot be read: it is no file"):
            read_trace("/dev/zero")
        with pytest.raises(PenstockError, match="cannot be read: it is no file"):
            read_topology(tmp_path / "zero.yaml")


def test_a_pipe_that_somebody_writes_to_is_a_trace(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    with os.fdopen(writes, "wb") as pipe:
        pipe.write(TRACE.encode())
    try:
        assert read_trace(f"/dev/fd/{reads}").counts == (10, 20, 30, 15)
    finally:
        os.close(reads)


def test_a_trace_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_reading, "MOST_BYTES", len(TRACE))
    (tmp_path / "mine.csv").write_text(TRACE)
    assert read_trace(tmp_path / "mine.csv").rows == 75
    (tmp_path / "mine.csv").write_text(TRACE + "\n")
    with pytest.raises(PenstockError, match=f"it is longer than {len(TRACE)} bytes"):
        read_trace(tmp_path / "mine.csv")


@pytest.mark.parametrize(
    "cluster", [MicroBatch(), ReplicaEngine(most_replicas=2)], ids=["batches", "replicas"]
)
def test_a_run_that_no_machine_holds_is_refused(tmp_path: Path, cluster: Any) -> None:
    path = tmp_path / "mine.yaml"

    def run(trace: Any, operator: str) -> None:
        path.write_text(f"sources: {{a: }}\noperators: {{b: {{inputs: a, {operator}}}}}")
        with within():
            simulate(trace, read_topology(path), ["static:1"], cluster=cluster)

    with pytest.raises(PenstockError, match=r"the load lasts 23,148 days, and 400 at most"):
        run([(0, 10), (1e9, 10)], "seconds: 0.1")
    if isinstance(cluster, MicroBatch):
        with pytest.raises(PenstockError, match=r"it would take [\d,]+ days, and 400 at most"):
            run([5.0] * 3, "seconds: 1e12")
    else:
        with pytest.raises(PenstockError, match=r"'b' has 1,000,000,000 rows, and 200,000,000 at"):
            run([500.0] * 2, "seconds: 1e-9, selectivity: 1e6")
        with pytest.raises(PenstockError, match=r"has 1,000,000,000,000 rows, and 200,000,000 at"):
            run([1e12], "seconds: 1e-9")
