"""Results of pane parts become windows: every one once, none of two updates at once."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.preference.window_tasks import PartResult, WindowEmitter, WindowTask

# A result is the set of what went into it, so that what a window holds can be told.
Parts = frozenset[tuple[int, int]]
Task = WindowTask[Parts]


def part(pane: int, number: int, parts: int) -> PartResult[Parts]:
    return PartResult(pane, parts, frozenset({(pane, number)}))


def shown(tasks: list[Task]) -> list[tuple[str, object, int, int, bool]]:
    return [(t.kind, t.window, t.worker, len(t.results), t.finalises) for t in tasks]


def merged(task: Task) -> Parts:
    return frozenset().union(*task.results)


def test_windows_that_share_a_pane_are_updated_side_by_side() -> None:
    emitter = WindowEmitter[Parts](workers=3)
    emitter.open(0, [0, 1])
    emitter.open(1, [1, 2])
    assert shown(emitter.arrived(part(0, 0, 1))) == [("update", 0, 0, 1, False)]
    # Window 0 is busy: pane 1 goes into window 1 alone, and waits for window 0.
    assert shown(emitter.arrived(part(1, 0, 1))) == [("update", 1, 1, 1, False)]
    assert emitter.waiting(0) == 1
    assert emitter.idle == 1


def test_the_worker_that_ends_an_update_takes_what_waited_and_finalises() -> None:
    emitter = WindowEmitter[Parts](workers=2)
    emitter.open(0, [0, 1])
    [first] = emitter.arrived(part(0, 0, 1))
    assert emitter.arrived(part(1, 0, 1)) == []
    [last] = emitter.done(first)
    assert shown([last]) == [("update", 0, 0, 1, True)]
    assert emitter.done(last) == []
    assert emitter.open_windows == ()


def test_an_idle_worker_merges_and_the_window_waits_for_it() -> None:
    emitter = WindowEmitter[Parts](workers=2)
    emitter.open(0, [0])
    [update] = emitter.arrived(part(0, 0, 3))
    assert emitter.arrived(part(0, 1, 3)) == []
    [merge] = emitter.arrived(part(0, 2, 3))
    assert shown([merge]) == [("merge", 0, 1, 2, False)]
    # All parts are there and none waits, yet one is with the worker that merges.
    assert emitter.done(update) == []
    [last] = emitter.done(merge, merged(merge))
    assert shown([last]) == [("update", 0, 1, 1, True)]  # to the worker that has it
    assert last.results == (frozenset({(0, 1), (0, 2)}),)


def test_without_merges_the_worker_stays_idle() -> None:
    emitter = WindowEmitter[Parts](workers=2, merges=False)
    emitter.open(0, [0])
    emitter.arrived(part(0, 0, 3))
    assert emitter.arrived(part(0, 1, 3)) == []
    assert emitter.arrived(part(0, 2, 3)) == []
    assert (emitter.idle, emitter.waiting(0)) == (1, 2)


def test_idle_workers_take_turns() -> None:
    emitter = WindowEmitter[Parts](workers=3)
    workers = []
    for window in range(4):
        emitter.open(window, [window])
        [task] = emitter.arrived(part(window, 0, 1))
        workers.append(task.worker)
        assert emitter.done(task) == []
    assert workers == [0, 1, 2, 0]


def test_updates_of_free_windows_come_before_merges() -> None:
    emitter = WindowEmitter[Parts](workers=2)
    emitter.open(0, [0])
    emitter.open(1, [1])
    emitter.arrived(part(0, 0, 4))
    [other] = emitter.arrived(part(1, 0, 2))
    for number in (1, 2, 3):
        emitter.arrived(part(0, number, 4))
    emitter.arrived(part(1, 1, 2))
    assert shown(emitter.done(other)) == [("update", 1, 1, 1, True)]


def test_a_pane_closed_before_its_parts_were_known_is_whole_when_all_came() -> None:
    emitter = WindowEmitter[Parts](workers=1)
    emitter.open(0, [0])
    [first] = emitter.arrived(part(0, 0, 2))
    assert not first.finalises
    emitter.arrived(part(0, 1, 0))  # closed by force: it does not know of two
    [last] = emitter.done(first)
    assert last.finalises


def test_a_worker_that_leaves_ends_its_task_and_gets_no_other() -> None:
    emitter = WindowEmitter[Parts](workers=2)
    emitter.open(0, [0])
    emitter.open(1, [1])
    [kept] = emitter.arrived(part(0, 0, 2))
    [left] = emitter.arrived(part(1, 0, 2))
    emitter.arrived(part(1, 1, 2))
    assert emitter.resize(1) == []
    assert emitter.done(left) == []
    assert shown(emitter.done(kept)) == [("update", 1, 0, 1, True)]
    assert emitter.arrived(part(0, 1, 2)) == []
    assert shown(emitter.resize(2)) == [("update", 0, 1, 1, True)]


def test_what_a_leaving_worker_held_up_goes_to_one_that_is_idle() -> None:
    emitter = WindowEmitter[Parts](workers=2)
    emitter.open(0, [0])
    emitter.open(1, [1])
    [short] = emitter.arrived(part(0, 0, 1))
    [left] = emitter.arrived(part(1, 0, 2))
    assert emitter.done(short) == []
    assert emitter.arrived(part(1, 1, 2)) == []  # its window is busy
    assert emitter.resize(1) == []
    assert shown(emitter.done(left)) == [("update", 1, 0, 1, True)]


def test_new_workers_are_given_all_there_is_to_merge() -> None:
    emitter = WindowEmitter[Parts](workers=1)
    emitter.open(0, [0])
    for number in range(7):
        emitter.arrived(part(0, number, 7))
    assert [task.kind for task in emitter.resize(4)] == ["merge"] * 3


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda e: e.open(0, [3]), "open already"),
        (lambda e: e.open(9, []), "has no panes"),
        (lambda e: e.open(9, [0]), "opens after results"),
        (lambda e: e.arrived(part(7, 0, 1)), "no open window"),
        (lambda e: e.resize(0), "at least one worker"),
    ],
)
def test_what_cannot_be_is_said(wrong: Callable[[WindowEmitter[Parts]], object], says: str) -> None:
    emitter = WindowEmitter[Parts](workers=1)
    emitter.open(0, [0])
    emitter.arrived(part(0, 0, 2))
    with pytest.raises(ValueError, match=says):
        wrong(emitter)


@given(data=st.data(), workers=st.integers(1, 5), width=st.integers(1, 4), merges=st.booleans())
def test_every_part_is_in_its_windows_once_whatever_the_order(
    data: st.DataObject, workers: int, width: int, merges: bool
) -> None:
    parts = data.draw(st.lists(st.integers(1, 4), min_size=width, max_size=8), "parts per pane")
    emitter = WindowEmitter[Parts](workers, merges=merges)
    windows = {k: range(k, k + width) for k in range(len(parts) - width + 1)}
    for window, panes in windows.items():
        emitter.open(window, panes)
    arriving = [part(pane, n, of) for pane, of in enumerate(parts) for n in range(of)]
    arriving = data.draw(st.permutations(arriving), "arriving")
    running: list[Task] = []
    held: dict[object, list[Parts]] = {window: [] for window in windows}
    finalised: Counter[object] = Counter()
    while arriving or running:
        if arriving and (not running or data.draw(st.booleans(), "arrives")):
            running += emitter.arrived(arriving.pop())
        elif running:
            task = running.pop(data.draw(st.integers(0, len(running) - 1), "done"))
            if task.kind == "update":
                held[task.window] += task.results
                finalised[task.window] += task.finalises
            running += emitter.done(task, merged(task) if task.kind == "merge" else None)
        updates = Counter(task.window for task in running if task.kind == "update")
        assert max(updates.values(), default=0) <= 1
        assert len({task.worker for task in running}) == len(running) <= workers
        if emitter.idle:
            for window in emitter.open_windows:
                assert window in updates or not emitter.waiting(window)
                assert not merges or emitter.waiting(window) < 2
    assert finalised == Counter(dict.fromkeys(windows, 1))
    for window, panes in windows.items():
        into = Counter(each for result in held[window] for each in result)
        assert into == Counter((pane, n) for pane in panes for n in range(parts[pane]))
    assert emitter.open_windows == ()
