"""Every metric there is. What Prometheus, the docs and the Grafana dashboard know is from here."""

from __future__ import annotations

from penstock.metrics.metric import Metric, counter, gauge, histogram

QUERY_INFO = Metric(
    "penstock_query_info",
    "info",
    "Which query it is, and the versions it runs on; always 1.",
    ("query", "query_id", "penstock_version", "spark_version"),
)
QUERY_UP = gauge(
    "penstock_query_up",
    "Whether the query runs: 1 from its start to its end. One that was killed can't say so.",
    together="max",
)
RESTARTS = counter("penstock_query_restarts_total", "Times that the query began again.")
FAILURES = counter("penstock_query_failures_total", "Times that the query ended with an error.")
LAST_EVENT = gauge(
    "penstock_last_event_timestamp_seconds",
    "When the newest event of the query was journaled.",
    together="max",
)
LAST_BATCH = gauge(
    "penstock_last_batch_timestamp_seconds",
    "When the last micro-batch was committed.",
    together="max",
)

BATCHES = counter("penstock_batches_total", "Micro-batches that were committed.")
BATCHES_SKIPPED = counter(
    "penstock_batches_skipped_total",
    "Micro-batches that came again after a restart and had been committed already.",
)
BATCH_SECONDS = histogram(
    "penstock_batch_duration_seconds",
    "Time from the start of a micro-batch to its commit.",
    (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0),
)
TRIGGER_SECONDS = gauge(
    "penstock_trigger_interval_seconds",
    "How often a micro-batch should start. There is none where they start one after the other.",
    together="max",
)
ROW_LATENCY = histogram(
    "penstock_row_latency_seconds",
    "Time from the arrival of a row to the commit of its micro-batch, as batches and waiting rows "
    "let it be estimated.",
    (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0),
)
SPARK_JOBS = counter("penstock_spark_jobs_total", "Spark jobs that micro-batches took.")

SOURCE_ROWS = counter(
    "penstock_source_rows_total", "Rows that micro-batches took from a source.", "source"
)
SOURCE_WAITING = gauge(
    "penstock_source_waiting_rows",
    "Rows that the last micro-batch left behind, where the source tells.",
    "source",
)
SHED_ROWS = counter(
    "penstock_source_shed_rows_total",
    "Rows of a source that were set aside, as the user chose, instead of being processed.",
    "source",
)
LIMIT_ROWS = gauge(
    "penstock_batch_limit_rows", "Rows that the next micro-batch may take from the sources at most."
)

ROWS_IN = counter("penstock_operator_input_rows_total", "Rows that an operator got.", "operator")
ROWS_OUT = counter("penstock_operator_output_rows_total", "Rows that an operator gave.", "operator")
ROWS_FAILED = counter(
    "penstock_operator_failed_rows_total",
    "Rows on which the function of an operator failed.",
    "operator",
)
BUSY_SECONDS = counter(
    "penstock_operator_busy_seconds_total", "Time that its tasks spent in an operator.", "operator"
)
CPU_SECONDS = counter(
    "penstock_operator_cpu_seconds_total",
    "How much of their busy time its tasks had a core, where that is known.",
    "operator",
)
TASKS = gauge(
    "penstock_operator_tasks", "Tasks of an operator in the last micro-batch.", "operator"
)
BALANCE = gauge(
    "penstock_operator_slowest_task_ratio",
    "Time of an operator's slowest task over the mean of them, in the last micro-batch; 1 is even.",
    "operator",
    together="max",
)
DEAD_LETTERS = counter(
    "penstock_dead_letter_rows_total",
    "Rows on which the function of an operator failed, by the type of the error.",
    "operator",
    "error",
)

