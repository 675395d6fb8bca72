"""A topology written as YAML text."""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as shortened
from typing import Any

import yaml

from penstock.errors import ConfigurationError, first_line
from penstock.simulation.laws import ByKey, Constant, Exponential, Keys, Law, LogNormal, Uniform
from penstock.simulation.topology import SimulatedOperator, SimulatedSource, SimulatedTopology
from penstock.simulation.written_settings import Made, check_names, made_of, number
from penstock.sources.keys import UniformKeys, ZipfKeys

LAWS: Mapping[str, type[Law]] = {
    "constant": Constant,
    "uniform": Uniform,
    "lognormal": LogNormal,
    "exponential": Exponential,
    "by_key": ByKey,
}
KEYS: Mapping[str, type[Keys]] = {"uniform": UniformKeys, "zipf": ZipfKeys}

MOST_OPERATORS = 1_000
_MOST_DIGITS = 100
_EXAMPLE = "sources: {tweets: } and operators: {parse: {inputs: tweets, seconds: 0.001}}"


def topology_of_text(text: str, file: str, name: str) -> SimulatedTopology:
    """Read a topology; ``file`` is named in complaints, ``name`` is its own where it has none.

    >>> topology = topology_of_text(
    ...     '''
    ... sources: {tweets: {keys: {zipf: {n: 4096, s: 1.0}}}}
    ... operators:
    ...   parse: {inputs: tweets, seconds: 1/1000, selectivity: 0.5}
    ...   score: {inputs: {parse: 0.4}, seconds: {by_key: {low: 0.001, high: 0.064}}}
    ... ''',
    ...     "demo.yaml",
    ...     "demo",
    ... )
    >>> topology.rows_per_row()
    {'tweets': 1.0, 'parse': 1.0, 'score': 0.2}
    """
    try:
        # A SafeLoader: it makes plain values, and no objects.
        written = yaml.load(text, Loader=_OneOfEach)  # nosec B506
    except (
        yaml.YAMLError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError
    ) as error:  # fmt: skip
        # A date that doesn't exist is a ValueError, brackets without end are a RecursionError; the
        # loader trips over tags with nothing behind them, such as !!int "", in ways of its own.
        raise ConfigurationError(f"{file}{_place(error)}: {_problem(error)}") from error
    if written is None:
        raise ConfigurationError(f"{file} is empty; write a topology, such as {_EXAMPLE}")
    given = _mapping(written, file, f"a topology, such as {_EXAMPLE}")
    check_names(given, ("name", "about", "sources", "operators"), file)
    sources = _mapping(given.get("sources"), f"{file}: sources", "at least one, such as {tweets: }")
    operators = _mapping(
        given.get("operators"),
        f"{file}: operators",
        "at least one, such as parse: {inputs: tweets, seconds: 0.001}",
    )
    if len(sources) + len(operators) > MOST_OPERATORS:
        raise ConfigurationError(
            f"{file} has {len(sources) + len(operators):,} sources and operators; write "
            f"{MOST_OPERATORS:,} at most"
        )
    try:
        return SimulatedTopology(
            name=_text(given.get("name", name), f"{file}: name"),
            sources=tuple(
                _source(each, about, len(sources), file) for each, about in sources.items()
            ),
            operators=tuple(_operator(each, about, file) for each, about in operators.items()),
            about=_text(given.get("about", ""), f"{file}: about").strip(),
        )
    except ConfigurationError as error:
        complaint = str(error)
        told = complaint if complaint.startswith(file) else f"{file}: {complaint}"
        raise ConfigurationError(told) from error


def _source(name: object, about: object, of: int, file: str) -> SimulatedSource:
    where = f"{file}: source '{_text(name, f'{file}: a source')}'"
    given = _mapping(about or {}, where, "settings, such as {share: 0.5}")
    check_names(given, ("share", "keys"), where)
    share = number(given.get("share", 1 / of), f"{where}: share")
    return SimulatedSource(str(name), share, _keys(given.get("keys"), f"{where}: keys"))


