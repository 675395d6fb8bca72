"""Calls a function of a test with what it has for each source."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal

from penstock.errors import ConfigurationError

ONLY = "source"
"""The name of a source that the test gave none."""

_TAKES = {"topology": "a stream", "query": "a DataFrame"}
_EXAMPLES = {
    "topology": "lambda stream: stream.filter('n > 1')",
    "query": "lambda df: df.where('n > 1')",
}


def called(what: Literal["topology", "query"], function: Any, by_source: Mapping[str, Any]) -> Any:
    """Call a function with what the only source has, or by keyword with what each has.

    What it raises itself is the test's own to see.
    """
    if isinstance(function, type) or not callable(function):
        kind = function if isinstance(function, type) else type(function)
        raise ConfigurationError(
            f"{what} is a {kind.__name__}. Give a function of {_TAKES[what]}, such as "
            f"{_EXAMPLES[what]}."
        )
    is_one = list(by_source) == [ONLY]
    args = tuple(by_source.values()) if is_one else ()
    named = {} if is_one else by_source
    try:
        inspect.signature(function).bind(*args, **named)
    except TypeError:
        raise ConfigurationError(
            f"the {what} function must take {_TAKES[what]} for each source: "
            f"{', '.join(by_source)}. Name its parameters after the keys of batches, or write "
            f"{_EXAMPLES[what]} where there is one."
        ) from None
    except ValueError:
        pass  # Python can't tell of some functions that are not written in it
    return function(*args, **named)
