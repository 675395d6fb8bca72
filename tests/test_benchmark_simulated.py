from __future__ import annotations

import json
from types import ModuleType

import pytest

from benchmark_module import benchmark_module


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return benchmark_module("simulated_topologies")


def test_a_drawn_topology_hands_on_as_many_rows_as_it_takes(benchmark: ModuleType) -> None:
    topology = benchmark.drawn_topology(300)
    rows = topology.rows_per_row()
    assert len(topology.operators) == 300
    assert 0.2 < sum(rows.values()) / 301 < 5
    assert benchmark.drawn_topology(300) == topology


def test_it_tells_speed_and_memory(
    benchmark: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--operators", "30", "--slots", "60", "--batches", "10", "--seconds", "20", "--json"]
    benchmark.main(small)
    rows = json.loads(capsys.readouterr().out)["results"]
    assert [(row["case"], row["policy"]) for row in rows] == [
        ("tweets", "static"),
        ("tweets", "replica-pool"),
        ("tweets", "auto-scale-plus"),
        ("large", "static"),
        ("large", "replica-pool"),
        ("large", "auto-scale-plus"),
        ("tweets", "psps"),
    ]
    assert all(row["steps"] > 0 and row["peak_memory_mb"] > 0 for row in rows)
