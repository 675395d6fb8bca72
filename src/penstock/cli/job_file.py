"""A job as ``penstock run`` takes it: a Python file with a function that builds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from penstock.errors import ConfigurationError, PenstockError
from penstock.python_file import load_python_file, user_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.branch import Outlet

DEFAULT_FUNCTION = "build"


@dataclass(frozen=True, slots=True)
class JobFile:
    """The file and the function in it.

    >>> JobFile.parse("jobs/enrich.py").function
    'build'
    >>> JobFile.parse("jobs/enrich.py:nightly").function
    'nightly'
    """

    path: Path
    function: str = DEFAULT_FUNCTION

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
                f"there is no file {self.path}. Write: penstock run FILE.py, or FILE.py:function."
            )
        module = load_python_file(self.path)
        build = getattr(module, self.function, None)
        if not callable(build):
            raise ConfigurationError(
                f"{self.path} has no function '{self.function}'. Write one that takes the Spark "
                f"session, or name another: {self.path.name}:function."
            )
        return Job(self, module, build)


@dataclass(frozen=True, slots=True)
class Job:
    """A loaded job: call ``build`` with a session to get its branches."""

    file: JobFile
    module: ModuleType
    function: Callable[[Any], Any]

    def build(self, spark: SparkSession) -> list[Outlet]:
        """Call the user's function and check what it returns."""
        from pyspark import cloudpickle

        from penstock.branch import Outlet

        # Spark's workers can't import the file under its name here; send its functions as they are.
        cloudpickle.register_pickle_by_value(self.module)  # type: ignore[no-untyped-call]
        try:
            returned = self.function(spark)
        except PenstockError:
            raise
        except Exception as error:
            raise user_error(error, self.file.path) from error
        outlets = list(returned) if isinstance(returned, list | tuple) else [returned]
        wrong = [type(each).__name__ for each in outlets if not isinstance(each, Outlet)]
        if wrong or not outlets:
            found = f"something of type {wrong[0]}" if wrong else "an empty list"
            raise ConfigurationError(
                f"{self.file.function} in {self.file.path} returned {found}. "
                "Return stream.to(sink), or a list of them."
            )
        return outlets
