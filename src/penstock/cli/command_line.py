"""Commands whose help ends with examples, each on a line of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

EXAMPLE = "Example: "


class _ShowsExamples:
    """Shows the lines of a help text that begin with ``Example:`` as they are.

    The rest of the text is wrapped to the width of the terminal; a command line that is wrapped
    could not be copied.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        prose, self.examples = split_examples(settings.get("help") or "")
        super().__init__(*args, **{**settings, "help": prose})

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples below all else."""
        super().format_epilog(ctx, formatter)  # type: ignore[misc]
        if self.examples:
            formatter.write("\nExample:\n" if len(self.examples) == 1 else "\nExamples:\n")
            for example in self.examples:
                formatter.write(f"  {example}\n")


class ExampleCommand(_ShowsExamples, TyperCommand):
    """A command whose help ends with the examples of its docstring."""


class ExampleGroup(_ShowsExamples, TyperGroup):
    """Commands whose common help ends with examples."""


class CommandLine(typer.Typer):
    """An app whose commands all show their examples."""

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **settings: Any
    ) -> Callable[[Any], Any]:
        """Add a command; the decorated function's docstring is its help."""
        return super().command(name, cls=cls or ExampleCommand, **settings)


def split_examples(text: str) -> tuple[str, tuple[str, ...]]:
    r"""Part a docstring into its prose and its examples.

    >>> split_examples("Count.\n\nIn tens.\nExample: penstock count 10\nExample: penstock count -q")
    ('Count.\n\nIn tens.', ('penstock count 10', 'penstock count -q'))
    """
    lines = text.splitlines()
    prose = [line for line in lines if not line.strip().startswith(EXAMPLE)]
    return "\n".join(prose).rstrip(), tuple(_examples(lines))


def _examples(lines: Sequence[str]) -> list[str]:
    stripped = [line.strip() for line in lines]
    return [line.removeprefix(EXAMPLE) for line in stripped if line.startswith(EXAMPLE)]
