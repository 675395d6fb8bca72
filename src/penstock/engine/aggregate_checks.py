"""What can be wrong with a user's aggregate as it was written, told before anything runs."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from penstock.aggregate import Aggregate
from penstock.engine.schemas import RESERVED, arrow_schema, check_arrow, check_columns, parse_schema
from penstock.errors import TopologyError

_METHODS = {
    "compute": ("state", "batch"),
    "consolidate": ("states",),
    "finish": ("state",),
}
_STATE_REMEDY = (
    "Write state = pa.schema([('n', pa.int64())]), or text like state = 'n bigint, sum double'."
)
_RESULT_REMEDY = "Write it like result = 'n bigint, mean double', or as a StructType."


def as_aggregate(label: str, given: object) -> Aggregate:
    """Return an aggregate as it is; refuse everything else."""
    if isinstance(given, Aggregate):
        return given
    if isinstance(given, type) and issubclass(given, Aggregate):
        raise TopologyError(
            label,
            f"{given.__name__} is a class, not an aggregate",
            f"Make one: reduce({given.__name__}()).",
        )
    what = given.__name__ if isinstance(given, type) else f"a {type(given).__name__}"
    raise TopologyError(
        label,
        f"{what} is no aggregate",
        "Write a class that has penstock.Aggregate as its base, and give reduce one of it.",
    )


def check_methods(label: str, aggregate: Aggregate) -> None:
    """Refuse an aggregate that lacks a method, or whose method takes other arguments."""
    name = type(aggregate).__name__
    for method, arguments in _METHODS.items():
        own = getattr(aggregate, method)
        wanted = f"def {method}(self, {', '.join(arguments)})"
        if getattr(own, "__func__", own) is getattr(Aggregate, method):
            raise TopologyError(label, f"{name} has no {method}", f"Write {wanted} in it.")
        if not callable(own):
            raise TopologyError(
                label, f"{name}.{method} is a {type(own).__name__}", f"Write {wanted}."
            )
        try:
            inspect.signature(own).bind(*arguments)
        except TypeError as error:
            raise TopologyError(
                label, f"{name}.{method} can't be called: {error}", f"Write {wanted}."
            ) from None
        except ValueError:  # written in C: it does not say
            pass


def columns_read(label: str, aggregate: Aggregate, struct: StructType) -> tuple[str, ...]:
    """Return the names of the columns that ``compute`` gets."""
    name = type(aggregate).__name__
    known = [column for column in struct.names if not column.startswith(RESERVED)]
    given: Any = aggregate.columns
    columns = known if given is None else given
    remedy = "Write columns = ('user', 'rate'), or leave it out to get all columns."
    if not isinstance(columns, list | tuple) or not all(isinstance(each, str) for each in columns):
        raise TopologyError(label, f"{name}.columns is no tuple of names", remedy)
    if not columns:
        raise TopologyError(label, f"{name}.columns is empty", remedy)
    for column in columns:
        if column not in known:
            raise TopologyError(
                label,
                f"unknown column '{column}' in {name}.columns",
                f"Columns here: {', '.join(known)}.",
            )
    read = dict.fromkeys(columns)
    check_arrow(label, StructType([field for field in struct.fields if field.name in read]))
    return tuple(read)


def declared_state(label: str, aggregate: Aggregate) -> pa.Schema:
    """Return the columns of the state, of types that come back from Spark as they went."""
    name = type(aggregate).__name__
    declared: Any = getattr(aggregate, "state", None)
    if declared is None:
        raise TopologyError(label, f"{name} declares no state", _STATE_REMEDY)
    if not isinstance(declared, pa.Schema):
        return arrow_schema(_parsed(label, f"{name}.state", declared, _STATE_REMEDY))
    if not declared.names:
        raise TopologyError(label, f"{name}.state names no columns", _STATE_REMEDY)
    for field in declared:
        _check_state_type(label, name, field)
    struct: Any = from_arrow_schema(declared)
    check_columns(label, struct, f"Name each column of {name}.state once")
    return declared.remove_metadata()


def _check_state_type(label: str, name: str, field: pa.Field) -> None:
    """Refuse a type that Spark does not have, or that it would give back as another."""
    problem = f"column '{field.name}' of {name}.state is {field.type}"
    try:
        struct: Any = from_arrow_schema(pa.schema([field]))
        kept = arrow_schema(struct).field(0).type
    except PySparkTypeError:
        raise TopologyError(
            label, f"{problem}, which Spark can't keep", "Use another type, such as pa.binary()."
        ) from None
    if kept != field.type:
        raise TopologyError(
            label, f"{problem}, which Spark would give back as {kept}", f"Write {kept} there."
        )


def declared_result(label: str, aggregate: Aggregate) -> StructType:
    """Return the columns of the result."""
    name = type(aggregate).__name__
    declared = getattr(aggregate, "result", None)
    if declared is None:
        raise TopologyError(label, f"{name} declares no result", _RESULT_REMEDY)
    return _parsed(label, f"{name}.result", declared, _RESULT_REMEDY)


def _parsed(label: str, what: str, schema: Any, remedy: str) -> StructType:
    try:
        return parse_schema(label, schema)
    except TopologyError as error:
        problem, own = error.problem, error.remedy
    is_unreadable = problem.startswith("the schema ")
    raise TopologyError(label, f"{what}: {problem}", remedy if is_unreadable else own)
