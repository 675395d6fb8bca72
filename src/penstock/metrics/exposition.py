"""The metrics of journals, once: as Prometheus reads them, or as JSON."""

from __future__ import annotations

from prometheus_client import generate_latest

from penstock.metrics.collector import JournalCollector, registry_of

# Of these Prometheus' client names the family without what its samples' names end in.
_ENDS = {"counter": "_total", "info": "_info"}


def as_text(collector: JournalCollector) -> str:
    """Return what Prometheus would be told now."""
    return generate_latest(registry_of(collector)).decode()


def as_json(collector: JournalCollector) -> list[dict[str, object]]:
    """Return the same for other programs: each metric with its samples."""
    return [
        {
            "name": f"{family.name}{_ENDS.get(family.type, '')}",
            "type": family.type,
            "help": family.documentation,
            "samples": [
                {"name": sample.name, "labels": dict(sample.labels), "value": sample.value}
                for sample in family.samples
            ],
        }
        for family in collector.collect()
    ]