SLOTS_PLANNED = gauge("penstock_slots_planned", "Slots that the policy wants.")
SLOTS_REQUESTED = gauge(
    "penstock_slots_requested", "Slots that the cluster manager was asked for, on a cluster."
)
SLOTS_OBSERVED = gauge("penstock_slots_observed", "Slots that there are.")
SLOTS_WARM = gauge("penstock_slots_warm", "Slots that are ready and counted, on a cluster.")
SLOTS_USED = gauge("penstock_slots_used", "Slots that the last micro-batch used.")
DECISIONS = counter(
    "penstock_decisions_total",
    "Decisions of the policy that differed from the one before, if only in their reason.",
)
DECISIONS_HELD = counter(
    "penstock_decisions_held_total",
    "Decisions that a guard rail changed; one that several changed counts with each.",
    "rail",
)
DEMAND_SLOTS = gauge(
    "penstock_demand_slots", "Slots that the forecast load takes, before any guard rail."
)
FORECAST_ROWS = gauge(
    "penstock_forecast_rows",
    "Rows that an operator is expected to get within the horizon of the forecast.",
    "operator",
)
FORECAST_HORIZON = gauge(
    "penstock_forecast_horizon_seconds", "How far the forecast looks ahead.", together="max"
)

WATERMARK = gauge(
    "penstock_watermark_timestamp_seconds",
    "The watermark, in event time; the lowest of all sources.",
    together="max",
)
WATERMARK_LAG = gauge(
    "penstock_watermark_lag_seconds",
    "How far the watermark was behind the clock when the last micro-batch was committed.",
    together="max",
)
WINDOWS_CLOSED = counter(
    "penstock_windows_closed_total", "Windows that the watermark closed.", "operator"
)
WINDOW_ROWS = counter(
    "penstock_window_rows_total", "Rows that closed windows gave as results.", "operator"
)
LATE_ROWS = counter(
    "penstock_late_rows_total", "Rows that came after a window of theirs had closed.", "operator"
)
PANE_ROWS = gauge("penstock_pane_store_rows", "Partial results in the pane store.", "operator")
PANE_BYTES = gauge("penstock_pane_store_bytes", "Size of the pane store.", "operator")
PANE_SEGMENTS = gauge("penstock_pane_store_segments", "Segments of the pane store.", "operator")
PANE_AGE = gauge(
    "penstock_pane_store_age_seconds",
    "Event time between the oldest pane that is stored and the watermark.",
    "operator",
    together="max",
)
STATE_BYTES = gauge("penstock_keyed_state_bytes", "Size of an operator's keyed state.", "operator")
STATE_FILES = gauge("penstock_keyed_state_files", "Files of an operator's keyed state.", "operator")

PLAN_CHANGES = counter(
    "penstock_plan_changes_total", "Times that operators were grouped in another way."
)
PLACEMENT_CHANGES = counter(
    "penstock_placement_changes_total", "Times that rows were placed in another way."
)
KEY_GROUP_MOVES = counter(
    "penstock_key_group_moves_total", "Key groups that went to another task.", "operator"
)
KEY_GROUP_PAUSE = counter(
    "penstock_key_group_pause_seconds_total",
    "Time that micro-batches waited for key groups to move.",
    "operator",
)
HOT_KEYS = gauge("penstock_hot_keys", "Keys that are split over all tasks.", "operator")
FAULTS = counter("penstock_faults_total", "Things that went wrong and the query went on.", "kind")

JOURNAL_LINES = Metric(
    "penstock_journal_lines_total", "counter", "Lines of a journal that were read.", ("journal",)
)
JOURNAL_CORRUPT = Metric(
    "penstock_journal_corrupt_lines_total",
    "counter",
    "Lines of a journal that are no events.",
    ("journal",),
)
JOURNAL_MISSED = Metric(
    "penstock_journal_missed_events_total",
    "counter",
    "Events of a journal that had been deleted as too old before they were read.",
    ("journal",),
)
JOURNAL_READABLE = Metric(
    "penstock_journal_readable",
    "gauge",
    "Whether the journal could be read: 0 where a newer Penstock wrote it, or the disk fails.",
    ("journal",),
)

METRICS: tuple[Metric, ...] = tuple(
    each for each in list(globals().values()) if isinstance(each, Metric)
)
