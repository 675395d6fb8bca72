"""Runs of Python operators, compiled once for all batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from penstock.engine.arrow_udf import ArrowMap
from penstock.engine.call_costs import CostKey
from penstock.engine.columns import LETTER_TYPE
from penstock.engine.keyed_call import KeyedCall
from penstock.engine.process_step import ProcessLink, ProcessStep
from penstock.engine.python_step import FAILED, BatchesCall, Call, PythonStep, RowsCall
from penstock.engine.schemas import arrow_schema
from penstock.engine.state_files import state_directory
from penstock.engine.state_pieces import PieceShape
from penstock.engine.task_metrics import TaskReport
from penstock.engine.task_orders import OrdersOfTask
from penstock.placement.cost_sketch import CostSketch
from penstock.topology.components import Component
from penstock.topology.operators import Map, Operator, Process, PythonOperator


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """A run of Python operators, pickled once and applied to every batch."""

    component: str
    operators: tuple[Operator, ...]
    sets_aside: bool
    opens_component: bool
    function: ArrowMap

    def apply(self, df: DataFrame) -> DataFrame:
        """Run the operators on the rows of a DataFrame."""
        return self.function.apply(df)


@dataclass(frozen=True, slots=True)
class StateHome:
    """Where the states of keys are kept: a checkpoint, and the query whose it is."""

    checkpoint: str
    query_id: str


def python_steps(
    all_components: Iterable[Component],
    report: TaskReport,
    home: StateHome,
    timed: frozenset[str],
    sketch: CostSketch | None = None,
) -> dict[str, CompiledStep]:
    """Compile the runs of Python operators of all components, by their first operator.

    ``timed`` names the keyed operators before which there is a watermark. With an empty ``sketch``
    the costs of operators that have a key for them are gathered in it.
    """
    found = {}
    for component in all_components:
        for run in component.steps:
            opens = run[0] is component.entrance
            if isinstance(run[0], Process):
                found[run[0].name] = _process_step(component, run, opens, report, home, timed)
            elif isinstance(run[0], PythonOperator):
                found[run[0].name] = _python_step(component, run, opens, report, sketch)
    return found


def _python_step(
    component: Component,
    run: tuple[Operator, ...],
    opens: bool,
    report: TaskReport,
    sketch: CostSketch | None,
) -> CompiledStep:
    operators = [operator for operator in run if isinstance(operator, PythonOperator)]
    calls: list[Call] = []
    for operator in operators:
        kind = RowsCall if isinstance(operator, Map) else BatchesCall
        schema = arrow_schema(operator.returns)
        key = CostKey(operator.cost_key, sketch) if operator.cost_key and sketch else None
        calls.append(kind(operator.name, operator.function, schema, operator.on_error, key))
    sets_aside = any(call.on_error == "dead_letter" for call in calls)
    body = PythonStep(run[0].name, tuple(calls), sets_aside, report)
    declared: StructType = operators[-1].returns
    returns = _with_failures(declared) if sets_aside else declared
    function = ArrowMap(body.__call__, returns)
    return CompiledStep(component.name, run, sets_aside, opens, function)


def orders_property(operator: str) -> str:
    """Name the local property in which the orders of a keyed operator travel."""
    return f"penstock.orders.{operator}"


def _process_step(
    component: Component,
    run: tuple[Operator, ...],
    opens: bool,
    report: TaskReport,
    home: StateHome,
    timed: frozenset[str],
) -> CompiledStep:
    operators = [operator for operator in run if isinstance(operator, Process)]
    links = tuple(_link(operator, home, operator.name in timed) for operator in operators)
    sets_aside = any(operator.on_error == "dead_letter" for operator in operators)
    before = component.operators[: component.operators.index(run[0])]
    keepers = tuple(op.name for op in before if isinstance(op, PythonOperator) and op.kept)
    body = ProcessStep(links, operators[0].groups, home.query_id, sets_aside, report, keepers)
    declared: StructType = operators[-1].returns
    returns = _with_failures(declared) if sets_aside else declared
    function = ArrowMap(body.__call__, returns)
    return CompiledStep(component.name, run, sets_aside, opens, function)


def _link(operator: Process, home: StateHome, has_time: bool) -> ProcessLink:
    keys = StructType([operator.rows[name] for name in operator.keys])
    call = KeyedCall(
        operator.name,
        operator.function,
        PieceShape(arrow_schema(keys), arrow_schema(operator.state)),
        arrow_schema(operator.returns),
        operator.on_error,
        has_time,
        operator.by_time,
    )
    return ProcessLink(
        call,
        tuple(operator.rows.names),
        state_directory(home.checkpoint, operator.name),
        OrdersOfTask(orders_property(operator.name)),
    )


def _with_failures(struct: StructType) -> StructType:
    """Return the columns of a step that sets rows aside: all may be null, and a mark is added."""
    fields = [StructField(f.name, f.dataType, True) for f in struct.fields]
    return StructType([*fields, StructField(FAILED, LETTER_TYPE, True)])
