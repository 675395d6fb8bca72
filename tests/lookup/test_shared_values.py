"""What the workers of an executor share: two processes, broken files, and executors of Spark."""

from __future__ import annotations

import copy
import errno
import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import penstock as ps
from penstock.lookup import shared_values
from penstock.lookup.shared_values import SharedValues, executor_directory
from penstock.testing import ManualClock

KEYS = range(40)


def shared(path: Path, most: int = 100, clock: Callable[[], float] = lambda: 7.0) -> SharedValues:
    return SharedValues(path, most, 10.0, clock)


def keep(by: SharedValues, values: dict[Any, Any], at: float) -> None:
    by.put_many(values.items(), at)


def found(by: SharedValues, keys: Iterable[Any]) -> dict[Any, Any]:
    """Return what is there, by key."""
    keys = list(keys)
    return {key: each for key, each in zip(keys, by.get_many(keys), strict=True) if each}


# Each step keeps some values by one of two workers, or lets time pass.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 1), st.dictionaries(st.integers(0, 9), st.integers(), min_size=1)),
        st.integers(1, 8),
    ),
    max_size=12,
)


@given(STEPS, st.integers(1, 12))
def test_what_one_keeps_the_other_finds_until_it_is_old_or_there_is_too_much(
    steps: list[Any], most: int
) -> None:
    clock = ManualClock()
    loads: list[tuple[int, int, float]] = []
    with TemporaryDirectory() as where:
        two = [shared(Path(where) / "kept", most, clock) for _ in range(2)]
        for step in steps:
            if isinstance(step, int):
                clock.advance(step)
            else:
                worker, values = step
                keep(two[worker], values, clock())
                loads += [(key, value, clock()) for key, value in values.items()]
            newest = {key: (value, at) for key, value, at in loads[-most:]}
            young = {key: each for key, each in newest.items() if clock() - each[1] < 10}
            assert found(two[0], range(12)) == found(two[1], range(12)) == young


def test_keys_of_types_that_are_equal_are_kept_apart(tmp_path: Path) -> None:
    one = shared(tmp_path / "kept")
    keep(one, {1: "int"}, 7.0)
    keep(one, {1.0: "float", (1, "a"): "tuple", "é\0\ud800": "text"}, 7.0)
    other = shared(tmp_path / "kept")
    assert found(other, [1]) == {1: ("int", 7.0)}
    those = found(other, [1.0, (1, "a"), "é\0\ud800", True])
    assert {value for value, _ in those.values()} == {"float", "tuple", "text"}


def test_what_text_does_not_tell_is_not_shared(tmp_path: Path) -> None:
    one = shared(tmp_path / "kept")
    keep(one, {"good": 1, "set": {1}, frozenset([1]): 1, "deep": [object()]}, 7.0)
    assert found(shared(tmp_path / "kept"), ["good", "set", frozenset([1]), "deep"]) == {
        "good": (1, 7.0)
    }


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    one = shared(tmp_path / "kept")
    keep(one, {1: 1}, 7.0)
    files = list((tmp_path / "kept").iterdir())
    assert "kept.sqlite" in {file.name for file in files}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "break_it",
    [
        lambda path: path.mkdir(),
        lambda path: path.write_bytes(b"no database" * 1_000),
        lambda path: path.parent.rmdir() or path.parent.touch(),
        lambda path: path.symlink_to(path.parent.parent / "elsewhere"),
        lambda path: path.parent.rmdir() or path.parent.symlink_to("nowhere"),
        lambda path: sqlite3.connect(path).execute("CREATE TABLE other (x)"),
    ],
)
def test_a_file_that_is_of_no_use_is_gone_without(
    tmp_path: Path, break_it: Callable[[Path], Any]
) -> None:
    path = tmp_path / "own" / "kept.sqlite"
    path.parent.mkdir()
    old = os.umask(0o077)
    break_it(path)
    os.umask(old)
    one = shared(path.parent)
    keep(one, {1: 1}, 7.0)
    assert found(one, [1]) == {}


