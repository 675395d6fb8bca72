"""Writes ``docs/grafana.json``, the Grafana dashboard over Penstock's metrics.

Run it after a change: ``python docs/grafana_dashboard.py``. A test holds the file to it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "grafana.json"
OF = '{query=~"$query"}'
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
GREEN, YELLOW, RED = "green", "yellow", "red"


@dataclass(frozen=True)
class Panel:
    """One picture: expressions with their legends, a unit, and from which values on it is bad.

    Without ``steps`` nothing is coloured. ``width`` is in 24ths of the page.
    """

    title: str
    lines: tuple[tuple[str, str], ...]
    unit: str = "short"
    about: str = ""
    kind: str = "timeseries"
    width: int = 8
    steps: tuple[tuple[float | None, str], ...] = ()
    fixed: dict[str, Any] = field(default_factory=dict)


def rate(metric: str, by: str = "query") -> str:
    """Write how fast a counter grows."""
    return f"sum by ({by}) (rate({metric}{OF}[$__rate_interval]))"


def seen(metric: str, by: str, span: str) -> str:
    """Write what a counter counted; one that is new has no 0 to grow from, and counts whole."""
    new = f"sum by ({by}) ({metric}{OF}) unless sum by ({by}) ({metric}{OF} offset {span})"
    return f"({new}) or sum by ({by}) (increase({metric}{OF}[{span}]))"


def last(metric: str, by: str = "query") -> str:
    """Write what a gauge has now."""
    return f"max by ({by}) ({metric}{OF})"


def quantile(share: float, histogram: str) -> str:
    """Write what a share of all lies below."""
    grows = f"sum by (le, query) (rate({histogram}_bucket{OF}[$__rate_interval]))"
    return f"histogram_quantile({share}, {grows})"


def quantiles(histogram: str) -> tuple[tuple[str, str], ...]:
    """Write three of them."""
    shares = ((0.5, "half"), (0.95, "95 %"), (0.99, "99 %"))
    return tuple((quantile(share, histogram), f"{{{{query}}}} {name}") for share, name in shares)


def stat(title: str, expression: str, unit: str, about: str, *steps: Any, **fixed: Any) -> Panel:
    """Make one large number for each query."""
    return Panel(
        title, ((expression, "{{query}}"),), unit, about, "stat", 4, tuple(steps), dict(fixed)
    )


BEHIND = (
    f"sum by (query) (rate(penstock_batch_duration_seconds_sum{OF}[5m]))"
    f" / sum by (query) (rate(penstock_batch_duration_seconds_count{OF}[5m]))"
    f" / max by (query) (penstock_trigger_interval_seconds{OF})"
)
BUSY_SHARE = (
    f"sum by (query) (rate(penstock_operator_busy_seconds_total{OF}[$__rate_interval]))"
    f" / max by (query) (penstock_slots_observed{OF})"
)
UP_WORDS = [{"type": "value", "options": {"0": {"text": "ended"}, "1": {"text": "runs"}}}]

ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "Now",
        (
            stat(
                "Runs",
                last("penstock_query_up"),
                "none",
                "From the query's start to its end. One that was killed can't say so: see when it "
                "had its last batch.",
                (None, RED),
                (1, GREEN),
                mappings=UP_WORDS,
            ),
            stat(
                "Rows per second",
                rate("penstock_source_rows_total"),
                "rowsps",
                "Rows that micro-batches take from all sources.",
                (None, GREEN),
            ),
            stat(
                "Rows waiting",
                f"sum by (query) (penstock_source_waiting_rows{OF})",
                "short",
                "Rows that the last micro-batch left behind.",
                (None, GREEN),
                (100_000, YELLOW),
                (1_000_000, RED),
            ),
            stat(
                "Batch time over trigger",
                BEHIND,
                "percentunit",
                "Above 100 % the query falls behind.",
                (None, GREEN),
                (0.8, YELLOW),
                (1.0, RED),
            ),
            stat(
                "Since the last batch",
                f"time() - {last('penstock_last_batch_timestamp_seconds')}",
                "s",
                "A query that has rows and no batch for long hangs, or was killed.",
                (None, GREEN),
                (300, YELLOW),
                (900, RED),
            ),
            stat(
                "Faults in an hour",
                f"sum by (query) ({seen('penstock_faults_total', 'query, kind', '1h')})",
                "short",
                "Things that went wrong and the query went on.",
                (None, GREEN),
                (1, YELLOW),
                (10, RED),
            ),
        ),
    ),
    (
        "Load",
        (
            Panel(
                "Rows per second and forecast",
                (
                    (rate("penstock_source_rows_total", "query, source"), "{{query}} {{source}}"),
                    (
                        f"{last('penstock_forecast_rows', 'query, operator')} / on (query) "
                        f"group_left {last('penstock_forecast_horizon_seconds')}",
                        "{{query}} {{operator}} expected",
                    ),
                ),
                "rowsps",
                "What comes in, and what the policy expects each operator to get.",
                width=12,
            ),
            Panel(
                "Rows waiting",
                ((last("penstock_source_waiting_rows", "query, source"), "{{query}} {{source}}"),),
                width=12,
            ),
            Panel(
                "Batch time against trigger",
                (
                    *quantiles("penstock_batch_duration_seconds"),
                    (last("penstock_trigger_interval_seconds"), "{{query}} trigger"),
                ),
                "s",
                width=12,
            ),
            Panel(
                "Latency of rows",
                quantiles("penstock_row_latency_seconds"),
                "s",
                "From a row's arrival to the commit of its micro-batch, estimated.",
                width=12,
            ),
            Panel(
                "Batches per minute",
                (
                    (f"60 * {rate('penstock_batches_total')}", "{{query}}"),
                    (f"60 * {rate('penstock_batches_skipped_total')}", "{{query}} skipped"),
                ),
            ),
            Panel("Spark jobs per second", ((rate("penstock_spark_jobs_total"), "{{query}}"),)),
            Panel(
                "Rows that a batch may take",
                ((last("penstock_batch_limit_rows"), "{{query}}"),),
                about="Where admission limits it.",
            ),
        ),
    ),
    (
        "Slots",
        (
            Panel(
                "Slots",
                (
                    *(
                        (last(f"penstock_slots_{state}"), f"{{{{query}}}} {state}")
                        for state in ("planned", "requested", "observed", "warm", "used")
                    ),
                    (last("penstock_demand_slots"), "{{query}} demand"),
                ),
                about="Planned by the policy, requested of the cluster, observed, warm, and used "
                "by the last batch; demand is what the forecast load takes.",
                width=12,
            ),
            Panel(
                "Share of slots that are busy",
                ((BUSY_SHARE, "{{query}}"),),
                "percentunit",
                steps=((None, GREEN), (0.9, YELLOW), (1.0, RED)),
                width=12,
            ),
            Panel(
                "Decisions in ten minutes",
                ((f"sum by (query) (increase(penstock_decisions_total{OF}[10m]))", "{{query}}"),),
                width=12,
            ),
            Panel(
                "Decisions that guard rails changed",
                (
                    (
                        f"sum by (query, rail) (increase(penstock_decisions_held_total{OF}[10m]))",
                        "{{query}} {{rail}}",
                    ),
                ),
                width=12,
            ),
        ),
    ),
    (
        "Operators",
        (
            *(
                Panel(title, ((rate(metric, "query, operator"), "{{query}} {{operator}}"),), unit)
                for title, metric, unit in (
                    ("Rows in per second", "penstock_operator_input_rows_total", "rowsps"),
                    ("Rows out per second", "penstock_operator_output_rows_total", "rowsps"),
                    ("Slots kept busy", "penstock_operator_busy_seconds_total", "short"),
                    ("Cores kept busy", "penstock_operator_cpu_seconds_total", "short"),
                )
            ),
            Panel(
                "Tasks",
                ((last("penstock_operator_tasks", "query, operator"), "{{query}} {{operator}}"),),
            ),
            Panel(
                "Slowest task over mean",
                (
                    (
                        last("penstock_operator_slowest_task_ratio", "query, operator"),
                        "{{query}} {{operator}}",
                    ),
                ),
                "none",
                "1 is even. Far above it, one task keeps a batch waiting: place rows by cost.",
                steps=((None, GREEN), (2.0, YELLOW), (4.0, RED)),
            ),
        ),
    ),
    (
        "Windows and state",
        (
            Panel(
                "Watermark behind the clock",
                ((last("penstock_watermark_lag_seconds"), "{{query}}"),),
                "s",
            ),
            Panel(
                "Watermark",
                ((f"1000 * {last('penstock_watermark_timestamp_seconds')}", "{{query}}"),),
                "dateTimeAsIso",
            ),
            Panel(
                "Late rows per second",
                (
                    (
                        rate("penstock_late_rows_total", "query, operator"),
                        "{{query}} {{operator}}",
                    ),
                ),
                "rowsps",
            ),
            Panel(
                "Windows closed per minute",
                (
                    (
                        f"60 * {rate('penstock_windows_closed_total', 'query, operator')}",
                        "{{query}} {{operator}}",
                    ),
                ),
            ),
            Panel(
                "Results of windows per second",
                (
                    (
                        rate("penstock_window_rows_total", "query, operator"),
                        "{{query}} {{operator}}",
                    ),
                ),
                "rowsps",
            ),
            *(
                Panel(title, ((last(metric, "query, operator"), "{{query}} {{operator}}"),), unit)
                for title, metric, unit in (
                    ("Partial results stored", "penstock_pane_store_rows", "short"),
                    ("Pane store", "penstock_pane_store_bytes", "bytes"),
                    ("Segments of the pane store", "penstock_pane_store_segments", "short"),
                    ("Age of the oldest pane", "penstock_pane_store_age_seconds", "s"),
                    ("Keyed state", "penstock_keyed_state_bytes", "bytes"),
                    ("Files of keyed state", "penstock_keyed_state_files", "short"),
                    ("Keys split over all tasks", "penstock_hot_keys", "short"),
                )
            ),
        ),
    ),
    (
        "Changes and faults",
        (
            Panel(
                "Dead letters per second",
                (
                    (
                        rate("penstock_dead_letter_rows_total", "query, operator, error"),
                        "{{query}} {{operator}} {{error}}",
                    ),
                ),
                "rowsps",
                steps=((None, GREEN), (0.001, RED)),
            ),
            Panel(
                "Rows that fail",
                (
                    (
                        rate("penstock_operator_failed_rows_total", "query, operator"),
                        "{{query}} {{operator}}",
                    ),
                ),
                "rowsps",
            ),
            Panel(
                "Rows that are shed",
                (
                    (
                        rate("penstock_source_shed_rows_total", "query, source"),
                        "{{query}} {{source}}",
                    ),
                ),
                "rowsps",
            ),
            Panel(
                "Faults in ten minutes",
                (
                    (
                        seen("penstock_faults_total", "query, kind", "10m"),
                        "{{query}} {{kind}}",
                    ),
                ),
                steps=((None, GREEN), (1, RED)),
            ),
            Panel(
                "Restarts and failures in an hour",
                (
                    (
                        f"sum by (query) (increase(penstock_query_restarts_total{OF}[1h]))",
                        "{{query}} restarts",
                    ),
                    (
                        f"sum by (query) (increase(penstock_query_failures_total{OF}[1h]))",
                        "{{query}} failures",
                    ),
                ),
            ),
            Panel(
                "Changes in ten minutes",
                (
                    (
                        f"sum by (query) (increase(penstock_plan_changes_total{OF}[10m]))",
                        "{{query}} plan",
                    ),
                    (
                        f"sum by (query) (increase(penstock_placement_changes_total{OF}[10m]))",
                        "{{query}} placement",
                    ),
                    (
                        f"sum by (query) (increase(penstock_key_group_moves_total{OF}[10m]))",
                        "{{query}} key groups moved",
                    ),
                ),
            ),
            Panel(
                "Waiting for key groups",
                (
                    (
                        rate("penstock_key_group_pause_seconds_total", "query, operator"),
                        "{{query}} {{operator}}",
                    ),
                ),
                "percentunit",
            ),
            Panel(
                "Journal: lines per second",
                (
                    ("rate(penstock_journal_lines_total[$__rate_interval])", "{{journal}}"),
                    (
                        "rate(penstock_journal_corrupt_lines_total[$__rate_interval])",
                        "{{journal}} corrupt",
                    ),
                    (
                        "rate(penstock_journal_missed_events_total[$__rate_interval])",
                        "{{journal}} missed",
                    ),
                ),
            ),
            Panel(
                "Journal: can be read",
                (("penstock_journal_readable", "{{journal}}"),),
                "none",
                steps=((None, RED), (1, GREEN)),
            ),
            Panel(
                "Since the last event",
                ((f"time() - {last('penstock_last_event_timestamp_seconds')}", "{{query}}"),),
                "s",
            ),
            Panel(
                "Versions",
                (
                    (
                        f"penstock_query_info{OF}",
                        "{{query}}: Penstock {{penstock_version}}, Spark {{spark_version}}",
                    ),
                ),
                "none",
                kind="stat",
                fixed={"text": "name"},
            ),
        ),
    ),
)


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    return {
        "title": "Penstock",
        "uid": "penstock",
        "description": "Elastic, data-aware stream processing for PySpark.",
        "tags": ["penstock", "spark", "streaming"],
        "editable": True,
        "graphTooltip": 1,
        "schemaVersion": 39,
        "version": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": [_starts()]},
        "templating": {"list": [_datasource(), _query()]},
        "panels": _panels(),
    }


def _panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in ROWS:
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": y, "w": 24, "h": 1},
                "panels": [],
            }
        )
        x, y, height = 0, y + 1, 0
        for panel in row:
            if x + panel.width > 24:
                x, y = 0, y + height
            height = 4 if panel.kind == "stat" and panel.width == 4 else 8
            place = {"x": x, "y": y, "w": panel.width, "h": height}
            panels.append(_panel(panel, len(panels) + 1, place))
            x += panel.width
        y += height
    return panels


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": place,
        "targets": [
            {
                "refId": chr(ord("A") + place_),
                "datasource": SOURCE,
                "expr": expression,
                "legendFormat": legend,
                "instant": panel.kind == "stat",
                "range": panel.kind != "stat",
            }
            for place_, (expression, legend) in enumerate(panel.lines)
        ],
        "fieldConfig": {"defaults": _field(panel), "overrides": []},
        "options": _options(panel),
    }


def _field(panel: Panel) -> dict[str, Any]:
    steps = panel.steps or ((None, GREEN),)
    settings: dict[str, Any] = {
        "unit": panel.unit,
        "min": None if panel.unit == "dateTimeAsIso" else 0,
        "color": {"mode": "thresholds" if panel.kind == "stat" else "palette-classic"},
        "thresholds": {
            "mode": "absolute",
            "steps": [{"value": value, "color": color} for value, color in steps],
        },
        "mappings": panel.fixed.get("mappings", []),
    }
    if panel.kind == "timeseries":
        settings["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 8,
            "showPoints": "never",
            "spanNulls": False,
            "thresholdsStyle": {"mode": "dashed" if panel.steps else "off"},
        }
    return settings


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "stat":
        return {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "colorMode": "value",
            "graphMode": "none",
            "textMode": panel.fixed.get("text", "auto"),
        }
    return {
        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def _datasource() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "hide": 0,
        "refresh": 1,
    }


def _query() -> dict[str, Any]:
    asked = "label_values(penstock_last_event_timestamp_seconds, query)"
    return {
        "name": "query",
        "label": "Query",
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": asked, "refId": "queries"},
        "definition": asked,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "refresh": 2,
        "sort": 1,
    }


def _starts() -> dict[str, Any]:
    return {
        "name": "Restarts",
        "enable": True,
        "iconColor": "orange",
        "datasource": SOURCE,
        "expr": f"increase(penstock_query_restarts_total{OF}[1m]) > 0",
        "titleFormat": "{{query}} began again",
        "step": "60s",
    }


def as_text() -> str:
    """Return what stands in the file."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(as_text())
