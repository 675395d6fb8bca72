"""Names in SQL, quoted so that any name is safe and keeps its case."""

from __future__ import annotations


def quote(name: str) -> str:
    """Quote an identifier.

    >>> quote('net "rate" 1')
    '"net ""rate"" 1"'
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def quote_table(table: str) -> str:
    """Quote ``table`` or ``schema.table``.

    >>> quote_table("sales.Hits")
    '"sales"."Hits"'
    """
    return ".".join(quote(part) for part in table.split("."))
