"""Adaptation: how a grouping becomes another while a query runs (Enorm, sections 4.5 and 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.errors import ConfigurationError
from penstock.topology.components import Component, Components
from penstock.topology.dag import NAMES, is_name
from penstock.topology.operators import Compute, Consolidate, Process

Strategy = Literal["instant", "smooth", "disruptive"]

MOST_SLOTS = 100_000


@dataclass(frozen=True, slots=True)
class Migrate:
    """Moves an operator from one component to another.

    ``target`` may be a component that is not there yet; then it is made, with this operator alone.
    """

    operator: str
    source: str
    target: str

    def __post_init__(self) -> None:
        _check_texts("Migrate('rate', 'loans', 'rates')", self.operator, self.source, self.target)

    def __str__(self) -> str:
        return f"Migrate({self.operator}, {self.source}, {self.target})"


@dataclass(frozen=True, slots=True)
class RePartition:
    """Gives a component another number of slots, or, with the same number, balances it anew.

    It has no more than there are, and no more than values of a column that it goes by.
    """

    component: str
    slots: int

    def __post_init__(self) -> None:
        _check_texts("RePartition('rates', 4)", self.component)
        if type(self.slots) is not int or not 1 <= self.slots <= MOST_SLOTS:
            raise ConfigurationError(
                f"RePartition of '{self.component}': write a whole number of slots from 1 to "
                f"{MOST_SLOTS:,}."
            )

    def __str__(self) -> str:
        return f"RePartition({self.component}, {self.slots})"


@dataclass(frozen=True, slots=True)
class Split:
    """Lets the partials of some windows be made where rows are: a composition of migrations."""

    windows: str

    def __post_init__(self) -> None:
        _check_texts("Split('by_area')", self.windows)

    def __str__(self) -> str:
        return f"Split({self.windows})"


@dataclass(frozen=True, slots=True)
class Combine:
    """Brings the rows of each key together before their partials are made, as Split undoes."""

    windows: str

    def __post_init__(self) -> None:
        _check_texts("Combine('by_area')", self.windows)

    def __str__(self) -> str:
        return f"Combine({self.windows})"


Basic = Migrate | RePartition
Operation = Migrate | RePartition | Split | Combine


@dataclass(frozen=True, slots=True)
class Adapted:
    """What some operations lead to, and the slots that components are held to.

    ``allowed`` says of each operation how it may take effect.
    """

    components: Components
    pinned: Mapping[str, int]
    operations: tuple[Basic, ...] = ()
    allowed: tuple[tuple[Strategy, ...], ...] = ()


def adapted(
    components: Components, operations: Sequence[Operation], pinned: Mapping[str, int] | None = None
) -> Adapted:
    """Apply operations, one after the other; raises where one can't be, or leads to no plan."""
    now, slots = components, dict(pinned or {})
    basic: list[Basic] = []
    allowed = []
    for operation in operations:
        for step in _basic(now, operation):
            if isinstance(step, RePartition):
                _check_slots(now, step)
                slots[step.component] = step.slots
            else:
                _check_names(now, step)
            basic.append(step)
            allowed.append(strategies(now, step))
            if isinstance(step, Migrate):
                now = now.regrouped(_moved(now, step))
    check_plan(now)
    kept = {name: count for name, count in slots.items() if name in now}
    return Adapted(now, kept, tuple(basic), tuple(allowed))


def check_plan(components: Components) -> None:
    """Raise unless the operators of every component can run together."""
    if reason := plan_problem(components):
        raise ConfigurationError(
            f"{reason}. Let functions before a key say that they keep it (keeps=[...]), or leave "
            "out the .component(...), fuse=False or operation that asks for it. explain() shows "
            "which components there are."
        )


def plan_problem(components: Components) -> str | None:
    """Say why a grouping can't run, None where it can.

    Enorm, section 4.4.1: every operator is in one component, and something is left on which all
    operators of a component may be partitioned.
    """
    job = components.job
    for component in components:
        members = frozenset(op.name for op in component.operators) & frozenset(job.operators)
        names = ", ".join(op.name for op in component.operators if op.name in members)
        if not members:
            return f"component '{component.name}' has no operator of its own"
        if reason := job.problem(members):
            return f"{names} can't be one component: {reason}"
        if not job.attributes(members):
            return f"{names} can't be one component: they share no attribute to partition on"
        compute = component.entrance
        if isinstance(compute, Compute) and job.windows_of(compute.name) not in members:
            return f"'{compute.name}' brings rows together for windows that are not beside it"
    return _parted(components)


def _parted(components: Components) -> str | None:
    """Say which operators are apart though they are to be in one component."""
    homes: dict[str, str] = {}
    for operator in components.topology:
        if operator.component is not None and operator.name in components.grouping.homes:
            home = components.grouping.homes[operator.name]
            if homes.setdefault(operator.component, home) != home:
                return f"'{operator.name}' is to be in component '{operator.component}' with others"
    return None


def strategies(components: Components, operation: Basic) -> tuple[Strategy, ...]:
    """Return how an operation may take effect, the least disruptive first (Enorm, section 5).

    The state of windows is data here, and partials are merged however they were made. So combining
    may be instant too, which Enorm rules out; the other two are there to be compared.
    """
    if isinstance(operation, RePartition):
        # What windows need is found by any task; the state of a key can't be in two places.
        operators = components[operation.component].operators
        is_held = any(isinstance(op, Process) for op in operators)
        return ("disruptive",) if is_held else ("instant",)
    moved = components.topology[operation.operator]
    if isinstance(moved, Process):
        return ("disruptive",)
    if isinstance(moved, Consolidate):
        moved = components.topology[moved.inputs[0]]
    if isinstance(moved, Compute):
        # A row that spans time is of older and newer windows at once.
        is_point = moved.until is None or moved.spans in ("start", "end")
        return ("instant", "smooth", "disruptive") if is_point else ("instant", "disruptive")
    return ("instant",)


