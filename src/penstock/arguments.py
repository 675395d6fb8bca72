"""Arguments of another type than a function takes, told at once and in one sentence.

A function that checks its arguments itself says more; ``checked`` is for those that would
otherwise fail somewhere inside, with an error that names nothing a user has written.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import numbers
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from penstock.errors import ArgumentError

Checked = TypeVar("Checked", bound=Callable[..., Any])
_MOST_LETTERS = 80
_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "True or False",
    NoneType: "None",
    dict: "a dict",
}


def checked(function: Checked) -> Checked:
    """Refuse arguments that don't fit the annotations, before a function or an object is made.

    What is annotated with something else than plain types is the function's own to check.

    >>> @checked
    ... def wait(seconds: float, name: str | None = None) -> None: ...
    >>> wait("long")
    Traceback (most recent call last):
        ...
    penstock.errors.ArgumentError: wait(seconds='long') can't work. Write a number.
    """
    if isinstance(function, type):
        kind: Any = function
        kind.__init__ = _checking(kind.__init__, kind.__name__)
        return function
    owner = function.__qualname__.removesuffix(".__init__").rpartition("<locals>.")[2]
    return _checking(function, owner)  # type: ignore[return-value]


def _checking(function: Callable[..., Any], owner: str) -> Callable[..., Any]:
    signature: inspect.Signature | None = None

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        nonlocal signature
        if signature is None:  # at the first call, when the names in annotations are all there
            signature = inspect.signature(function, locals=_Names(function), eval_str=True)
        try:
            given = signature.bind(*args, **named).arguments
        except TypeError:
            return function(*args, **named)  # Python says best what is missing or too much
        for name, value in given.items():
            wanted = signature.parameters[name]
            is_one = wanted.kind not in (wanted.VAR_POSITIONAL, wanted.VAR_KEYWORD)
            if is_one and wanted.annotation is not wanted.empty:
                _check(owner, name, value, wanted.annotation)
        return function(*args, **named)

    return call


class _Names(dict[str, Any]):
    """What the names in annotations stand for; anything, where only a type checker knows."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._known = {**vars(builtins), **getattr(function, "__globals__", {})}

    def __missing__(self, name: str) -> Any:
        return self._known.get(name, Any)


def _check(owner: str, name: str, value: Any, wanted: Any) -> None:
    if not _fits(value, wanted):
        is_broken = isinstance(value, str) and not is_text(value)
        words = "whole letters, of which this is half of one" if is_broken else _in_words(wanted)
        raise ArgumentError(f"{owner}({name}={shown(value)}) can't work. Write {words}.")


def shown(value: object, most_letters: int = _MOST_LETTERS) -> str:
    """Return a value as one short line, whatever it is.

    >>> shown("x" * 100)[-6:], shown([1,
    ...     2])
    ("xx...'", '[1, 2]')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"a {type(value).__name__}"
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= most_letters else f"{text[: most_letters - 4]}...{text[-1]}"


def shown_path(path: object) -> str:
    """Return a path whole, which is looked for by its end; a text that is none is cut off.

    >>> shown_path("/a" * 100) == repr("/a" * 100), len(shown_path("a" * 9999))
    (True, 1000)
    """
    return shown(str(path), 1000)


def is_one_of(value: object, choices: Iterable[str]) -> bool:
    """Whether a value is one of some words; an array would compare with each and not say.

    >>> is_one_of("max", ["min", "max"]), is_one_of(["max"], ["min", "max"])
    (True, False)
    """
    return isinstance(value, str) and value in choices


def is_text(value: object) -> bool:
    r"""Whether a value is a text that leaves Python: half of a letter has no bytes.

    >>> is_text("snow \u2603"), is_text("\ud800"), is_text(b"snow")
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def listed(written: Any) -> tuple[Any, ...]:
    """Return what may be written as one or as several; what is neither is the only one.

    >>> listed("user"), listed(["user", "day"]), listed(3)
    (('user',), ('user', 'day'), (3,))
    """
    # A Column of Spark can be asked for its parts, and then raises something of its own.
    is_several = isinstance(written, Sequence | Set) and not isinstance(written, str | bytes)
    return tuple(written) if is_several else (written,)