def _operator(name: object, about: object, file: str) -> SimulatedOperator:
    where = f"{file}: operator '{_text(name, f'{file}: an operator')}'"
    given = _mapping(about, where, "settings, such as {inputs: tweets, seconds: 0.001}")
    check_names(given, ("inputs", "seconds", "selectivity"), where)
    for needed, example in (("inputs", "inputs: tweets"), ("seconds", "seconds: 0.001")):
        if needed not in given:
            raise ConfigurationError(f"{where}: '{needed}' is missing; write {example}")
    return SimulatedOperator(
        name=str(name),
        inputs=_inputs(given["inputs"], f"{where}: inputs"),
        law=_law(given["seconds"], f"{where}: seconds"),
        selectivity=number(given.get("selectivity", 1.0), f"{where}: selectivity"),
    )


def _inputs(written: object, where: str) -> dict[str, float]:
    """Read one name, several names, or names with the share taken of each."""
    if isinstance(written, str):
        return {written: 1.0}
    if isinstance(written, list):
        return {_text(each, where): 1.0 for each in written}
    shares = _mapping(written, where, "a name, a list of names, or {parse: 0.4}")
    return {_text(name, where): number(share, f"{where}: {name}") for name, share in shares.items()}


def _law(written: object, where: str) -> Law:
    if not isinstance(written, dict):
        return made_of(Constant, {"seconds": written}, where)
    return _one_of(LAWS, written, where, "{uniform: {low: 0.001, high: 0.003}}")


def _keys(written: object, where: str) -> Keys | None:
    if written is None:
        return None
    given = _mapping(written, where, "{zipf: {n: 4096, s: 1.0}}")
    return _one_of(KEYS, given, where, "{zipf: {n: 4096, s: 1.0}}")


def _one_of(
    kinds: Mapping[str, type[Made]], written: Mapping[Any, object], where: str, example: str
) -> Made:
    if len(written) != 1:
        raise ConfigurationError(f"{where}: name one law, not {len(written)}; write {example}")
    ((kind, settings),) = written.items()
    check_names([kind], kinds, where)
    inside = f"{where}: {kind}"
    return made_of(kinds[kind], _mapping(settings, inside, example), inside)


def _mapping(written: object, where: str, example: str) -> dict[Any, object]:
    if isinstance(written, dict):
        return written
    what = "is missing" if written is None else f"is {shortened(written)}"
    raise ConfigurationError(f"{where} {what}; write {example}")


def _text(written: object, where: str) -> str:
    if isinstance(written, str) and (written or where.endswith("about")):
        return written
    raise ConfigurationError(
        f"{where} is called {shortened(written)}; write a text, in quotation marks if it looks "
        "like a number or like yes, no, on, off"
    )


class _OneOfEach(yaml.SafeLoader):
    """Refuses a name that is there twice: the first of two operators would be lost in silence.

    It knows no aliases and no merging, with which a page of text becomes more than any machine
    holds, and no numbers that are longer than numbers are.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(
                problem=f"'*{event.anchor:.40}' stands for something else; write it out",
                problem_mark=event.start_mark,
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for place, _ in node.value:
            if place.tag == _MERGE:
                raise yaml.constructor.ConstructorError(
                    problem="'<<' takes in another mapping; write out what is in it",
                    problem_mark=place.start_mark,
                )
            if not isinstance(place, yaml.ScalarNode):
                continue
            if place.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"'{place.value}' is there twice; give each its own name",
                    problem_mark=place.start_mark,
                )
            seen.add(place.value)
        return super().construct_mapping(node, deep)

    def construct_number(self, node: yaml.ScalarNode) -> object:
        if len(node.value) > _MOST_DIGITS:
            raise yaml.constructor.ConstructorError(
                problem=f"a number of {len(node.value):,} digits; write {_MOST_DIGITS} at most",
                problem_mark=node.start_mark,
            )
        is_whole = node.tag.endswith(":int")
        return self.construct_yaml_int(node) if is_whole else self.construct_yaml_float(node)


_MERGE = "tag:yaml.org,2002:merge"
for _kind in ("int", "float"):
    _OneOfEach.add_constructor(f"tag:yaml.org,2002:{_kind}", _OneOfEach.construct_number)


def _place(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f" line {mark.line + 1}" if mark is not None else ""


def _problem(error: Exception) -> str:
    return getattr(error, "problem", None) or f"this is no YAML text ({first_line(error)})"
