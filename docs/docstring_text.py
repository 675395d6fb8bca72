"""Turns what docstrings say to Python's own tools into what the reference page can show.

Examples that run as doctests become blocks of code, and roles such as ``:func:`run``` plain names.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":[a-z]+:`~?([^`]+)`")
# From a prompt up to the next empty line.
EXAMPLE = re.compile(r"^>>> .*?(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^(Parameters|Attributes)\n-+$", re.MULTILINE)


def readable(text: str) -> str:
    """Return a docstring as Markdown, or as numpydoc where it has sections."""
    text = ROLE.sub(r"`\1`", text)
    if SECTION.search(text):
        # Behind a section only another one can stand.
        return EXAMPLE.sub(r"Examples\n--------\n\g<0>", text, count=1)
    return EXAMPLE.sub(r"\n```pycon\n\g<0>\n```\n", text)


class DocstringText(griffe.Extension):
    """Has every docstring read as Markdown."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of what was found."""
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)
