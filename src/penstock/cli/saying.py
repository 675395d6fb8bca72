"""Writes lines to the terminal; names, errors and rows in them come from elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import typer

from penstock.terminal import plain


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write a text without what terminals would obey in it."""
    typer.echo(plain(text), err=err, nl=nl)


@contextmanager
def kept_for_result(is_kept: bool = True) -> Iterator[None]:
    """Let what a user's file prints go to standard error, where the other is for the result."""
    if not is_kept:
        yield
        return
    with redirect_stdout(sys.stderr):
        yield
