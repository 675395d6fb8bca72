"""Call something with arguments of which some are wrong, and judge what comes of it."""

from __future__ import annotations

import inspect
import json
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from hypothesis import Phase

from fuzz.wrong_values import WRONG_VALUES
from penstock.errors import PenstockError

DEADLINE_SECONDS = 20
"""How much of a processor a call may take: those that work take milliseconds."""
QUICK_PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without looking for the smallest example, which takes minutes where each one does."""
PATIENCE_SECONDS = 600
"""How long a call may wait for something else, on a machine that is busy."""


def strict_json(text: str) -> Any:
    """Read JSON as any program does: NaN and the infinities, which Python also takes, are none."""

    def refused(constant: str) -> None:
        raise ValueError(f"JSON has no {constant}")

    return json.loads(text, parse_constant=refused)


class Hung(BaseException):
    """A call did not come back."""


@dataclass(frozen=True)
class Call:
    """A public function with arguments that work.

    ``also`` are exceptions that its documentation promises besides those of Penstock. ``then`` uses
    what it returned, so that a mistake can't hide until then. ``values`` are those to try.
    """

    function: Callable[..., Any]
    good: Mapping[str, Any] = field(default_factory=dict)
    also: tuple[type[BaseException], ...] = ()
    then: Callable[[Any], object] = repr
    left_out: tuple[str, ...] = ()
    values: tuple[Any, ...] = WRONG_VALUES

    @property
    def parameters(self) -> tuple[str, ...]:
        """Every parameter of it that can be given wrongly."""
        named = inspect.signature(self.function).parameters.values()
        return tuple(
            each.name
            for each in named
            if each.kind is not inspect.Parameter.VAR_KEYWORD and each.name not in self.left_out
        ) + tuple(name for name in self.good if name not in [each.name for each in named])

    def made(self, wrong: Mapping[str, Any]) -> Any:
        """Call it."""
        given = {**self.good, **wrong}
        positional: list[Any] = []
        for each in inspect.signature(self.function).parameters.values():
            if each.kind is inspect.Parameter.POSITIONAL_ONLY and each.name in given:
                positional.append(given.pop(each.name))
            if each.kind is inspect.Parameter.VAR_POSITIONAL and each.name in given:
                value = given.pop(each.name)
                positional.extend(value if isinstance(value, list | tuple) else [value])
        return self.function(*positional, **given)


@contextmanager
def within(seconds: int = DEADLINE_SECONDS) -> Iterator[None]:
    """Break off what works longer than that, or waits for ever.

    Of the processor's time, since others may have most of it.
    """

    def hung(number: int, _frame: FrameType | None) -> None:
        raise Hung(f"nothing came back ({signal.Signals(number).name})")

    before = {each: signal.signal(each, hung) for each in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(PATIENCE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for each, handler in before.items():
            signal.signal(each, handler)


def judge(call: Call, wrong: Mapping[str, Any]) -> BaseException | None:
    """Return the error that the person got; fail where it is not one for them."""
    try:
        with within(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call.then(call.made(wrong))
    except PenstockError as error:
        told = str(error)
        assert told.strip(), f"{wrong!r}: an error without a word"
        assert "Traceback" not in told, f"{wrong!r}: {told}"
        assert "java.lang." not in told, f"{wrong!r}: {told}"
        return error
    except call.also as error:
        return error
    except (Exception, Hung) as error:
        raise AssertionError(
            f"{getattr(call.function, '__qualname__', call.function)} with {wrong!r:.300} raised "
            f"{type(error).__name__}: {error!s:.300}"
        ) from error
    return None