def is_finite(value: object) -> bool:
    """Whether a value is a number, and one that a float can hold.

    >>> is_finite(3), is_finite(True), is_finite("3"), is_finite(float("nan")), is_finite(10**400)
    (True, False, False, False, False)
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return isfinite(value)
    except OverflowError:
        return False


def check_wait(owner: str, name: str, seconds: float | None) -> None:
    """Refuse a time that nobody can wait for; None is for ever.

    >>> check_wait("stop", "timeout", -1)
    Traceback (most recent call last):
        ...
    penstock.errors.ArgumentError: stop(timeout=-1) can't work. Write seconds from 0 on, or None.
    """
    if seconds is None or (is_finite(seconds) and 0 <= seconds <= threading.TIMEOUT_MAX):
        return
    raise ArgumentError(
        f"{owner}({name}={shown(seconds)}) can't work. Write seconds from 0 on, or None."
    )


def _fits(value: Any, wanted: Any) -> bool:
    wanted = _meant(wanted)
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(wanted))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(wanted)
    if origin in (Sequence, list, tuple):
        # One text is a sequence of letters to Python; functions say what to write instead.
        is_one = isinstance(value, Sequence) and not isinstance(value, bytes)
        return is_one and _all_fit(value, get_args(wanted)[:1])
    if origin is Mapping or origin is dict:
        return isinstance(value, Mapping) and _all_fit(value, get_args(wanted)[:1])
    if wanted is Callable or origin is Callable or origin is _ABSTRACT_CALLABLE:
        return callable(value)
    return _is_a(value, origin or wanted)


_ABSTRACT_CALLABLE = get_origin(Callable[[], None])


def _meant(wanted: Any) -> Any:
    """Return what a type stands for that has a name of its own, as NumPy's have from 2.5 on."""
    while (named := getattr(wanted, "__value__", None)) is not None:
        wanted = named
    return wanted


def _all_fit(values: Any, wanted: tuple[Any, ...]) -> bool:
    return not wanted or all(_fits(each, wanted[0]) for each in values)


def _is_a(value: Any, kind: Any) -> bool:
    if kind is None or kind is NoneType:
        return value is None
    if kind is bool:
        return isinstance(value, bool) or _is_numpys(type(value), "bool", "bool_")
    if kind is str:
        return is_text(value)
    if kind is int:
        return _is_number(value, numbers.Integral)
    if kind is float:
        return _is_number(value, numbers.Real)
    if _is_numpys(kind, "ndarray"):
        return isinstance(value, kind) and value.dtype.kind in "biuf"
    if kind is Any or not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True
    return isinstance(value, kind)


def _is_numpys(kind: Any, *names: str) -> bool:
    # Without importing it: a command that needs no NumPy starts in half the time.
    return getattr(kind, "__module__", None) == "numpy" and kind.__name__ in names


def _is_number(value: Any, kind: type[Any]) -> bool:
    if not isinstance(value, kind) or isinstance(value, bool):
        return False
    try:  # a whole number may have more digits than anything can count
        float(value)
    except (OverflowError, TypeError, ValueError):
        return False
    return True


def _in_words(wanted: Any) -> str:
    wanted = _meant(wanted)
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        return " or ".join(_in_words(each) for each in get_args(wanted))
    if origin is Literal:
        return " or ".join(repr(each) for each in get_args(wanted))
    if origin in (Sequence, list, tuple):
        return f"a list, each {_in_words(get_args(wanted)[0])}"
    if origin in (Mapping, dict):
        return "a dict"
    if origin is _ABSTRACT_CALLABLE:
        return "a function"
    kind = origin or wanted
    if _is_numpys(kind, "ndarray"):
        return "a NumPy array of numbers"
    return _WORDS.get(kind) or f"a {getattr(kind, '__name__', kind)}"
