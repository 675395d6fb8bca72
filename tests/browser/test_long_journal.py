"""A day of micro-batches, one a second, of twelve operators: what a dashboard takes to show it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from browser.looking import Look
from browser.test_pages import PAGES
from dashboard.journals import BEGAN, started
from dashboard.processes import dashboard, get, wait_until
from penstock.elasticity.decision import Decision
from penstock.elasticity.observation import (
    Observation,
    OperatorObservation,
    SourceObservation,
)
from penstock.journal import BatchFinished, DecisionMade
from penstock.journal.lines import Event, to_json
from penstock.journal.segments import SegmentAppender
from penstock.journal.topology_events import PlannedOperator, TopologyPlanned

pytestmark = pytest.mark.browser
OpenAt = Callable[..., Look]

SECONDS = 86_400
NAMES = ["events", *(f"step_{number}" for number in range(1, 12))]
MOST_MEGABYTES = 500


def lines() -> Iterator[str]:
    """Write two batches as real events, and the rest in their likeness, for time's sake.

    Times have as many digits as measured ones, which is what the reader must be quick with.
    """
    before = ["", *NAMES]
    operators = tuple(
        PlannedOperator(name, "map" if n else "source", name, (before[n],) if n else ())
        for n, name in enumerate(NAMES)
    )
    yield to_json(Event(1, BEGAN, started()))
    yield to_json(Event(2, BEGAN, TopologyPlanned(0, operators)))
    seen = tuple(
        OperatorObservation(
            name,
            12_345,
            12_340,
            0.50169153866666666,
            4,
            0.20318873094883071,
            0.10765207077218265,
            inputs=(before[n],) if n else (),
        )
        for n, name in enumerate(NAMES)
    )
    source = (SourceObservation("events", 12_345, 10),)
    observed = Observation(
        7_777_777, 8_888_888.5, 0.92182445723937892, 1.0, 4, seen, source, 2, 3, 8
    )
    batch = to_json(Event(6_666_666, 9_999_999.5, BatchFinished(observed, 5_555_555.5)))
    decided = DecisionMade(7_777_777, Decision(3, "two slots were too few", demand_slots=2.5))
    decision = to_json(Event(6_666_666, 9_999_999.5, decided))
    number = 2
    for second in range(SECONDS):
        for like in (batch, decision) if second % 10 == 0 else (batch,):
            number += 1
            at = BEGAN + second + 1.5
            line = like.replace("6666666", str(number)).replace("7777777", str(second))
            line = line.replace("9999999.5", str(at)).replace("8888888.5", str(at))
            yield line.replace("5555555.5", str(at - 10)).replace(
                "12345", str(1_000 + second % 500)
            )


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("day") / "run" / "journal"
    journal = SegmentAppender(directory, 16 * 1024 * 1024, 32)
    for line in lines():
        journal.append(f"{line}\n".encode())
    journal.close()
    return directory


def test_a_day_opens_in_little_memory(look: OpenAt, day: Path) -> None:
    began = time.monotonic()
    with dashboard(day) as running:
        seen = look(running.address)
        seen.go("/")
        opened = time.monotonic()
        wait_until(lambda: f"{SECONDS:,} batches" in get(running.address)[2], "all of it is read")
        read = time.monotonic()
        for path in PAGES:
            seen.go(f"{path}?range=all")
            assert "Traceback" not in seen.text()
        seen.go("/?range=all")
        assert "86,400 batches" in seen.text()
        seen.go("/topology")
        assert {row[0] for row in seen.rows("operator", "kind")} == set(NAMES)
        taken = running.memory_megabytes()
    print(f"a day: shown after {opened - began:.1f} s, read after {read - began:.1f} s; "
          f"{taken:.0f} MB after every page")  # fmt: skip
    assert taken < MOST_MEGABYTES
