"""The pages about workloads and topologies: what they show runs and comes out as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.simulation.topology_file import read_topology, shipped_topologies
from penstock.simulation.workloads.named import workload_names

CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (CONCEPTS / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", ["workloads.md", "topology-files.md"])
def test_python_prints_what_its_comments_say(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    for code in blocks(page, "python"):
        exec(compile(code, page, "exec"), {})
        printed = capsys.readouterr().out.splitlines()
        for expected in re.findall(r"print\(.*\)  # (.+)", code):
            assert expected in printed


def test_the_yaml_of_the_page_is_a_topology(tmp_path: Path) -> None:
    (text,) = blocks("topology-files.md", "yaml")
    (tmp_path / "shop.yaml").write_text(text)
    topology = read_topology(tmp_path / "shop.yaml")
    assert topology.rows_per_row()["score"] == pytest.approx(0.4)


def test_every_name_is_on_its_page() -> None:
    workloads = (CONCEPTS / "workloads.md").read_text()
    assert [name for name in workload_names() if f"`{name}`" not in workloads] == []
    topologies = (CONCEPTS / "topology-files.md").read_text()
    assert [name for name in shipped_topologies() if f"| `{name}` |" not in topologies] == []
