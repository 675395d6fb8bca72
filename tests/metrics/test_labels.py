"""However many names a journal has, Prometheus gets only so many series, and no number is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from metrics.written import Samples, batch, exported, operator, started, write
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import SourceObservation
from penstock.journal import (
    BatchFinished,
    DecisionMade,
    FaultSeen,
    PanesStored,
    QueryStopped,
    RowsFailed,
    SourceProgress,
)
from penstock.journal.lines import Event
from penstock.metrics.journal_metrics import MOST_QUERIES, JournalMetrics
from penstock.metrics.label_values import LONGEST, OTHER, clean
from penstock.metrics.tally import MOST_SERIES, MOST_VALUES

beginnings = st.text(
    st.characters(codec=None, categories=None) | st.sampled_from('\n\t\x00"\\{}=\ud800\u202e'),
    max_size=200,
)


def _journal(start: str, names: int, errors: int) -> list[object]:
    each = [f"{start}{n}" for n in range(names)]
    kinds = [f"{start}Error{n}" for n in range(errors)]
    seen = batch(0, operators=tuple(operator(name, rows_in=3, tasks=2) for name in each))
    sources = tuple(SourceObservation(name, 5, 1) for name in each)
    wide = BatchFinished(_with_sources(seen, sources))
    return [
        started(start),
        wide,
        wide,
        *(RowsFailed(0, name, errors, dict.fromkeys(kinds, 1)) for name in each[:60]),
        *(FaultSeen(0, name, "detail") for name in each),
        *(PanesStored(0, name, 1, 10, 100, 1.0) for name in each),
        *(SourceProgress(0, name, 7) for name in each),
        DecisionMade(0, Decision(1, "held", held_by=tuple(each))),
    ]


def _with_sources(seen: BatchFinished, sources: tuple[SourceObservation, ...]) -> object:
    from dataclasses import replace

    return replace(seen.observation, sources=sources)


def _export(bodies: list[object]) -> Samples:
    with TemporaryDirectory() as directory:
        return exported(write(Path(directory) / "journal", bodies))


@settings(max_examples=15)
@given(beginnings, st.integers(0, 400), st.integers(0, 120))
@example("op", 400, 120)
@example("\ud800" * 90, 300, 60)
def test_label_values_are_few_short_and_clean(start: str, names: int, errors: int) -> None:
    found = _export(_journal(start, names, errors))
    values: dict[str, set[str]] = {}
    for _, labels in found:
        for label, value in labels:
            values.setdefault(label, set()).add(value)
            assert 0 < len(value) <= LONGEST + 4
            assert value.isprintable()
    for label, most in MOST_VALUES.items():
        assert len(values.get(label, set())) <= most + 1, label
    series = Counter(name for name, _ in found if not name.endswith("_bucket"))
    assert max(series.values()) <= MOST_SERIES + 1


@settings(max_examples=10)
@given(st.integers(0, 400), st.integers(0, 120))
@example(400, 120)
def test_what_is_other_still_counts(names: int, errors: int) -> None:
    found = _export(_journal("name ", names, errors))

    def total(metric: str) -> float:
        return sum(value for (name, _), value in found.items() if name == metric)

    assert total("penstock_operator_input_rows_total") == 2 * 3 * names
    assert total("penstock_source_rows_total") == 2 * 5 * names
    assert total("penstock_dead_letter_rows_total") == min(60, names) * errors
    assert total("penstock_faults_total") == names
    # Gauges too: the last batch had so many tasks, and so much is stored and waits.
    assert total("penstock_operator_tasks") == 2 * names
    assert total("penstock_pane_store_rows") == 10 * names
    assert total("penstock_source_waiting_rows") == names


def test_a_name_keeps_its_label_when_others_come(tmp_path: Path) -> None:
    first = batch(0, operators=tuple(operator(f"op{n}") for n in range(MOST_VALUES["operator"])))
    later = batch(1, operators=(operator("new"), operator("op7")))
    found = exported(write(tmp_path, [started(), first, later]))
    name = "penstock_operator_input_rows_total"
    assert found[(name, (("operator", "op7"), ("query", "clicks")))] == 200
    assert found[(name, (("operator", OTHER), ("query", "clicks")))] == 100


def test_queries_of_one_journal_are_limited(tmp_path: Path) -> None:
    metrics = JournalMetrics("scaling")
    for number in range(3 * MOST_QUERIES):
        metrics.take(Event(2 * number + 1, 1.0, batch(0, query=f"q{number}")))
        metrics.take(Event(2 * number + 2, 1.0, QueryStopped("ended", None, f"q{number}")))
    names = [name for name, _ in metrics.queries()]
    assert len(names) == MOST_QUERIES + 2  # "other", and what they share
    assert OTHER in names


@given(beginnings)
def test_long_names_stay_apart(start: str) -> None:
    long = start + "x" * 2_000
    assert clean(long + "a") != clean(long + "b")
    assert clean(clean(start)) == clean(start)
