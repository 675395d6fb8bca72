"""One cluster for all tests of a run: starting one takes longer than most of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jobs import Jobs
from standalone import OwnDisk, cluster, namespace_command

from linked_environment import make_environment

# What docs/deploying.md asks for; PySpark comes with Spark, Numba is for compiled preferences.
WORKERS_NEED = ("pyarrow", "numpy", "pandas", "numba")


@pytest.fixture(scope="session")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    """Start two workers of two cores; the second has a disk of its own, where that can be done."""
    where = tmp_path_factory.mktemp("cluster")
    disk = None
    if namespace_command():
        disk = OwnDisk(hidden=where / "hidden", read_only=where / "read-only")
        disk.hidden.mkdir()
        disk.read_only.mkdir()
    python = make_environment(where / "python", WORKERS_NEED)
    with cluster(where / "daemons", last_disk=disk) as master:
        running = Jobs(master, python, where, disk)
        yield running
        running.close()
