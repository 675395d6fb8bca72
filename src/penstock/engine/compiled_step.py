"""Runs of Python operators, compiled once for all batches."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from penstock.engine.arrow_udf import ArrowMap
from penstock.engine.columns import LETTER_TYPE
from penstock.engine.python_step import FAILED, BatchesCall, Call, PythonStep, RowsCall
from penstock.engine.schemas import arrow_schema
from penstock.engine.task_metrics import TaskReport
from penstock.topology.components import Component
from penstock.topology.operators import Map, Operator, PythonOperator


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


def python_steps(
    all_components: tuple[Component, ...], report: TaskReport
) -> dict[str, CompiledStep]:
    """Compile the runs of Python operators of all components, by their first operator."""
    found = {}
    for component in all_components:
        opens = True
        for run in component.steps():
            if isinstance(run[0], PythonOperator):
                step = _python_step(component, run, opens, report)
                found[run[0].name] = step
                opens = False
    return found


def _python_step(
    component: Component, run: tuple[Operator, ...], opens: bool, report: TaskReport
) -> CompiledStep:
    operators = [operator for operator in run if isinstance(operator, PythonOperator)]
    calls: list[Call] = []
    for operator in operators:
        kind = RowsCall if isinstance(operator, Map) else BatchesCall
        schema = arrow_schema(operator.returns)
        calls.append(kind(operator.name, operator.function, schema, operator.on_error))
    sets_aside = any(call.on_error == "dead_letter" for call in calls)
    body = PythonStep(run[0].name, tuple(calls), sets_aside, report)
    declared: StructType = operators[-1].returns
    returns = _with_failures(declared) if sets_aside else declared
    function = ArrowMap(body.__call__, returns)
    return CompiledStep(component.name, run, sets_aside, opens, function)


def _with_failures(struct: StructType) -> StructType:
    """Return the columns of a step that sets rows aside: all may be null, and a mark is added."""
    fields = [StructField(f.name, f.dataType, True) for f in struct.fields]
    return StructType([*fields, StructField(FAILED, LETTER_TYPE, True)])
