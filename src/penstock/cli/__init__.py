"""The command line: ``penstock doctor | run | explain | replay | demo | version``.

Nothing here imports PySpark before a command needs it, so that ``doctor`` works without Java and
``--help`` comes at once.
"""

from penstock.cli.commands import app, main

__all__ = ["app", "main"]
