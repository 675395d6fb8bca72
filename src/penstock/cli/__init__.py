"""The command line: ``penstock COMMAND``, with the commands that ``commands`` lists.

Nothing here imports PySpark before a command needs it, so that ``doctor`` works without Java and
``--help`` comes at once.
"""

from penstock.cli.commands import app, main

__all__ = ["app", "main"]