def test_a_file_that_breaks_later_is_gone_without(tmp_path: Path) -> None:
    one = shared(tmp_path / "kept")
    keep(one, {1: 1}, 7.0)
    with sqlite3.connect(tmp_path / "kept" / "kept.sqlite") as other:
        other.execute("DROP TABLE kept")
    keep(one, {2: 2}, 7.0)
    assert found(one, [1, 2]) == {}


def test_what_was_put_there_by_another_is_not_read(tmp_path: Path) -> None:
    keep(shared(tmp_path / "kept"), {1: "true"}, 7.0)
    path = tmp_path / "kept" / "kept.sqlite"
    path.chmod(0o644)
    assert found(shared(tmp_path / "kept"), [1]) == {}
    path.chmod(0o600)
    assert found(shared(tmp_path / "kept"), [1]) == {1: ("true", 7.0)}


def test_what_is_another_users_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(shared(tmp_path / "kept"), {1: "true"}, 7.0)
    monkeypatch.setattr(shared_values.os, "geteuid", lambda: os.getuid() + 1)
    assert found(shared(tmp_path / "kept"), [1]) == {}
    monkeypatch.undo()
    assert found(shared(tmp_path / "kept"), [1]) == {1: ("true", 7.0)}


def test_a_file_that_is_only_locked_is_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_values, "_WAIT_SECONDS", 0.01)
    one = shared(tmp_path / "kept")
    keep(one, {1: 1}, 7.0)
    other = sqlite3.connect(tmp_path / "kept" / "kept.sqlite", isolation_level=None)
    with closing(other):
        other.execute("BEGIN IMMEDIATE")
        keep(one, {2: 2}, 7.0)
        assert found(one, [1, 2]) == {1: (1, 7.0)}
        other.execute("ROLLBACK")
    keep(one, {4: 4}, 7.0)  # not tried again so soon, as rows would wait for it one by one
    half_a_minute_later(monkeypatch)
    keep(one, {3: 3}, 7.0)
    assert found(one, [1, 2, 3, 4]) == {1: (1, 7.0), 3: (3, 7.0)}


def half_a_minute_later(monkeypatch: pytest.MonkeyPatch) -> None:
    later = monotonic() + 31
    monkeypatch.setattr(shared_values.time, "monotonic", lambda: later)


def test_a_disk_that_is_full_is_written_to_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = shared(tmp_path / "kept")
    keep(one, {1: 1}, 7.0)
    database = one._database
    assert database is not None
    database.execute("PRAGMA max_page_count = 1")  # as SQLite has it: no more than there are
    keep(one, {2: "x" * 100_000}, 7.0)
    database.execute("PRAGMA max_page_count = 100000")
    texts = texts_made(monkeypatch)
    keep(one, {3: 3}, 7.0)
    assert texts == []
    assert found(one, [1, 2, 3]) == {1: (1, 7.0)}
    half_a_minute_later(monkeypatch)
    keep(one, {4: 4}, 7.0)
    assert found(one, [1, 2, 4]) == {1: (1, 7.0), 4: (4, 7.0)}


