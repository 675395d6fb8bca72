"""A job as ``penstock run`` takes it: a Python file with a function that builds it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from penstock.cli.complaints import first_line, place_of
from penstock.errors import ConfigurationError, PenstockError

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
        module = self._module()
        build = getattr(module, self.function, None)
        if not callable(build):
            raise ConfigurationError(
                f"{self.path} has no function '{self.function}'. Write one that takes the Spark "
                f"session, or name another: {self.path.name}:function."
            )
        return Job(self, module, build)

    def _module(self) -> ModuleType:
        name = f"_penstock_job_{self.path.stem}"
        spec = importlib.util.spec_from_file_location(name, self.path)
        if spec is None or spec.loader is None:
            raise ConfigurationError(f"{self.path} is no Python file. Its name must end in .py.")
        module = importlib.util.module_from_spec(spec)
        # Dataclasses look their module up; a script finds the modules that lie beside it.
        sys.modules[name] = module
        sys.path.insert(0, str(self.path.parent))
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise _user_error(error, self.path) from error
        return module


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
            raise _user_error(error, self.file.path) from error
        outlets = list(returned) if isinstance(returned, list | tuple) else [returned]
        wrong = [type(each).__name__ for each in outlets if not isinstance(each, Outlet)]
        if wrong or not outlets:
            found = f"something of type {wrong[0]}" if wrong else "an empty list"
            raise ConfigurationError(
                f"{self.file.function} in {self.file.path} returned {found}. "
                "Return stream.to(sink), or a list of them."
            )
        return outlets


def _user_error(error: Exception, file: Path) -> ConfigurationError:
    message = first_line(error.msg if isinstance(error, SyntaxError) else error)
    return ConfigurationError(f"{place_of(error, file)}: {type(error).__name__}: {message}")
