"""The page about metrics and the Grafana dashboard say what the exporter does.

``python tests/metrics/test_docs.py`` writes the table of the page anew.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.metrics.catalogue import METRICS

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = DOCS / "metrics.md"
TABLE = re.compile(r"(?<=<!-- metrics: )(.*?-->\n\n)(.*?)\n?(?=<!-- end of metrics -->)", re.S)


def table() -> str:
    lines = ["| metric | type | labels | |", "|---|---|---|---|"]
    for metric in METRICS:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |")
    return "\n".join(lines) + "\n"


def exported_names() -> dict[str, str]:
    """Return every name that a sample can have, with the metric's type."""
    names = {}
    for metric in METRICS:
        ends = ("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",)
        names.update({metric.name + end: metric.kind for end in ends})
    return names


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\bpenstock_[a-z_]+", expression))


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    found = TABLE.search(PAGE.read_text())
    assert found is not None
    assert found[2] == table()


def _alerts() -> list[dict[str, Any]]:
    rules = [
        rule
        for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)
        for group in yaml.safe_load(block).get("groups", [])
        for rule in group["rules"]
    ]
    assert rules
    return rules


def test_alerts_use_metrics_that_are_exported() -> None:
    for rule in _alerts():
        assert names_in(rule["expr"])
        assert names_in(rule["expr"]) <= set(exported_names())
        assert rule["annotations"]["summary"]
    known = {*exported_names(), *(metric.name for metric in METRICS), "penstock_version"}
    assert names_in(PAGE.read_text()) <= known


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DOCS / "grafana.json").read_text())
    return found


def _targets(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for panel in dashboard["panels"]:
        yield from panel.get("targets", [])


def test_the_dashboard_uses_metrics_that_are_exported_and_all_of_them(
    dashboard: dict[str, Any],
) -> None:
    used = set().union(*(names_in(target["expr"]) for target in _targets(dashboard)))
    variables = set().union(
        *(names_in(json.dumps(each)) for each in dashboard["templating"]["list"])
    )
    assert used | variables <= set(exported_names())
    plain = {re.sub(r"_(bucket|sum|count)$", "", name) for name in used}
    assert plain == {metric.name for metric in METRICS}


def test_counters_are_shown_as_rates_and_gauges_are_not(dashboard: dict[str, Any]) -> None:
    kinds = exported_names()
    for target in _targets(dashboard):
        for name in names_in(target["expr"]):
            is_rate = re.search(rf"(rate|increase)\({name}\b", target["expr"]) is not None
            assert is_rate == (kinds[name] in ("counter", "histogram")), target["expr"]


def test_the_first_fault_of_a_kind_counts_though_its_series_begins_above_0(
    dashboard: dict[str, Any],
) -> None:
    """Prometheus sees no increase in a series that was not there before."""
    watched = [each["expr"] for each in (*_targets(dashboard), *_alerts())]
    faults = [expression for expression in watched if "penstock_faults_total" in expression]
    assert len(faults) == 3
    for expression in faults:
        assert re.search(r"penstock_faults_total[^ ]* offset \d+[hm]\)", expression), expression


def test_expressions_are_whole_and_name_labels_that_are_there(dashboard: dict[str, Any]) -> None:
    labels = {metric.name: {*metric.labels, "le"} for metric in METRICS}
    rules = _alerts()
    legends = [(t["expr"], t["legendFormat"]) for t in _targets(dashboard)]
    for expression, legend in [*legends, *((rule["expr"], "") for rule in rules)]:
        for opening, closing in ("()", "[]", "{}"):
            assert expression.count(opening) == expression.count(closing)
        there = set.union(
            *(labels[re.sub(r"_(bucket|sum|count)$", "", n)] for n in names_in(expression))
        )
        by = {
            word
            for found in re.findall(r"by \(([^)]*)\)", expression)
            for word in found.split(", ")
        }
        assert by <= there
        shown = set(re.findall(r"{{(\w+)}}", legend))
        assert shown <= (by - {"le"} or there), legend


def test_the_dashboard_can_be_imported_anywhere(dashboard: dict[str, Any]) -> None:
    assert dashboard.get("id") is None
    assert dashboard["templating"]["list"][0]["type"] == "datasource"
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    shown = [panel for panel in panels if panel["type"] != "row"]
    for panel in shown:
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert all(target["legendFormat"] for target in panel["targets"])
        assert panel["fieldConfig"]["defaults"]["thresholds"]["steps"][0]["value"] is None
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


def test_the_dashboard_is_what_its_script_writes() -> None:
    spec = importlib.util.spec_from_file_location(
        "grafana_dashboard", DOCS / "grafana_dashboard.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up there.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        assert (DOCS / "grafana.json").read_text() == module.as_text()
    finally:
        del sys.modules[spec.name]


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda found: f"{found[1]}{table()}\n", PAGE.read_text()))
