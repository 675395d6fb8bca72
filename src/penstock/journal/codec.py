"""Frozen dataclasses to JSON and back, from their type hints alone.

What a field may hold: ``int``, ``float``, ``str``, ``bool``, another dataclass, ``tuple[X, ...]``,
``Mapping[str, X]``, ``X | None``, and ``object`` for JSON left as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from penstock.errors import PenstockError

Decoder = Callable[[object], object]


def encode(value: object, *, without_defaults: bool = False) -> object:
    """Turn a value into what ``json.dumps`` takes; NaN and the infinities become None.

    ``without_defaults`` leaves out the fields of dataclasses that have their default: readers fill
    them in.

    >>> encode({"mean": float("nan"), "rows": (1, 2)})
    {'mean': None, 'rows': [1, 2]}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return _encode_fields(value, without_defaults)
    if isinstance(value, Mapping):
        return {
            _key(key): encode(item, without_defaults=without_defaults)
            for key, item in value.items()
        }
    if isinstance(value, tuple | list):
        return [encode(item, without_defaults=without_defaults) for item in value]
    # NumPy's scalars, without importing NumPy.
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return encode(float(value))
    raise TypeError(f"the journal cannot hold a {type(value).__name__}: {value!r:.80}")


def decode(hint: Any, value: object) -> Any:
    """Turn parsed JSON into an instance of ``hint``, or raise ValueError saying what is wrong.

    Fields that the type does not know are ignored; fields that are missing take their default. Null
    in a field that must be a float reads as NaN.

    >>> decode(tuple[float, ...], [1, 2.5, None])
    (1.0, 2.5, nan)
    """
    return decoder(hint)(value)


@cache
def decoder(hint: Any) -> Decoder:
    """Make the function that decodes one type; made once per type."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    if is_dataclass(hint):
        return _dataclass_decoder(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments:
        return _optional_decoder(next(a for a in arguments if a is not NoneType))
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return _tuple_decoder(arguments[0])
    if origin is Mapping and arguments[0] is str:
        return _mapping_decoder(arguments[1])
    raise TypeError(f"the journal has no way to read back a {hint}")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a mapping in the journal has strings for keys, not {key!r:.80}")
    return key


def _encode_fields(value: Any, without_defaults: bool) -> dict[str, object]:
    encoded: dict[str, object] = {}
    kind: Any = type(value)
    for name, default in _written_defaults(kind):
        written = encode(getattr(value, name), without_defaults=without_defaults)
        # Compared as written: a NaN is null, and so is the None that it reads back as.
        if not without_defaults or written != default:
            encoded[name] = written
    return encoded


@cache
def _written_defaults(dataclass: Any) -> tuple[tuple[str, object], ...]:
    """Return the fields' names with their defaults as written; MISSING, unlike all, where none."""
    return tuple([(field.name, _written_default(field)) for field in fields(dataclass)])


def _written_default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return encode(field.default_factory(), without_defaults=True)
    return MISSING if field.default is MISSING else encode(field.default, without_defaults=True)


_MOST = 1 << 63


def _wrong(wanted: str, value: object) -> ValueError:
    return ValueError(f"expected {wanted}, found {value!r:.80}")


def _int(value: object) -> int:
    # No writer counts beyond 64 bits, and no reader's tables and sums go further.
    if isinstance(value, int) and not isinstance(value, bool) and -_MOST <= value < _MOST:
        return value
    raise _wrong("a whole number", value)


def _float(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise _wrong("a number", value)


def _str(value: object) -> str:
    if isinstance(value, str):
        return value
    raise _wrong("a string", value)


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong("true or false", value)


def _as_it_is(value: object) -> object:
    return value


_PLAIN: Mapping[Any, Decoder] = {
    int: _int,
    float: _float,
    str: _str,
    bool: _bool,
    object: _as_it_is,
}


def _optional_decoder(hint: Any) -> Decoder:
    inner = decoder(hint)
    return lambda value: None if value is None else inner(value)


def _tuple_decoder(hint: Any) -> Decoder:
    inner = decoder(hint)

    def decode_tuple(value: object) -> object:
        if not isinstance(value, list):
            raise _wrong("a list", value)
        # Of a list, not of a generator: CPython grows the tuple then, and fails with a SystemError
        # if another thread has just listed all objects, as NiceGUI does when it starts. So
        # wherever a thread may read a journal.
        return tuple([inner(item) for item in value])

    return decode_tuple


def _mapping_decoder(hint: Any) -> Decoder:
    inner = decoder(hint)

    def decode_mapping(value: object) -> object:
        if not isinstance(value, dict):
            raise _wrong("an object", value)
        return {key: inner(item) for key, item in value.items()}

    return decode_mapping


def _dataclass_decoder(dataclass: Any) -> Decoder:
    hints = get_type_hints(dataclass)
    parts = [(f.name, decoder(hints[f.name]), _required(f)) for f in fields(dataclass)]

    def decode_dataclass(value: object) -> object:
        if not isinstance(value, dict):
            raise _wrong(f"an object ({dataclass.__name__})", value)
        found: dict[str, object] = {}
        for name, decode_field, required in parts:
            if name in value:
                try:
                    found[name] = decode_field(value[name])
                except ValueError as error:
                    raise ValueError(f"{dataclass.__name__}.{name}: {error}") from None
            elif required:
                raise ValueError(f"{dataclass.__name__} has no '{name}'")
        try:
            return dataclass(**found)
        except PenstockError as error:  # values that this type does not take
            raise ValueError(f"{dataclass.__name__}: {error}") from None

    return decode_dataclass


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING
