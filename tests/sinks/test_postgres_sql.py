from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T

from penstock.sinks.postgres import (
    Upsert,
    column_type,
    create_table,
    drop_leftovers,
    quote,
    staging_prefix,
)

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


def _unquoted(text: str) -> tuple[str, str]:
    """Read one quoted identifier as PostgreSQL does; give its name and what follows it."""
    assert text[0] == '"'
    name, at = "", 1
    while True:
        if text[at : at + 2] == '""':
            name, at = name + '"', at + 2
        elif text[at] == '"':
            return name, text[at + 1 :]
        else:
            name, at = name + text[at], at + 1


@given(names, st.text())
def test_a_quoted_name_is_one_identifier_whatever_it_holds(name: str, after: str) -> None:
    text = quote(name) + " " + after
    assert _unquoted(text) == (name, " " + after)


@given(st.text(), st.text(), st.text(), st.text())
def test_staging_names_are_short_plain_and_different(a: str, b: str, c: str, d: str) -> None:
    prefix = staging_prefix(a, b)
    assert re.fullmatch(r"penstock_[0-9a-f]{20}_", prefix)
    # Room for any batch id in PostgreSQL's 63 bytes.
    assert len(f"{prefix}{2**63}") <= 63
    if (a, b) != (c, d) and "\0" not in a + b + c + d:
        assert staging_prefix(c, d) != prefix


def test_merge_statements() -> None:
    upsert = Upsert("s.hits", ("id", "v"), ("id",), "stage_1")
    assert upsert.merge() == (
        'INSERT INTO "s"."hits" ("id", "v") '
        'SELECT DISTINCT ON ("id", penstock_row::text) "id", "v" '
        'FROM "s"."stage_1" AS penstock_row '
        'ON CONFLICT ("id") DO UPDATE SET "v" = EXCLUDED."v"'
    )
    ordered = Upsert("hits", ("id", "v"), ("id",), "stage_1", order_by="v")
    assert ordered.merge() == (
        'INSERT INTO "hits" ("id", "v") SELECT DISTINCT ON ("id") "id", "v" '
        'FROM "stage_1" AS penstock_row '
        'ORDER BY "id", "v" DESC NULLS LAST, penstock_row::text DESC '
        'ON CONFLICT ("id") DO UPDATE SET "v" = EXCLUDED."v"'
    )
    assert Upsert("hits", ("id",), ("id",), "stage_1").merge().endswith('("id") DO NOTHING')


def test_null_keys_are_counted_over_every_key() -> None:
    upsert = Upsert("hits", ("a", "b", "v"), ("a", "b"), "stage_1")
    assert upsert.count_null_keys().endswith('WHERE "a" IS NULL OR "b" IS NULL')


def test_leftovers_are_found_by_the_whole_prefix() -> None:
    assert "left(tablename, 5) = 'abc_1'" in drop_leftovers("abc_1")


def test_create_table_for_a_schema() -> None:
    schema = T.StructType().add("id", T.LongType()).add("at", T.TimestampType())
    assert create_table("s.hits", schema, ["id", "at"]) == (
        'CREATE TABLE "s"."hits" ("id" bigint, "at" timestamp with time zone, '
        'PRIMARY KEY ("id", "at"))'
    )


def test_types_that_no_column_holds() -> None:
    assert column_type(T.StructType().add("start", T.TimestampType())) is None
    assert column_type(T.ArrayType(T.MapType(T.StringType(), T.LongType()))) is None
