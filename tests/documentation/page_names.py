"""Checks Python that can't run here: its syntax, the names it uses, the arguments it gives."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import penstock
from documentation.blocks import Block


class UnknownName(AssertionError):
    """A block names what is not there."""


def check_names(block: Block, namespace: dict[str, Any]) -> None:
    """Raise unless all names of a block are there, with the arguments that it gives.

    What the block itself makes is added to the namespace, so that later blocks may name it.
    """
    tree = ast.parse(block.text)
    made = set(_made(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            _import(node, block, namespace)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                importlib.import_module(alias.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            known = {*made, *namespace, *vars(builtins)}
            if node.id not in known:
                raise UnknownName(f"{block.where}: there is no '{node.id}'")
        elif isinstance(node, ast.Attribute):
            _public(node, block)
        elif isinstance(node, ast.Call):
            _check_call(node, block)
    namespace.update(dict.fromkeys(made - set(namespace)))


def _made(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)


def _import(node: ast.ImportFrom, block: Block, namespace: dict[str, Any]) -> None:
    module = importlib.import_module(node.module or "")
    for alias in node.names:
        if not hasattr(module, alias.name):
            raise UnknownName(f"{block.where}: {node.module} has no '{alias.name}'")
        namespace[alias.asname or alias.name] = getattr(module, alias.name)


def _public(node: ast.expr, block: Block) -> Any:
    """Return what ``ps.something`` is, None if it is of another module."""
    path = ast.unparse(node).split(".")
    if path[0] != "ps" or not all(part.isidentifier() for part in path):
        return None
    found: Any = penstock
    for part in path[1:]:
        if not hasattr(found, part):
            raise UnknownName(f"{block.where}: there is no '{'.'.join(path)}'")
        found = getattr(found, part)
    return found


def _check_call(call: ast.Call, block: Block) -> None:
    """Hold the arguments of a call of ``ps.something`` against its signature."""
    called = _public(call.func, block)
    if called is None:
        return
    given = {keyword.arg: None for keyword in call.keywords if keyword.arg}
    positional = [None for each in call.args if not isinstance(each, ast.Starred)]
    try:
        inspect.signature(called).bind_partial(*positional, **given)
    except TypeError as error:
        raise UnknownName(f"{block.where}: {ast.unparse(call.func)}: {error}") from error