def chosen_strategy(
    found: Adapted, wanted: Strategy | None, preferred: Strategy | None = None
) -> Strategy:
    """Return the strategy for some operations: the one wanted, or else the one preferred.

    Raises where one was wanted that an operation does not allow.
    """
    best = most_disruptive(each[0] for each in found.allowed)
    for operation, each in zip(found.operations, found.allowed, strict=True):
        if wanted is not None and wanted not in each and each != ("instant",):
            raise ConfigurationError(
                f"{operation} can't be {wanted}: only {' or '.join(each)}, since state must be "
                "handed over"
            )
    how = wanted or preferred
    is_choice = all(how in each or each == ("instant",) for each in found.allowed)
    chosen = how is not None and is_choice and any(how in each for each in found.allowed)
    return how if chosen and how is not None else best


def most_disruptive(strategies: Iterable[Strategy]) -> Strategy:
    """Return the one of several strategies that has to be waited for longest."""
    return max(strategies, key=_ORDER.index, default="instant")


def check_strategy(strategy: object) -> None:
    """Raise unless this is a strategy, or none."""
    if strategy is not None and (not isinstance(strategy, str) or strategy not in _ORDER):
        raise ConfigurationError(
            f"strategy={strategy!r} is unknown. Write 'instant', 'smooth' or 'disruptive', or "
            "leave it out."
        )


def describe(component: Component) -> str:
    """Name the kind of a component in Enorm's words.

    >>> describe(Component("a", ()))
    'flexible and stateless'
    """
    rigid = "rigid" if component.is_rigid else "flexible"
    return f"{rigid} and {'stateful' if component.is_stateful else 'stateless'}"


_ORDER: tuple[Strategy, ...] = ("instant", "smooth", "disruptive")


def _basic(components: Components, operation: Operation) -> tuple[Basic, ...]:
    """Take a composite operation apart."""
    if isinstance(operation, Migrate | RePartition):
        return (operation,)
    topology, homes = components.topology, components.grouping.homes
    name = operation.windows
    known = {op.name: op for op in topology if isinstance(op, Consolidate)}
    windows = known.get(name)
    if windows is None:
        there = ", ".join(known) or "none"
        raise ConfigurationError(f"{operation}: there are no such windows. There are: {there}.")
    (compute,) = windows.inputs
    home, read = homes[compute], homes[topology[compute].inputs[0]]
    is_alone = components[home].entrance is topology[compute]
    if isinstance(operation, Split):
        if is_alone:
            return _parting(components, compute, name, read)
        target = _free_name(components, name)
        return () if homes[name] != home else (Migrate(name, home, target),)
    if is_alone or homes[name] == home:
        return ()
    together = Migrate(name, homes[name], home)
    if plan_problem(components.regrouped(_moved(components, together))) is None:
        return (together,)
    target = _free_name(components, compute)
    along = [op.name for op in components.leading(homes[name])]
    return (
        Migrate(compute, home, target),
        *[Migrate(each, homes[each], target) for each in along],
    )


def _parting(components: Components, compute: str, name: str, read: str) -> tuple[Basic, ...]:
    """Let partials go to where rows come from; what reads their windows goes with those."""
    home = components.grouping.homes[compute]
    target = home if home == name else _free_name(components, name)
    rest = [op.name for op in components.leading(home) if op.name != compute]
    moves = [Migrate(each, home, target) for each in rest if target != home]
    return (Migrate(compute, home, read), *moves)


def _free_name(components: Components, name: str) -> str:
    """Return a name for a new component: that of an operator, unless it is another one's."""
    while name in components:
        name = f"{name}_2"
    return name


def _moved(components: Components, step: Migrate) -> dict[str, str]:
    """Return the homes of operators after one moved, with the SQL that always goes along."""
    leaders = components.job.leaders
    homes = dict(components.grouping.homes)
    moved = [name for name, leader in leaders.items() if leader == step.operator]
    homes |= dict.fromkeys(moved, step.target)
    return homes


def _check_names(components: Components, step: Migrate) -> None:
    job = components.job
    if step.operator not in job.leaders:
        known = ", ".join(job.operators)
        raise ConfigurationError(f"{step}: there is no such operator. There are: {known}.")
    leader = job.leaders[step.operator]
    if leader != step.operator:
        raise ConfigurationError(
            f"{step}: '{step.operator}' always runs with '{leader}', whose rows it reads. "
            "Migrate that one."
        )
    homes = components.grouping.homes
    if homes[step.operator] != step.source:
        raise ConfigurationError(
            f"{step}: '{step.operator}' is in component '{homes[step.operator]}'."
        )
    if step.target not in components:
        if not is_name(step.target):
            raise ConfigurationError(
                f"Migrate of '{step.operator}': {step.target!r} can't name a component. {NAMES}."
            )
        if step.target in homes and step.target != step.operator:
            raise ConfigurationError(
                f"{step}: '{step.target}' is an operator in component '{homes[step.target]}'. "
                "Write that one, or another name for a new one."
            )


def _check_texts(example: str, *names: object) -> None:
    if not all(isinstance(name, str) for name in names):
        raise ConfigurationError(f"operations take names as text. Write for example {example}.")


def _check_slots(components: Components, step: RePartition) -> None:
    if step.component not in components:
        known = ", ".join(component.name for component in components)
        raise ConfigurationError(f"{step}: there is no such component. There are: {known}.")
    if not components[step.component].runs_python:
        raise ConfigurationError(
            f"{step}: its rows come as they come, or Spark's own exchange moves them over all "
            "slots. Only components with Python operators have a number of their own."
        )