def texts_made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the texts that are made of keys and values, which takes a while for many."""
    made: list[str] = []
    as_text = shared_values.as_text
    monkeypatch.setattr(
        shared_values, "as_text", lambda value: made.append(as_text(value)) or made[-1]
    )
    return made


@contextmanager
def no_room_for_a_directory(_: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", full)
        yield


@contextmanager
def no_room_for_a_table(_: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    connect = sqlite3.connect

    def small(*given: Any, **named: Any) -> sqlite3.Connection:
        database = connect(*given, **named)
        database.execute("PRAGMA max_page_count = 1")
        return database

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", small)
        yield


LOCKING = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("PRAGMA locking_mode = EXCLUSIVE")
other.execute("UPDATE kept SET at = at")
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked_by_another_process(path: Path, _: pytest.MonkeyPatch) -> Iterator[None]:
    SharedValues(path, 100, None, lambda: 7.0)._end()
    command = [sys.executable, "-c", LOCKING, str(path / "kept.sqlite")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        yield
        other.communicate()


@pytest.mark.parametrize(
    "fails", [no_room_for_a_directory, no_room_for_a_table, locked_by_another_process]
)
def test_a_file_that_cannot_be_made_or_opened_for_now_is_opened_later(
    tmp_path: Path, fails: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_values, "_WAIT_SECONDS", 0.01)
    path = tmp_path / "kept"
    with fails(path, monkeypatch):
        one = shared(path)
        keep(one, {1: 1}, 7.0)
    if path.exists():
        assert {file.name for file in path.iterdir()} <= {"kept.sqlite"}
    texts = texts_made(monkeypatch)
    keep(one, {2: 2}, 7.0)
    assert found(one, [1, 2]) == {}
    assert texts == []  # nor is any of this tried before half a minute is over
    half_a_minute_later(monkeypatch)
    keep(one, {3: 3}, 7.0)
    assert found(shared(path), [1, 2, 3]) == found(one, [1, 2, 3]) == {3: (3, 7.0)}


def test_where_there_is_no_file_no_text_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").touch()
    one, texts = shared(tmp_path / "kept"), texts_made(monkeypatch)
    half_a_minute_later(monkeypatch)
    keep(one, {1: 1}, 7.0)
    assert found(one, [1]) == {}
    assert texts == []


def test_a_value_that_is_too_long_for_a_file_is_kept_by_nobody(tmp_path: Path) -> None:
    one = shared(tmp_path / "kept")
    assert one._database is not None
    one._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000)
    keep(one, {1: "x" * 2_000}, 7.0)
    keep(one, {2: 2}, 7.0)
    assert found(one, [1, 2]) == {2: (2, 7.0)}


def test_an_answer_that_took_long_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    one = shared(tmp_path / "kept")
    keep(one, {1: "new"}, 5.0)
    keep(one, {1: "old", 2: "other"}, 4.0)
    assert found(one, [1, 2]) == {1: ("new", 5.0), 2: ("other", 4.0)}


def test_what_another_process_cannot_read_it_asks_for_itself(tmp_path: Path) -> None:
    one = shared(tmp_path / "kept")
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    keep(one, {"deep": deep, "good": 1, "zone": 2}, 7.0)
    with sqlite3.connect(tmp_path / "kept" / "kept.sqlite") as other:
        zone = json.dumps(["datetime", "2024-01-01T00:00:00", "Plant/Bonn", 0])
        other.execute("UPDATE kept SET value = ? WHERE key = '\"zone\"'", [zone])
        nested = "[" * 5_000 + "]" * 5_000
        other.execute("UPDATE kept SET value = ? WHERE key = '\"deep\"'", [nested])
    assert found(one, ["deep", "good", "zone"]) == {"good": (1, 7.0)}


def test_a_time_that_no_file_can_hold_is_kept_by_nobody(tmp_path: Path) -> None:
    one = shared(tmp_path / "kept")
    keep(one, {1: 1}, 2**70)
    assert found(one, [1]) == {}


def test_files_of_look_ups_that_are_long_over_go(tmp_path: Path) -> None:
    for name in ("over", "used"):
        keep(shared(tmp_path / f"penstock-lookup-{name}"), {1: 1}, 7.0)
    (tmp_path / "not-ours").mkdir()
    ages = {"over": 7, "used": 5}
    for name, hours in ages.items():
        where = tmp_path / f"penstock-lookup-{name}"
        for file in (where, *where.iterdir()):
            os.utime(file, (time() - hours * 3600,) * 2)
    os.utime(tmp_path / "not-ours", (0, 0))
    shared(tmp_path / "penstock-lookup-new")
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {"penstock-lookup-used", "penstock-lookup-new", "not-ours"}


def test_a_file_that_is_only_read_is_in_use_when_it_is_opened(tmp_path: Path) -> None:
    where = tmp_path / "penstock-lookup-read"
    keep(shared(where), {1: 1}, 7.0)
    for file in (where, *where.iterdir()):
        os.utime(file, (time() - 7 * 3600,) * 2)
    reader = shared(where)
    shared(tmp_path / "penstock-lookup-new")
    assert found(shared(where), [1]) == found(reader, [1]) == {1: (1, 7.0)}


def put_own(path: Path, number: int) -> None:
    """Open the file at the same time as others do, and keep a value of its own many times."""
    one = shared(path, 10_000)
    for each in range(50):
        keep(one, {(number, each): each, "all": "same"}, 7.0)


def test_processes_that_begin_at_once_all_keep_theirs(tmp_path: Path) -> None:
    path, many = tmp_path / "kept", 6
    with ProcessPoolExecutor(many, get_context("spawn")) as pool:
        for done in [pool.submit(put_own, path, number) for number in range(many)]:
            done.result(60)
    keys = [(number, each) for number in range(many) for each in range(50)]
    there = found(shared(path, 10_000), keys)
    assert there == {key: (key[1], 7.0) for key in keys}
    names = {f"kept.sqlite{end}" for end in ("", "-wal", "-shm")}
    assert {file.name for file in path.iterdir()} <= names


FORKING = """
import os, sys
from pathlib import Path
from penstock.lookup.shared_values import SharedValues

