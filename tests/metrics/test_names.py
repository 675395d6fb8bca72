"""Names and help by Prometheus' conventions, as ``promtool check metrics`` would look at them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.openmetrics.exposition import generate_latest as as_open_metrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families

from metrics.written import batch, started, write
from penstock.metrics.catalogue import METRICS
from penstock.metrics.collector import JournalCollector, registry_of
from penstock.metrics.exposition import as_text
from penstock.metrics.metric import Metric

SCHEMA_1 = Path(__file__).parent.parent / "journal" / "schema-1.jsonl"
NOT_BASE_UNITS = ("milliseconds", "minutes", "hours", "kilobytes", "megabytes", "percent", "ms")
UNITS = ("seconds", "bytes", "rows", "ratio")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_named_by_the_conventions(metric: Metric) -> None:
    words = metric.name.split("_")
    assert re.fullmatch(r"penstock_[a-z]+(_[a-z]+)*", metric.name)
    assert (words[-1] == "total") == (metric.kind == "counter")
    assert (words[-1] == "info") == (metric.kind == "info")
    assert not set(words) & {*NOT_BASE_UNITS, "count", "sum", "bucket", "gauge", "counter"}
    for unit in UNITS:
        # A unit stands at the end, before _total.
        assert unit not in words or words[-1 - (metric.kind == "counter")] == unit
    if metric.kind == "histogram":
        assert words[-1] in UNITS
        assert list(metric.buckets) == sorted(set(metric.buckets))
    assert metric.help.endswith(".")
    assert metric.help[0].isupper()
    assert "\n" not in metric.help
    for label in metric.labels:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", label)
        assert label not in ("le", "quantile", "job", "instance")
        assert label not in words or label in ("operator", "source", "query", "journal")


def test_names_and_help_are_of_one_metric_only() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.help for metric in METRICS}) == len(METRICS)


def test_every_metric_is_exported_with_help_and_type(tmp_path: Path) -> None:
    text = as_text(JournalCollector([SCHEMA_1]))
    types = {"counter": "counter", "gauge": "gauge", "histogram": "histogram", "info": "gauge"}
    for metric in METRICS:
        assert f"# HELP {metric.name} {metric.help}\n" in text
        assert f"# TYPE {metric.name} {types[metric.kind]}\n" in text
    families = {f.name: f for f in text_string_to_metric_families(text)}
    assert len(families) == len(METRICS)
    empty = {name for name, family in families.items() if not family.samples}
    assert empty == {
        "penstock_operator_cpu_seconds",
        "penstock_decisions_held",
        "penstock_demand_slots",
    }


def test_samples_have_the_labels_that_are_described() -> None:
    described = {metric.name: set(metric.labels) for metric in METRICS}
    text = as_text(JournalCollector([SCHEMA_1]))
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = re.sub(r"_(bucket|sum|count)$", "", sample.name)
            assert set(sample.labels) - {"le"} == described[name]


def test_prometheus_newer_format_is_sound_too(tmp_path: Path) -> None:
    write(tmp_path, [started('a "quoted" \\ name'), batch(0)])
    text = as_open_metrics(registry_of(JournalCollector([tmp_path]))).decode()
    families = {family.name: family for family in open_families(text)}
    (sample,) = families["penstock_batches"].samples
    assert (sample.labels["query"], sample.value) == ('a "quoted" \\ name', 1)
    assert families["penstock_query"].type == "info"


def test_nothing_but_penstocks_own_metrics_is_exported(tmp_path: Path) -> None:
    text = as_text(JournalCollector([tmp_path]))
    names = {f.name for f in text_string_to_metric_families(text)}
    assert {name.split("_")[0] for name in names} == {"penstock"}
