"""Rows on their way from one fused keyed operator to the next, in the same Python worker.

What a function returned goes on as it is where that makes no difference: where each row is a dict
of its own with just the declared columns in their order, and each value is of just the type that
would come back from Arrow. Otherwise rows go through Arrow, as they would between two workers.

Nothing here imports Spark: it runs in Spark's Python workers, where start-up time counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property, lru_cache
from operator import attrgetter, is_, itemgetter, le
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.arrow_groups import row_keys
from penstock.engine.rows import Row, rows_of, to_columns, to_rows, to_values

_WIDTHS = {8: 2**7, 16: 2**15, 32: 2**31, 64: 2**63}
_PLAIN: tuple[tuple[Callable[[pa.DataType], bool], type], ...] = (
    (pa.types.is_signed_integer, int),
    (pa.types.is_float64, float),
    (pa.types.is_boolean, bool),
    (pa.types.is_string, str),
    (pa.types.is_large_string, str),
    (pa.types.is_timestamp, datetime),
)


@dataclass(frozen=True, slots=True)
class GivenRows:
    """The rows that an operator was given, key after key, and their values by column.

    They are as Arrow would show them. ``types`` are those of the columns.
    """

    rows: list[Row]
    columns: dict[str, list[Any]]
    types: list[pa.DataType]

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> GivenRows:
        """Read a record batch; a value that Python can't hold raises whatever it is."""
        values = to_values(batch)
        names = batch.schema.names
        columns = dict(zip(names, values, strict=True))
        return cls(rows_of(names, values), columns, batch.schema.types)

    def went_on(self, rows: list[Row], schema: pa.Schema) -> bool:
        """Whether some rows have the very values of these, in their order: nothing to check.

        A list or a dict is no proof: a function may have put something else into it.
        """
        return (
            len(rows) == len(self.rows)
            and schema.names == list(self.columns)
            and schema.types == self.types
            and not any(map(pa.types.is_nested, schema.types))
            and (all(map(is_, rows, self.rows)) or len(set(map(id, rows))) == len(rows))
            and sum(map(len, rows)) == len(rows) * len(schema)
            and all(_has(rows, name, values) for name, values in self.columns.items())
            and not any(None in self.columns[f.name] for f in schema if not f.nullable)
        )


def _has(rows: list[Row], name: str, values: list[Any]) -> bool:
    try:
        return all(map(is_, map(itemgetter(name), rows), values))
    except KeyError:
        return False


