"""Topologies by name or by file: those of the papers, a YAML file, or a Python module."""

from __future__ import annotations

import os
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from penstock.errors import ConfigurationError, PenstockError
from penstock.python_file import MEANT_TO_END, load_python_file, user_error
from penstock.simulation.topology import SimulatedTopology
from penstock.simulation.topology_text import topology_of_text
from penstock.sources.text_file import text_of, why_unread

_SHIPPED = files("penstock.simulation") / "topologies"
_IN_PYTHON = "topology"
MOST_BYTES = 250_000
"""Of a YAML file: a thousand operators take less than half of it."""


def shipped_topologies() -> tuple[str, ...]:
    """Return the names of the topologies that come with Penstock: those of the papers.

    >>> shipped_topologies()
    ('complex', 'complex_tweets', 'dns', 'insensitive', 'lending', 'sensitive', 'tweets')
    """
    names = (each.name for each in _SHIPPED.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def read_topology(where: str | os.PathLike[str]) -> SimulatedTopology:
    """Read a topology: ``tweets``, ``mine.yaml``, ``mine.py`` or ``mine.py:name``.

    In a Python module it is an object or a function without arguments, called ``topology`` unless
    named.

    >>> [each.name for each in read_topology("tweets").operators]
    ['parse', 'classify_content', 'classify_author', 'store']
    """
    if not isinstance(where, str | os.PathLike):
        raise ConfigurationError(
            f"a {type(where).__name__} is no topology. Write one of "
            f"{', '.join(shipped_topologies())}, or a file: mine.yaml, mine.py or mine.py:name."
        )
    text = os.fspath(where)
    file, _, name = text.rpartition(":")
    if file.endswith(".py"):
        return _of_module(Path(file), name)
    if text.endswith(".py"):
        return _of_module(Path(text), _IN_PYTHON)
    if text.endswith((".yaml", ".yml")):
        return _of_yaml(Path(text))
    if text in shipped_topologies():
        shipped = _SHIPPED / f"{text}.yaml"
        return topology_of_text(shipped.read_text("utf-8"), f"{text}.yaml", text)
    near = get_close_matches(text, shipped_topologies(), n=1)
    meant = f"Did you mean '{near[0]}'? " if near else ""
    raise ConfigurationError(
        f"there is no topology '{text}'. {meant}Write one of {', '.join(shipped_topologies())}, "
        "or a file: mine.yaml, mine.py or mine.py:name."
    )


def _of_yaml(path: Path) -> SimulatedTopology:
    try:
        text = text_of(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"the topology {path} cannot be read: {why_unread(error)}; give the path of a "
            f"YAML file, or one of {', '.join(shipped_topologies())}"
        ) from error
    return topology_of_text(text, str(path), path.stem)


def _of_module(path: Path, name: str) -> SimulatedTopology:
    module = load_python_file(path.absolute())
    if not hasattr(module, name):
        raise ConfigurationError(
            f"{path} has no '{name}'. Write {name} = SimulatedTopology(...), or name another: "
            f"{path.name}:name."
        )
    found = getattr(module, name)
    if callable(found):
        try:
            found = found()
        except (PenstockError, *MEANT_TO_END):
            raise
        except BaseException as error:
            raise user_error(error, path.absolute()) from error
    if not isinstance(found, SimulatedTopology):
        raise ConfigurationError(
            f"'{name}' in {path} is of type {type(found).__name__}. Write a SimulatedTopology, or "
            "a function without arguments that returns one."
        )
    return found