def opened():
    return SharedValues(Path(sys.argv[1]), 100, None, lambda: 7.0)

one = opened()
one.put_many([(1, "parent")], 7.0)
if not (child := os.fork()):
    assert opened().get_many([1]) == [None]
    opened().put_many([(2, "child")], 7.0)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert one.get_many([1, 2]) == [("parent", 7.0), None]
"""


def test_a_fork_of_a_process_that_uses_it_keeps_away_from_it(tmp_path: Path) -> None:
    # SQLite tells the locks of two connections of one process apart, which a fork takes over.
    subprocess.run([sys.executable, "-c", FORKING, str(tmp_path / "kept")], check=True, timeout=60)


FORKING_A_LOOKUP = """
import copy, os, signal
import penstock as ps
from penstock.lookup import lookup as module

asked = []

def load(keys):
    asked.append(keys)
    return {key: (key, len(asked)) for key in keys}

lookup = copy.copy(ps.Lookup(load))  # as it is sent to workers
assert lookup.get_many([1, 2]) == [(1, 1), (2, 1)]
module._here_lock.acquire()  # as another thread may, when this one forks
if not (child := os.fork()):
    signal.alarm(20)
    assert lookup.get_many([1, 3]) == [(1, 2), (3, 2)]
    for number in range(70):  # more than a process remembers
        copy.copy(ps.Lookup(load)).get(number)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
module._here_lock.release()
assert lookup.get_many([1, 2, 4]) == [(1, 1), (2, 1), (4, 2)]
assert asked == [[1, 2], [4]]
print(lookup._process().shared.get_many([4])[0][0])
"""


def test_a_look_up_in_a_fork_begins_anew_and_leaves_its_parents_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executors_own(tmp_path, monkeypatch)
    command = [sys.executable, "-c", FORKING_A_LOOKUP]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout == "(4, 2)\n"


def test_only_a_directory_of_sparks_for_an_executor_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("scratch", "blockmgr-7"):
        (tmp_path / name).mkdir()
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    assert executor_directory() is None
    expected = {"scratch": None, "blockmgr-7": tmp_path / "blockmgr-7", "blockmgr-8": None}
    for name, found in expected.items():
        monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / name},/elsewhere")
        assert executor_directory() == found


def test_a_directory_in_which_others_may_write_will_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = executors_own(tmp_path, monkeypatch)
    for above, mode, is_used in ((0o755, 0o755, True), (0o755, 0o775, False), (0o700, 0o775, True)):
        tmp_path.chmod(above)
        own.chmod(mode)
        assert executor_directory() == (own if is_used else None)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert executor_directory() is None


# The look-up in such a process.


def executors_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "blockmgr-1").mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "blockmgr-1"))
    return tmp_path / "blockmgr-1"


def as_sent(lookup: ps.Lookup) -> ps.Lookup:
    """Return what workers have of a lookup that was sent to them."""
    return copy.copy(lookup)  # by what pickle takes of it


def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what this process has kept be another's."""
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)


def test_another_worker_asks_only_for_what_none_has_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executors_own(tmp_path, monkeypatch)
    asked: list[list[int]] = []

    def load(keys: list[int]) -> dict[int, int]:
        asked.append(keys)
        return {key: key * 2 for key in keys if key != 3}

    lookup = as_sent(ps.Lookup(load))
    assert lookup.get_many([1, 3]) == [2, None]
    another_process(monkeypatch)
    assert lookup.get_many([1, 2, 3, 1]) == [2, 4, None, 2]
    assert lookup.get_many([1, 2, 3]) == [2, 4, None]
    assert asked == [[1, 3], [2]]
    stats = lookup.stats()
    assert (stats.hits, stats.shared, stats.misses, stats.loads) == (4, 2, 1, 1)


def test_a_value_is_as_old_as_when_the_other_worker_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executors_own(tmp_path, monkeypatch)
    clock, asked = ManualClock(), []

    def load(keys: list[int]) -> dict[int, float]:
        asked.append(clock())
        return dict.fromkeys(keys, clock())

    lookup = as_sent(ps.Lookup(load, expire_after="10 seconds", clock=clock))
    first = lookup.get(1)
    clock.advance(9)
    another_process(monkeypatch)
    assert lookup.get(1) == first
    clock.advance(1)
    assert lookup.get(1) == first + 10
    assert len(asked) == 2


def test_nothing_is_written_where_it_must_not_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = executors_own(tmp_path, monkeypatch)
    assert as_sent(ps.Lookup(dict.fromkeys, shared=False)).get(1) is None
    # Of a module that is imported each worker makes its own, which would leave a file for each.
    assert ps.Lookup(dict.fromkeys).get(1) is None
    assert list(where.iterdir()) == []
    assert as_sent(ps.Lookup(dict.fromkeys)).get(1) is None
    assert len(list(where.iterdir())) == 1


def test_a_value_is_as_old_as_when_it_was_asked_for_not_when_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executors_own(tmp_path, monkeypatch)
    clock = ManualClock()

    def load(keys: list[int]) -> dict[int, float]:
        began = clock()
        clock.advance(9)
        return dict.fromkeys(keys, began)

    lookup = as_sent(ps.Lookup(load, expire_after="10 seconds", clock=clock))
    first = lookup.get(1)
    clock.advance(1)
    assert lookup.get(1) == first + 10
    another_process(monkeypatch)
    clock.advance(1)
    assert lookup.get(1) == first + 20


def test_a_python_without_sqlite_keeps_values_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = executors_own(tmp_path, monkeypatch)
    monkeypatch.delitem(sys.modules, "penstock.lookup.shared_values")
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    lookup = as_sent(ps.Lookup(lambda keys: dict.fromkeys(keys, 7)))
    assert lookup.get_many([1, 1, 1]) == [7, 7, 7]
    assert lookup.stats().loads == 1
    assert list(where.iterdir()) == []


def test_wrong_answers_to_share() -> None:
    with pytest.raises(ps.ConfigurationError, match="shared='no' of Lookup must be True or False"):
        ps.Lookup(dict.fromkeys, shared="no")  # type: ignore[arg-type]


# In a query on Spark. Every key is once in every micro-batch, so that no two workers can ask for
# one at the same time.


def asking(log: Path) -> Callable[[list[int]], dict[int, dict[str, int]]]:
    def load(keys: list[int]) -> dict[int, dict[str, int]]:
        with open(log, "a") as file:
            file.write("".join(f"{key}\n" for key in keys))
        return {key: {"double": key * 2} for key in keys}

    return load


def test_a_query_asks_once_for_a_key(spark: SparkSession, tmp_path: Path) -> None:
    for _ in range(6):
        rows = spark.range(len(KEYS), numPartitions=1).orderBy("id")
        rows.write.mode("append").parquet(str(tmp_path / "in"))
    read = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 1)
    lookup = ps.Lookup(asking(tmp_path / "asked"))
    sink = ps.sinks.memory()
    found = ps.Stream.read(read.parquet(str(tmp_path / "in"))).map_batches(
        lookup.onto("id", ["double"]), "id bigint, double bigint"
    )
    query = ps.run(found.to(sink), checkpoint=tmp_path / "ck", available_now=True)
    assert query.await_termination(120)
    assert Counter(map(tuple, sink.rows())) == {(key, key * 2): 6 for key in KEYS}
    asked = Counter(map(int, (tmp_path / "asked").read_text().split()))
    assert asked == dict.fromkeys(KEYS, 1)
