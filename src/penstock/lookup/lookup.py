"""Lookup: values for keys, asked for many at a time and kept by workers and their executor."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.arguments import checked, shown
from penstock.errors import ConfigurationError
from penstock.lookup.kept_values import ABSENT, KeptValues
from penstock.lookup.marks import mark_of, without_equals
from penstock.windows.durations import Duration, seconds

if TYPE_CHECKING:
    from penstock.lookup.shared_values import SharedValues

Load = Callable[[list[Any]], Mapping[Any, Any]]
_MOST_LOOKUPS = 64


@dataclass(slots=True)
class LookupStats:
    """What a lookup did in this process.

    ``hits`` are keys that it kept, ``shared`` those that it had from another worker of the
    executor, ``misses`` those that it asked for, and ``loads`` the calls that this took.
    """

    hits: int = 0
    shared: int = 0
    misses: int = 0
    loads: int = 0
    load_seconds: float = 0.0


@dataclass(slots=True)
class _Here:
    """What one process has of a lookup, for all the tasks that it runs."""

    kept: KeptValues
    shared: SharedValues | None
    stats: LookupStats = field(default_factory=LookupStats)
    lock: threading.RLock = field(default_factory=threading.RLock)


# Spark unpickles a function for every task; what is kept must outlive that, so it is not in there.
_here: OrderedDict[tuple[int, str], _Here] = OrderedDict()
_here_lock = threading.Lock()
_of_parent: list[_Here] = []


def _begin_anew() -> None:
    """Leave alone, in a process that was forked off, what its parent has open or is locking."""
    global _here_lock
    _here_lock = threading.Lock()
    _of_parent.extend(_here.values())
    _here.clear()


os.register_at_fork(after_in_child=_begin_anew)


class Lookup:
    """Values by key from a place that is slow to ask, such as a database.

    ``load`` gets a list of keys, none of them twice, and returns a mapping with the values of those
    that it found. Values are kept in memory, and so is that a key has none: by each Python worker,
    which Spark uses again for further tasks, with ``spark.python.worker.reuse``. What one worker
    asked for the others of its executor find in a file beside Spark's shuffles. Of a lookup in a
    module that workers import each worker has its own, which shares nothing.

    Parameters
    ----------
    load
        A function, or a ``PostgresTable``. What it raises fails the row; it is not kept.
    max_entries
        How many keys a worker keeps at most; those that were not used for longest go. Of the file
        of an executor those go that were loaded first.
    expire_after
        For how long a value is kept. Without it a changed value is never seen.
    shared
        Whether the workers of an executor share what they asked for. ``False`` where nothing of it
        may be written to a disk.
    clock
        Where the time comes from, in seconds; the same in all processes of a machine.

    >>> squares = Lookup(lambda keys: {key: key**2 for key in keys if key < 10})
    >>> squares.get(3), squares.get(12), squares.get_many([3, 4, 3])
    (9, None, [9, 16, 9])
    >>> stats = squares.stats()
    >>> stats.hits, stats.misses, stats.loads
    (2, 3, 3)

    """

    def __init__(
        self,
        load: Load,
        *,
        max_entries: int = 100_000,
        expire_after: Duration | None = None,
        shared: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not callable(load):
            raise ConfigurationError(
                f"Lookup got {shown(load)}, which can't be called. Give it a function of a list of "
                "keys, or a PostgresTable."
            )
        if not callable(clock):
            raise ConfigurationError(
                f"clock={shown(clock)} of Lookup can't be called. Leave it out, or give a function "
                "that returns seconds."
            )
        if isinstance(max_entries, bool) or not isinstance(max_entries, int) or max_entries < 1:
            raise ConfigurationError(
                f"max_entries={shown(max_entries)} of Lookup is no number of keys. Write 100_000."
            )
        self._ttl_seconds = None if expire_after is None else seconds(expire_after)
        if self._ttl_seconds is not None and self._ttl_seconds <= 0:
            raise ConfigurationError(
                f"expire_after={expire_after!r} of Lookup is no time. Leave it out to keep values."
            )
        if not isinstance(shared, bool):
            raise ConfigurationError(
                f"shared={shown(shared)} of Lookup must be True or False, which keeps values in "
                "the memory of each worker only."
            )
        self._load = load
        self._is_shared = shared
        self._max_entries = max_entries
        self._clock = clock
        self._id = uuid.uuid4().hex
        self._was_sent = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to workers, who have one id only where it was sent to them."""
        return self.__dict__ | {"_was_sent": True}

    def get(self, key: Hashable) -> Any:
        """Return the value of a key; None where it has none, and for None."""
        return self.get_many([key])[0]

    def get_many(self, keys: Iterable[Hashable]) -> list[Any]:
        """Return the values of keys, in order; those that are not kept are loaded by one call."""
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise ConfigurationError(
                f"get_many takes a list of keys, not {shown(keys)}. Write get(key) for one."
            )
        marks, found = self._found(list(keys))
        return [found[mark] for mark in marks]

    @checked
    def onto(
        self, key: str | Sequence[str], columns: Sequence[str]
    ) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        """Return a function for ``map_batches`` that adds columns of what is looked up.

        ``key`` names the column with the key; of several columns the key is a tuple. Values are
        mappings, such as those of a ``PostgresTable``. A key without one gets nulls. A column that
        is there already is replaced.
        """
        keys = (key,) if isinstance(key, str) else tuple(key)
        if isinstance(columns, str) or not columns or not keys:
            raise ConfigurationError(
                f"onto({shown(key)}, {shown(columns)}) adds nothing. Write onto('code', ['city'])."
            )
        return _Onto(self, keys, tuple(columns))

    def stats(self) -> LookupStats:
        """Return what was done in this process so far; on an executor, that of its worker."""
        return self._process().stats

    def __repr__(self) -> str:
        name = getattr(self._load, "__qualname__", None) or repr(self._load)
        return f"Lookup({name})"

    def _found(self, keys: list[Any]) -> tuple[list[Hashable], dict[Hashable, Any]]:
        """Return a mark for every key, and the values by it: some keys are equal and not the same.

        Without a key there is a mark too, and no value.
        """
        marks = list(map(mark_of, keys))
        distinct = _distinct(marks, keys)
        here = self._process()
        with here.lock:
            found = {mark: here.kept.get(mark) for mark, key in distinct.items() if key is not None}
            wanted = {mark: distinct[mark] for mark, value in found.items() if value is ABSENT}
            here.stats.hits += sum(key is not None for key in keys) - len(wanted)
            if wanted:
                found |= _of_others(wanted, here)
                wanted = {mark: key for mark, key in wanted.items() if found[mark] is ABSENT}
            here.stats.misses += len(wanted)
            for each in without_equals(wanted):
                found |= self._loaded(each, here)
        found[None] = None
        return marks, found

    def _loaded(self, wanted: dict[Hashable, Any], here: _Here) -> dict[Hashable, Any]:
        loaded_at, began = self._clock(), time.perf_counter()
        try:
            loaded = self._load(list(wanted.values()))
        finally:
            here.stats.loads += 1
            here.stats.load_seconds += time.perf_counter() - began
        if not isinstance(loaded, Mapping):
            raise ConfigurationError(
                f"{self!r} loaded {shown(loaded)}. Return a mapping with the values of the keys "
                "that were found, such as {'BER': 'Berlin'}."
            )
        found = {mark: loaded.get(key) for mark, key in wanted.items()}
        for mark, value in found.items():
            here.kept.put(mark, value, loaded_at)
        if here.shared is not None:
            here.shared.put_many(zip(wanted.values(), found.values(), strict=True), loaded_at)
        return found

    def _process(self) -> _Here:
        """Return what this process has of this lookup, of which it may have many copies."""
        which = (os.getpid(), self._id)
        with _here_lock:
            if which not in _here:
                limits = self._max_entries, self._ttl_seconds, self._clock
                _here[which] = _Here(KeptValues(*limits), self._shared())
                while len(_here) > _MOST_LOOKUPS:  # of queries that are long over
                    _here.popitem(last=False)
            _here.move_to_end(which)
            return _here[which]

    def _shared(self) -> SharedValues | None:
        if not (self._is_shared and self._was_sent):
            return None
        try:
            from penstock.lookup.shared_values import SharedValues, directory_of, executor_directory
        except ImportError:  # a Python that was built without SQLite
            return None
        executor = executor_directory()
        if executor is None:
            return None
        directory = directory_of(executor, self._id)
        return SharedValues(directory, self._max_entries, self._ttl_seconds, self._clock)


