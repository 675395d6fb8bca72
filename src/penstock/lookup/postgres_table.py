"""Rows of a PostgreSQL table by key, asked for from wherever a Python worker runs."""

from __future__ import annotations

import os
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Any

from penstock.arguments import checked, shown
from penstock.errors import ConfigurationError, PenstockError, first_line
from penstock.lookup.postgres_keys import TYPE_OF_KEY, asked_as, fitting_key
from penstock.patience import Patience, is_away
from penstock.secrets import keep_secret
from penstock.sql_names import check_column, check_table, quote, quote_table


class DatabaseAway(PenstockError):
    """A database could not be reached, however often it was tried."""


@dataclass
class _Connected:
    """A connection and the query for it; the type of the key is the table's."""

    connection: Any
    query: str
    key_type: str
    used_at: float = 0.0


# By process: a connection can't be shared with a fork, and must outlive the pickled function.
_connections: OrderedDict[tuple[int, str], _Connected] = OrderedDict()
# A standby that must go on recovering ends questions with the first; the second is a deadlock.
_ASK_AGAIN = {"40001", "40P01"}
_MOST_UNUSED = 8
_UNUSED_SECONDS = 60.0
_away_until: dict[tuple[int, str], float] = {}
# A host that is gone without a word is noticed within half a minute or so, and not after hours.
# In the encoding of some databases few texts could be asked for.
_UNLESS_GIVEN: dict[str, Any] = {
    "client_encoding": "utf8",
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "penstock lookup",
}


@checked
@dataclass(frozen=True)
class PostgresTable:
    """A table or view of PostgreSQL as what a ``Lookup`` loads from: one query for many keys.

    A value is a dict of ``columns``. It needs the package psycopg where Python workers run:
    ``pip install 'penstock[postgres]'``. What can't be reached is tried again ``retries`` times,
    with waits that double from ``retry_seconds``. After that rows fail at once for as long as the
    last wait was, before it is tried again.

    Parameters
    ----------
    conninfo
        Where it is, as libpq writes it: ``"host=db.example.com dbname=shop user=reader"``.
    table, key, columns
        ``table`` or ``schema.table``, its unique column, and the columns that are wanted.
    password
        Travels to the workers and is shown nowhere; without it libpq looks where it always does
        (``PGPASSWORD``, ``~/.pgpass``). A function is called where the connection is made.

    >>> PostgresTable("host=db dbname=shop", "cities", "code", ["city"], password="secret")
    PostgresTable(cities by code: city)

    """

    conninfo: str
    table: str
    key: str
    columns: Sequence[str]
    password: str | Callable[[], str] | None = None
    retries: int = 3
    retry_seconds: float = 0.5
    _id: str = field(default_factory=lambda: uuid.uuid4().hex, init=False)

    def __post_init__(self) -> None:
        if "password" in self.conninfo.lower() or "://" in self.conninfo:
            raise ConfigurationError(
                "conninfo of PostgresTable holds a password, or is a url that may. Write "
                "'host=... dbname=... user=...' and give password=... by itself."
            )
        check_table(self.table)
        if isinstance(self.columns, str) or not self.columns:
            raise ConfigurationError(
                f"columns={shown(self.columns)} of PostgresTable must be a list, such as ['city']."
            )
        for name in (self.key, *self.columns):
            check_column(name)
        Patience.of("PostgresTable", self.retries, self.retry_seconds)
        if isinstance(self.password, str):
            keep_secret(self.password)

    def __repr__(self) -> str:
        return f"PostgresTable({self.table} by {self.key}: {', '.join(self.columns)})"

    def __call__(self, keys: list[Any]) -> dict[Any, dict[str, Any]]:
        """Return the rows of keys that the table has."""
        which = (os.getpid(), self._id)
        waits = Patience(self.retries, self.retry_seconds).waits()
        if monotonic() < _away_until.get(which, 0.0):
            raise DatabaseAway(f"{self!r} could not be reached a moment ago")
        wait = 0.0
        while True:
            try:
                return self._asked(which, keys)
            except _Lost as lost:
                _end(which)
                last, wait = wait, next(waits, -1.0)
                if wait < 0:
                    _away_until[which] = monotonic() + last
                    raise DatabaseAway(
                        f"{self!r} can't be reached, which was tried {self.retries + 1} times: "
                        f"{first_line(lost)}"
                    ) from None
            sleep(wait)

    def _asked(self, which: tuple[int, str], keys: list[Any]) -> dict[Any, dict[str, Any]]:
        psycopg = _psycopg()
        to = _connections.get(which)
        try:
            to = to or self._connected()
            _keep(which, to)
            fitting = [(key, sent) for key in keys for sent in fitting_key(key, to.key_type)]
            rows = [row for alike in _by_type(fitting) for row in self._rows(to, alike)]
        except psycopg.OperationalError as error:
            # Without an SQLSTATE it is of the client, which lost or never had the connection.
            is_closed = to is not None and to.connection.closed
            state = error.sqlstate
            if state is None or is_closed or is_away(state) or state in _ASK_AGAIN:
                raise _Lost(str(error)) from None
            raise
        except psycopg.ProgrammingError:
            # The table may have been changed since the query was written.
            _end(which)
            raise
        found: dict[Any, dict[str, Any]] = {}
        for key, values in rows:
            if key in found:
                raise PenstockError(
                    f"{self!r} has several rows for {key!r}. Look up by a column that is unique."
                )
            found[key] = dict(zip(self.columns, values, strict=True))
        return found

    def _rows(self, to: _Connected, keys: list[tuple[Any, Any]]) -> list[tuple[Any, list[Any]]]:
        """Return keys with the values of their rows; a key that can't be one has no row.

        One such key fails a question for many, so that each half of them is asked for then.
        """
        psycopg = _psycopg()
        try:
            rows = to.connection.execute(to.query, [[sent for _, sent in keys]]).fetchall()
        except psycopg.errors.CannotCoerce as error:
            raise PenstockError(
                f"{self!r} can't look up the key {keys[0][0]!r} in a column of type "
                f"{to.key_type}: {first_line(error)}. Look up by a key of that type."
            ) from None
        except _refusals():
            middle = len(keys) // 2
            if middle:
                return self._rows(to, keys[:middle]) + self._rows(to, keys[middle:])
            if self._can_be(keys[0][1], to):
                raise  # so it is the row that can't be read
            return []
        return [(keys[number - 1][0], values) for number, *values in rows]

    def _can_be(self, sent: Any, to: _Connected) -> bool:
        try:
            to.connection.execute(f"SELECT %s::{to.key_type.replace('%', '%%')}[]", [[sent]])
        except _refusals():
            return False
        return True

    def _connected(self) -> _Connected:
        psycopg = _psycopg()
        password = self.password() if callable(self.password) else self.password
        try:
            given = _UNLESS_GIVEN | psycopg.conninfo.conninfo_to_dict(self.conninfo)
            if password is not None:
                given["password"] = password
            connection = psycopg.connect(
                autocommit=True,
                prepare_threshold=None,  # a pooler between may hand out another connection
                **given,
            )
        except psycopg.ProgrammingError as error:
            raise ConfigurationError(
                f"conninfo of {self!r} can't be read: {first_line(error)}. Write 'host=... "
                "dbname=... user=...'."
            ) from None
        try:
            key_type = self._key_type(connection)
        except BaseException:
            connection.close()
            raise
        return _Connected(connection, self._query(key_type), key_type)

    def _key_type(self, connection: Any) -> str:
        found = connection.execute(TYPE_OF_KEY, [quote_table(self.table), self.key]).fetchone()
        if found is None:
            raise PenstockError(f"{self!r}: the table has no column '{self.key}'.")
        return asked_as(str(found[0]))

    def _query(self, key_type: str) -> str:
        """Ask by the key's place in a list: values of some types come back as others."""
        table = quote_table(self.table)
        columns = ", ".join(f"t.{quote(each)}" for each in self.columns)
        names = f"SELECT asked.n, {columns} FROM {table} AS t JOIN ".replace("%", "%%")
        listed = f"unnest(%s::{key_type.replace('%', '%%')}[]) WITH ORDINALITY AS asked(k, n)"
        return f"{names}{listed} ON t.{quote(self.key).replace('%', '%%')} = asked.k"


