"""Files as damage, other programs and other versions leave them, made from real ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**63,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "../../../etc/passwd",
    "naïve ☃",
    "x" * 2_000,
    [],
    [None],
    {},
    {"a": {"b": [1]}},
    [[[[[[]]]]]],
)
Place = tuple[Any, ...]


def places(document: Any, so_far: Place = ()) -> Iterator[Place]:
    """Give the way to every value in a document."""
    inner: Any = ()
    if isinstance(document, dict):
        inner = document.items()
    elif isinstance(document, list):
        inner = enumerate(document)
    for key, value in inner:
        yield (*so_far, key)
        yield from places(value, (*so_far, key))


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """Draw a copy of a JSON document with one to three of its values changed, gone or renamed."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        ways = list(places(changed))
        if not ways:
            break
        *way, last = draw(st.sampled_from(ways))
        holder = changed
        for key in way:
            holder = holder[key]
        what = draw(st.sampled_from(["odd", "odd", "gone", "renamed", "deep"]))
        if what == "odd":
            holder[last] = copy.deepcopy(draw(st.sampled_from(ODD)))
        elif what == "gone":
            del holder[last]
        elif what == "deep":
            holder[last] = nested(holder[last])
        elif isinstance(holder, dict):
            holder[draw(st.text(max_size=5))] = holder.pop(last)
    return changed


def nested(value: Any, depth: int = 50) -> Any:
    """Put a value into lists in lists."""
    for _ in range(depth):
        value = [value]
    return value


@st.composite
def damaged(draw: st.DrawFn, text: bytes) -> bytes:
    """Draw what is left of a file after a crash, a wrong program, or a bad disk."""
    how = draw(st.sampled_from(["cut", "flipped", "not text", "twice", "empty", "deep", "nulls"]))
    at = draw(st.integers(0, max(0, len(text) - 1)))
    if how == "cut":
        return text[:at]
    if how == "flipped":
        return text[:at] + bytes([text[at] ^ 0x20]) + text[at + 1 :] if text else b"\x20"
    if how == "not text":
        return text[:at] + b"\xff\xfe\x80" + text[at:]
    if how == "twice":
        return text + text
    if how == "deep":
        return b"[" * 100_000
    return b"" if how == "empty" else text[:at] + b"\x00" * 16 + text[at:]


def twice_each_key(document: dict[str, Any]) -> str:
    """Write an object with every key twice, of which the second is null."""
    pairs = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in document.items()]
    pairs += [f"{json.dumps(k)}: null" for k in document]
    return "{" + ", ".join(pairs) + "}"
