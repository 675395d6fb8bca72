"""The papers whose experiments can be run again, by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from penstock.errors import ConfigurationError
from penstock.reproduction.result import Progress, Reproduce, Reproduction

PAPERS = ("posg", "dabs", "psps", "enorm", "ppq")


def reproduce(paper: str, *, data: Path | None, quick: bool, progress: Progress) -> Reproduction:
    """Run the experiments of a paper; ``data`` is the folder of traces, where there is one."""
    if paper not in PAPERS:
        raise ConfigurationError(f"there is no paper '{paper}'. Write one of: {', '.join(PAPERS)}.")
    if data is not None and not data.is_dir():
        raise ConfigurationError(
            f"there is no folder {data}. Give the folder of traces with --data, or leave it out."
        )
    # One paper's simulators are compiled by Numba when they are first imported; not all five's.
    run: Reproduce = import_module(f"penstock.reproduction.{paper}").reproduce
    return run(data=data, quick=quick, progress=progress)