def _keep(which: tuple[int, str], to: _Connected) -> None:
    """Keep a connection as the one used last, and close those of queries that are long over."""
    to.used_at = monotonic()
    _connections[which] = to
    _connections.move_to_end(which)
    while len(_connections) > _MOST_UNUSED:
        first, old = next(iter(_connections.items()))
        if to.used_at - old.used_at < _UNUSED_SECONDS:
            break
        del _connections[first]
        if first[0] == os.getpid():  # else it is still the parent's
            old.connection.close()


def _by_type(keys: list[tuple[Any, Any]]) -> list[list[tuple[Any, Any]]]:
    """Share keys out by the type of what is sent: psycopg sends no list of several."""
    alike: dict[type, list[tuple[Any, Any]]] = {}
    for key, sent in keys:
        alike.setdefault(type(sent), []).append((key, sent))
    return list(alike.values())


def _refusals() -> tuple[type[Exception], ...]:
    """Return what is raised for a key that can't be one; half a letter has no encoding at all."""
    return _psycopg().DataError, UnicodeEncodeError


def _end(which: tuple[int, str]) -> None:
    """Close a connection of this process, if there is one; the next question makes another."""
    if (old := _connections.pop(which, None)) is not None:
        old.connection.close()


class _Lost(Exception):
    """The connection is gone, or was never there."""


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise ConfigurationError(
            "PostgresTable needs the package psycopg where Python workers run. "
            "Write pip install 'penstock[postgres]'."
        ) from None
    return psycopg