class MadeRows:
    """The rows that an operator made, key after key; ``places`` says where those of a key are.

    ``given`` are those that it was given, of which ``numbers`` says which are of each key, in the
    order of the column ``ordered_by``.
    """

    def __init__(
        self,
        rows: list[Row],
        places: Mapping[int, range],
        schema: pa.Schema,
        given: GivenRows | None = None,
        numbers: Sequence[Sequence[int]] = (),
        ordered_by: str | None = None,
    ) -> None:
        """Raise ``WrongValue`` where a row is not as ``schema`` declares it."""
        self._schema = schema
        self.places = places
        went_on = given is not None and given.went_on(rows, schema)
        # Each key has just the rows that it was given, where those lie together.
        self._is_as_given = went_on and all(
            number < len(numbers) and numbers[number] == place for number, place in places.items()
        )
        self._ordered_by = ordered_by if self._is_as_given else None
        self._columns: dict[str, list[Any]] | None
        if went_on and given is not None:
            self._columns = given.columns
        else:
            self._columns = plain_columns(rows, schema)
        if self._columns is None:
            self.batch = to_columns(rows, schema)
            self.rows = to_rows(self.batch)
        else:
            self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def given(self) -> GivenRows:
        """The rows as the next operator is given them."""
        columns = self._columns
        if columns is None:
            names = self._schema.names
            columns = dict(zip(names, to_values(self.batch), strict=True))
        return GivenRows(self.rows, columns, self._schema.types)

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """The rows in Arrow, as they were before the next operator saw them."""
        assert self._columns is not None
        return self._batch(self._schema.names)

    def keys(self, names: Sequence[str]) -> pa.RecordBatch:
        """Return some columns in Arrow."""
        return self.batch.select(names) if self._columns is None else self._batch(names)

    def strayed(self, names: Sequence[str], wanted: Sequence[bytes]) -> int | None:
        """Return the number of a row that has not the key it was made for, None where all have.

        ``wanted`` are the keys in bytes, by their numbers.
        """
        if self._is_as_given:
            return None
        if self._have_one_key_each(names):
            firsts = pa.array([place.start for place in self.places.values()], pa.int64())
            made, numbers = self.keys(names).take(firsts), list(self.places)
        else:
            made, firsts = self.keys(names), None
            numbers = [number for number, place in self.places.items() for _ in place]
        own = row_keys(made.columns)
        same = pc.equal(own, pa.array([wanted[number] for number in numbers], own.type))
        if pc.all(same).as_py():
            return None
        at = int(same.to_pylist().index(False))
        return at if firsts is None else int(firsts[at].as_py())

    def in_order(self, time: str | None) -> dict[int, Sequence[int]]:
        """Return the numbers of each key's rows in the order of a column, as they came if equal."""
        if time is None or time == self._ordered_by or not self.rows:
            return dict(self.places)
        times = self._times(time)
        ordered: dict[int, Sequence[int]] = {}
        for number, place in self.places.items():
            own = times[place.start : place.stop]
            is_sorted = all(map(le, own, own[1:]))
            ordered[number] = place if is_sorted else sorted(place, key=times.__getitem__)
        return ordered

    def _times(self, name: str) -> list[Any]:
        if self._columns is not None and None not in self._columns[name]:
            return self._columns[name]
        column = self.batch.column(name)
        if pa.types.is_struct(column.type):  # windows: by their end, then by their start
            parts = [pc.struct_field(column, part) for part in ("end", "start")]
        else:
            parts = [column]
        numbers = [part.cast(pa.int64()).to_pylist() for part in parts]
        return [
            tuple((value is None, 0 if value is None else value) for value in each)
            for each in zip(*numbers, strict=True)
        ]

    def _have_one_key_each(self, names: Sequence[str]) -> bool:
        """Whether all rows of a key have the very values of its first one."""
        if self._columns is None:
            return False
        for name in names:
            column = self._columns[name]
            for place in self.places.values():
                own = column[place.start : place.stop]
                if own.count(own[0]) != len(own):
                    return False
        return True

    def _batch(self, names: Sequence[str]) -> pa.RecordBatch:
        assert self._columns is not None
        fields = [self._schema.field(name) for name in names]
        arrays = [pa.array(self._columns[field.name], field.type) for field in fields]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def plain_columns(rows: list[Row], schema: pa.Schema) -> dict[str, list[Any]] | None:
    """Return rows as lists of values, where reading them back from Arrow would give just the same.

    None where it might not, or where Arrow would not take them.

    >>> plain_columns([{"x": 1}, {"x": None}], pa.schema([("x", pa.int64())]))
    {'x': [1, None]}
    >>> plain_columns([{"x": 1}], pa.schema([("x", pa.float64())]))
    """
    if not rows:
        return {name: [] for name in schema.names}
    if set(map(type, rows)) != {dict} or set(map(tuple, rows)) != {tuple(schema.names)}:
        return None
    if len(set(map(id, rows))) != len(rows):
        return None
    found: dict[str, list[Any]] = {}
    for field in schema:
        name = field.name
        values = list(map(itemgetter(name), rows))
        if not _is_plain(values, field):
            return None
        found[name] = values
    return found


def _is_plain(values: list[Any], field: pa.Field) -> bool:
    kind = _plain_kind(field.type)
    kinds = set(map(type, values))
    if kind is None or not kinds <= {kind, type(None)}:
        return False
    has_null = type(None) in kinds
    if has_null and not field.nullable:
        return False
    if kind is float or kind is bool or not kinds - {type(None)}:
        return True
    known = [value for value in values if value is not None] if has_null else values
    if kind is int:
        limit = _WIDTHS[field.type.bit_width]
        return bool(-limit <= min(known) and max(known) < limit)
    if kind is str:
        return _is_text(known)
    # Nobody who sees a time twice, once as "fold", would find it again.
    return set(map(_zone_and_fold, known)) == {(_zone(field.type), 0)}


def _is_text(values: list[str]) -> bool:
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=256)
def _plain_kind(arrow_type: pa.DataType) -> type | None:
    kind = next((kind for is_type, kind in _PLAIN if is_type(arrow_type)), None)
    if kind is datetime and arrow_type.unit != "us":
        return None
    return kind


_zone_and_fold = attrgetter("tzinfo", "fold")


@lru_cache(maxsize=64)
def _zone(arrow_type: pa.DataType) -> tzinfo | None:
    """Return the zone that the times of a column come out with."""
    field = pa.field("at", arrow_type)
    moment = pa.RecordBatch.from_arrays([pa.array([0], arrow_type)], schema=pa.schema([field]))
    zone: tzinfo | None = to_rows(moment)[0]["at"].tzinfo
    return zone