@dataclass(frozen=True)
class _Onto:
    """Adds columns to record batches; every distinct key of a batch is asked for once."""

    lookup: Lookup
    keys: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def __name__(self) -> str:
        return "lookup"

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = list(map(_key, *(batch.column(name).to_pylist() for name in self.keys)))
        marks, values = self.lookup._found(rows)
        numbers = {mark: number for number, mark in enumerate(values)}
        places = pa.array([numbers[mark] for mark in marks], pa.int64())
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for column in self.columns:
            found = [None if value is None else value[column] for value in values.values()]
            columns[column] = pa.array(found).take(places)
        return pa.RecordBatch.from_pydict(columns)


def _of_others(wanted: dict[Hashable, Any], here: _Here) -> dict[Hashable, Any]:
    """Return the values that another worker of this executor has asked for."""
    if here.shared is None:
        return {}
    there = zip(wanted, here.shared.get_many(list(wanted.values())), strict=True)
    found = {mark: value for mark, value in there if value is not None}
    for mark, (value, loaded_at) in found.items():
        here.kept.put(mark, value, loaded_at)
    here.stats.shared += len(found)
    return {mark: value for mark, (value, _) in found.items()}


def _distinct(marks: list[Hashable], keys: list[Any]) -> dict[Hashable, Any]:
    try:
        return dict(zip(marks, keys, strict=True))
    except TypeError as error:
        raise ConfigurationError(
            f"a key can't be looked up: {error}. Write a text, a number, or a tuple of these."
        ) from None


def _key(*parts: Any) -> Hashable:
    if any(part is None for part in parts):
        return None
    return parts[0] if len(parts) == 1 else parts
