"""A job as ``penstock run`` takes it: a Python file with a function that builds it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from penstock.errors import ConfigurationError, PenstockError
from penstock.python_file import MEANT_TO_END, load_python_file, user_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.branch import Outlet

DEFAULT_FUNCTIONS = ("build", "topology")


@dataclass(frozen=True, slots=True)
class JobFile:
    """The file and the function in it; without one, the first of the default ones is taken.

    >>> JobFile.parse("jobs/enrich.py:nightly").function
    'nightly'
    """

    path: Path
    function: str | None = None

    @classmethod
    def parse(cls, text: str) -> JobFile:
        """Read ``FILE.py`` or ``FILE.py:function``."""
        before, colon, after = text.rpartition(":")
        if colon and after.isidentifier():
            return cls(Path(before).absolute(), after)
        return cls(Path(text).absolute())

    def load(self) -> Job:
        """Run the file and find its function."""
        if not self.path.is_file():
            raise ConfigurationError(
                f"there is no file {self.path}. Name a Python file, FILE.py or FILE.py:function."
            )
        module = load_python_file(self.path)
        name = self._found_in(module)
        return Job(self, module, getattr(module, name), name)

    def _found_in(self, module: ModuleType) -> str:
        wanted = DEFAULT_FUNCTIONS if self.function is None else (self.function,)
        found = _first_of(wanted, module)
        if found is not None:
            return found
        missing = " and no function ".join(f"'{name}'" for name in wanted)
        own = [
            name
            for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        meant = next((name for name in (*DEFAULT_FUNCTIONS, *own) if name in own), "function")
        has = f"It has: {', '.join(own)}. " if own else "It has no function at all. "
        raise ConfigurationError(
            f"{self.path} has no function {missing}. {has}Write one that takes the Spark session, "
            f"or name another: {self.path.name}:{meant}."
        )


@dataclass(frozen=True, slots=True)
class Job:
    """A loaded job: call ``build`` with a session to get its branches."""

    file: JobFile
    module: ModuleType
    function: Callable[..., Any]
    name: str

    @property
    def checkpoint(self) -> str:
        """Where the checkpoint is unless said: in the working directory, one for each job.

        ``enrich.py:build`` is the same job as ``enrich.py``, and so goes on from its checkpoint.
        """
        is_usual = self.name == _first_of(DEFAULT_FUNCTIONS, self.module)
        return f"{self.file.path.stem}{'' if is_usual else f'-{self.name}'}.checkpoint"

    def build(self, spark: SparkSession) -> list[Outlet]:
        """Call the user's function and check what it returns."""
        from pyspark import cloudpickle

        from penstock.branch import Outlet

        # Spark's workers can't import the file under its name here; send its functions as they are.
        cloudpickle.register_pickle_by_value(self.module)  # type: ignore[no-untyped-call]
        given = self._given(spark)
        try:
            returned = self.function(*given)
        except (PenstockError, *MEANT_TO_END):
            raise
        except BaseException as error:
            raise user_error(error, self.file.path) from error
        outlets = list(returned) if isinstance(returned, list | tuple) else [returned]
        wrong = [type(each).__name__ for each in outlets if not isinstance(each, Outlet)]
        if wrong or not outlets:
            found = f"something of type {wrong[0]}" if wrong else "an empty list"
            raise ConfigurationError(
                f"{self.name} in {self.file.path} returned {found}. "
                "Return stream.to(sink), or a list of them."
            )
        return outlets

    def _given(self, spark: SparkSession) -> tuple[Any, ...]:
        """Return what the function is called with: the session, or nothing where it takes none."""
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):  # not every callable has one
            return (spark,)
        for given in ((spark,), ()):
            try:
                signature.bind(*given)
            except TypeError:
                continue
            return given
        raise ConfigurationError(
            f"{self.name}{signature} in {self.file.path} can't be called with the Spark session "
            "alone. Give its other parameters defaults, or name another function: "
            f"{self.file.path.name}:function."
        )


def _first_of(names: Sequence[str], module: ModuleType) -> str | None:
    """Return the first of these names that is a function's."""
    return next((name for name in names if callable(getattr(module, name, None))), None)
