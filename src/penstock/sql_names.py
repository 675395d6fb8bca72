"""Names in SQL, quoted so that any name is safe and keeps its case."""

from __future__ import annotations

from penstock.arguments import shown
from penstock.errors import ConfigurationError


def quote(name: str) -> str:
    """Quote an identifier.

    >>> quote('net "rate" 1')
    '"net ""rate"" 1"'
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def check_column(name: str) -> None:
    """Refuse what no database takes as the name of a column."""
    if not name or "\0" in name:
        raise ConfigurationError(f"{shown(name)} is not a column. Write its name.")


def check_table(table: str) -> None:
    """Refuse what is neither ``table`` nor ``schema.table``."""
    if not all(table.split(".")) or "\0" in table:
        raise ConfigurationError(f"{shown(table)} is not a table. Write 'table' or 'schema.table'.")


def quote_table(table: str) -> str:
    """Quote ``table`` or ``schema.table``.

    >>> quote_table("sales.Hits")
    '"sales"."Hits"'
    """
    return ".".join(quote(part) for part in table.split("."))
