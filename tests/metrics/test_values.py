"""Exact numbers, from journals written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from metrics.written import BEGAN, Samples, batch, exported, operator, started, value, write
from penstock.elasticity.decision import Decision
from penstock.journal import (
    BatchSkipped,
    DecisionMade,
    FaultSeen,
    ForecastMade,
    HotKeysChanged,
    KeyGroupsMoved,
    LimitSet,
    PanesStored,
    PlacementChanged,
    PlanChanged,
    QueryStopped,
    RowsFailed,
    RowsLate,
    RowsShed,
    SlotsChanged,
    SourceProgress,
    StateStored,
    WindowsClosed,
)
from penstock.placement.flux import Move


def of(tmp_path: Path, *bodies: object) -> Samples:
    return exported(write(tmp_path / "journal", [started(), *bodies]))


def test_batches_and_rows(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        batch(0, rows=100, jobs=3),
        batch(1, rows=50, jobs=2, at=BEGAN + 5, waiting=7),
        BatchSkipped(1),
    )
    assert value(found, "penstock_batches_total") == 2
    assert value(found, "penstock_batches_skipped_total") == 1
    assert value(found, "penstock_spark_jobs_total") == 5
    assert value(found, "penstock_source_rows_total", source="clicks") == 150
    assert value(found, "penstock_source_waiting_rows", source="clicks") == 7
    assert value(found, "penstock_trigger_interval_seconds") == 5
    assert value(found, "penstock_last_batch_timestamp_seconds") == BEGAN + 5
    assert value(found, "penstock_last_event_timestamp_seconds") == BEGAN + 4


def test_operators(tmp_path: Path) -> None:
    later = operator(rows_in=10, rows_out=4, busy_seconds=0.25, tasks=2, failed_rows=1)
    found = of(tmp_path, batch(0), batch(1, operators=(later, operator("score", cpu_seconds=0.5))))
    assert value(found, "penstock_operator_input_rows_total", operator="parse") == 110
    assert value(found, "penstock_operator_output_rows_total", operator="parse") == 94
    assert value(found, "penstock_operator_failed_rows_total", operator="parse") == 11
    assert value(found, "penstock_operator_busy_seconds_total", operator="parse") == 1.75
    assert value(found, "penstock_operator_tasks", operator="parse") == 2
    ratio = value(found, "penstock_operator_slowest_task_ratio", operator="parse")
    assert ratio == pytest.approx(1.5)
    assert value(found, "penstock_operator_cpu_seconds_total", operator="score") == 0.5
    assert value(found, "penstock_operator_cpu_seconds_total", operator="parse") is None


def test_batch_durations_are_a_histogram(tmp_path: Path) -> None:
    found = of(tmp_path, *(batch(n, seconds=s) for n, s in enumerate((0.05, 0.2, 0.2, 700.0))))

    def up_to(limit: str) -> float | None:
        return value(found, "penstock_batch_duration_seconds_bucket", le=limit)

    assert [up_to(le) for le in ("0.05", "0.1", "0.25", "600.0", "+Inf")] == [1, 1, 3, 3, 4]
    assert value(found, "penstock_batch_duration_seconds_count") == 4
    assert value(found, "penstock_batch_duration_seconds_sum") == pytest.approx(700.45)


def test_row_latency_counts_rows_from_their_arrival(tmp_path: Path) -> None:
    # Batches of 1 s, one every 5 s: the rows of the second came evenly in the 5 s before it began.
    #   began  0 -- 1     5 -- 6
    # so they took from 1 s to 6 s; those of the first are only known to wait when it began.
    batches = (batch(n, at=BEGAN + 1 + 5 * n, seconds=1.0, waiting=None) for n in range(2))
    found = of(tmp_path, *batches)

    def up_to(limit: str) -> float | None:
        return value(found, "penstock_row_latency_seconds_bucket", le=limit)

    assert [up_to(le) for le in ("0.5", "1.0", "2.5", "5.0", "10.0")] == [0, 100, 130, 180, 200]
    assert value(found, "penstock_row_latency_seconds_count") == 200
    assert value(found, "penstock_row_latency_seconds_sum") == 100 * 1.0 + 100 * 3.5


def test_rows_that_were_left_behind_took_longer(tmp_path: Path) -> None:
    # 200 rows wait at 0 s, of which each batch takes 100 and a second batch ends at 11 s.
    first = batch(0, at=BEGAN + 1, seconds=1.0, waiting=100)
    second = batch(1, at=BEGAN + 11, seconds=1.0, waiting=0)
    found = of(tmp_path, first, second)
    assert value(found, "penstock_row_latency_seconds_sum") == 100 * 1.0 + 100 * 11.0
    assert value(found, "penstock_row_latency_seconds_bucket", le="10.0") == 100


def test_rows_that_were_shed_took_no_time_and_keep_no_others_waiting(tmp_path: Path) -> None:
    # 200 rows wait at 0 s and 100 of them are taken; the others are shed, and 100 come in the last
    # second before the next batch begins at 10 s.
    first = batch(0, at=BEGAN + 1, seconds=1.0, waiting=100)
    second = batch(1, at=BEGAN + 6, seconds=1.0, waiting=0, rows=0)
    third = batch(2, at=BEGAN + 11, seconds=1.0, waiting=0, trigger=1.0)
    found = of(tmp_path, first, second, third)
    assert value(found, "penstock_row_latency_seconds_sum") == 100 * 1.0 + 100 * 1.5


def test_slots_without_a_cluster_are_those_of_the_batch(tmp_path: Path) -> None:
    decided = DecisionMade(0, Decision(3, "less to do"))
    found = of(tmp_path, decided, batch(0, slots=8, used_slots=3))
    assert value(found, "penstock_slots_planned") == 3
    assert value(found, "penstock_slots_observed") == 8
    assert value(found, "penstock_slots_used") == 3
    assert value(found, "penstock_slots_requested") is None
    assert value(found, "penstock_slots_warm") is None


def test_slots_of_a_cluster(tmp_path: Path) -> None:
    found = of(tmp_path, SlotsChanged(8, 7, 6, 5, "two came"), batch(0, slots=5))
    states = ("planned", "requested", "observed", "warm", "used")
    assert [value(found, f"penstock_slots_{state}") for state in states] == [8, 7, 6, 5, 5]


def test_decisions_and_what_they_expect(tmp_path: Path) -> None:
    held = Decision(6, "at most 6", demand_slots=7.5, held_by=("bounds", "cooldown"))
    found = of(
        tmp_path,
        DecisionMade(-1, Decision(2, "the start", held_by=("bounds",))),
        ForecastMade(0, 30.0, {"gone": 5.0}),
        ForecastMade(1, 60.0, {"parse": 1200.5, "score": 600.0}),
        DecisionMade(1, held),
    )
    assert value(found, "penstock_decisions_total") == 2
    assert value(found, "penstock_decisions_held_total", rail="bounds") == 2
    assert value(found, "penstock_decisions_held_total", rail="cooldown") == 1
    assert value(found, "penstock_demand_slots") == 7.5
    assert value(found, "penstock_forecast_rows", operator="parse") == 1200.5
    assert value(found, "penstock_forecast_rows", operator="gone") is None
    assert value(found, "penstock_forecast_horizon_seconds") == 60


def test_windows_and_state(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        batch(0, at=BEGAN + 60, watermark=BEGAN + 45.5),
        WindowsClosed(0, "hourly", windows=2, rows=40),
        WindowsClosed(1, "hourly", windows=1, rows=20),
        RowsLate(1, "hourly", 3),
        PanesStored(1, "hourly", segments=9, rows=1200, bytes=34_000, age_seconds=3600.0),
        StateStored(1, "sessions", files=12, bytes=500, written_bytes=3, fetched_bytes=4),
    )
    assert value(found, "penstock_watermark_timestamp_seconds") == BEGAN + 45.5
    assert value(found, "penstock_watermark_lag_seconds") == 14.5
    assert value(found, "penstock_windows_closed_total", operator="hourly") == 3
    assert value(found, "penstock_window_rows_total", operator="hourly") == 60
    assert value(found, "penstock_late_rows_total", operator="hourly") == 3
    assert value(found, "penstock_pane_store_rows", operator="hourly") == 1200
    assert value(found, "penstock_pane_store_bytes", operator="hourly") == 34_000
    assert value(found, "penstock_pane_store_segments", operator="hourly") == 9
    assert value(found, "penstock_pane_store_age_seconds", operator="hourly") == 3600
    assert value(found, "penstock_keyed_state_bytes", operator="sessions") == 500
    assert value(found, "penstock_keyed_state_files", operator="sessions") == 12


def test_what_goes_wrong(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        RowsFailed(0, "parse", 10, {"ValueError": 7, "KeyError": 3}, {"KeyError": "sensor 12"}),
        RowsFailed(1, "parse", 4, {"ValueError": 1}),
        FaultSeen(1, "executor lost", "executor 3", 2),
        FaultSeen(None, "executor lost", "executor 4"),
        RowsShed(1, "clicks", 30, "a backlog"),
        QueryStopped("failed", "OSError: disk full"),
    )
    letters = "penstock_dead_letter_rows_total"
    assert value(found, letters, operator="parse", error="ValueError") == 8
    assert value(found, letters, operator="parse", error="KeyError") == 3
    assert value(found, letters, operator="parse", error="other") == 3
    # A message may have a row's value in it: as a label it would be another series each time.
    assert "sensor 12" not in repr(found)
    assert value(found, "penstock_faults_total", kind="executor lost") == 3
    assert value(found, "penstock_source_shed_rows_total", source="clicks") == 30
    assert value(found, "penstock_query_failures_total") == 1
    assert value(found, "penstock_query_up") == 0


def test_what_changes(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        PlanChanged(1, ("split",), "instant", {}, {}, 0.0, "cheaper"),
        PlacementChanged(1, "parse", "by cost", "sooner"),
        KeyGroupsMoved(1, "s", (Move(1, 2, 3, 0.5), Move(4, 5, 6, 0.1)), "full", "smooth", 0.25),
        HotKeysChanged(1, "s", 3, "one key had most"),
        LimitSet(1, 1200, "too slow"),
    )
    assert value(found, "penstock_plan_changes_total") == 1
    assert value(found, "penstock_placement_changes_total") == 1
    assert value(found, "penstock_key_group_moves_total", operator="s") == 2
    assert value(found, "penstock_key_group_pause_seconds_total", operator="s") == 0.25
    assert value(found, "penstock_hot_keys", operator="s") == 3
    assert value(found, "penstock_batch_limit_rows") == 1200


def test_what_waits_is_what_the_batch_left_behind_unless_it_does_not_tell(tmp_path: Path) -> None:
    told = SourceProgress(0, "clicks", 99)
    waiting = "penstock_source_waiting_rows"
    found = of(tmp_path / "a", batch(0, waiting=25), told)
    assert value(found, waiting, source="clicks") == 25
    found = of(tmp_path / "b", batch(0, waiting=None), told)
    assert value(found, waiting, source="clicks") == 99


def test_info_and_up(tmp_path: Path) -> None:
    found = of(tmp_path)
    versions = {"penstock_version": "0.1.0", "spark_version": "4.3.0"}
    assert value(found, "penstock_query_info", query_id="q-1", **versions) == 1
    assert value(found, "penstock_query_up") == 1
    assert value(found, "penstock_query_restarts_total") == 0


def test_nothing_to_do_is_no_batch(tmp_path: Path) -> None:
    found = of(tmp_path, batch(0), batch(0, seconds=0.0, rows=0, operators=(), waiting=0))
    assert value(found, "penstock_batches_total") == 1
    assert value(found, "penstock_batch_duration_seconds_count") == 1
    assert value(found, "penstock_operator_tasks", operator="parse") == 4


def test_what_no_metric_can_hold_is_left_out(tmp_path: Path) -> None:
    broken = operator(rows_in=-5, rows_out=10**400, busy_seconds=float("nan"), mean_task_seconds=0)
    found = of(tmp_path, batch(0), batch(1, rows=-1, operators=(broken,), seconds=float("nan")))
    assert value(found, "penstock_batches_total") == 1
    found = of(tmp_path / "b", batch(0), batch(1, rows=-1, operators=(broken,)))
    assert value(found, "penstock_operator_input_rows_total", operator="parse") == 100
    assert value(found, "penstock_operator_output_rows_total", operator="parse") == 90
    assert value(found, "penstock_operator_busy_seconds_total", operator="parse") == 1.5
    assert value(found, "penstock_source_rows_total", source="clicks") == 100
