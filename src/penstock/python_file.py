"""A Python file that a user names: run it, and say where in it things went wrong."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from penstock.errors import ConfigurationError, first_line

MEANT_TO_END = (KeyboardInterrupt, SystemExit)
"""What ends a program on purpose; all else that a user's code raises is told as a mistake in it."""


def load_python_file(path: Path) -> ModuleType:
    """Run the file at an absolute path; a mistake in it is told with its line."""
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}. Write the path of a Python file.")
    name = f"_penstock_job_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{path} is no Python file. Its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up; a script finds the modules that lie beside it.
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except MEANT_TO_END:
        raise
    except BaseException as error:
        raise user_error(error, path) from error
    return module


def user_error(error: BaseException, file: Path) -> ConfigurationError:
    """Tell what a user's file raised, and where."""
    message = first_line(error.msg if isinstance(error, SyntaxError) else error)
    return ConfigurationError(f"{place_of(error, file)}: {type(error).__name__}: {message}")


def place_of(error: BaseException, file: Path) -> str:
    """Say where in a user's file an error came from: the deepest line of that file."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == file]
    if isinstance(error, SyntaxError) and error.filename == str(file):
        lines = [error.lineno]
    return f"{file} line {lines[-1]}" if lines else str(file)
