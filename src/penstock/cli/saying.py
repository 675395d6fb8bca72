"""Writes lines to the terminal; names, errors and rows in them come from elsewhere."""

from __future__ import annotations

import typer

from penstock.terminal import plain


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write a text without what terminals would obey in it."""
    typer.echo(plain(text), err=err, nl=nl)
