"""Small disks that can be filled."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CHUNK_BYTES = 4_096


class NoSmallDisk(Exception):
    """This machine does not let us mount one."""


@dataclass(frozen=True)
class SmallDisk:
    """A file system of its own, in memory, of a few megabytes."""

    path: Path

    def fill(self, but_bytes: int = 0) -> None:
        """Take all space that is left, but for so much."""
        with (self.path / "filler").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * CHUNK_BYTES)
            except OSError:
                file.truncate(max(0, file.tell() - but_bytes))

    def free(self) -> None:
        """Give the space back."""
        (self.path / "filler").unlink(missing_ok=True)


@contextmanager
def small_disk(path: Path, megabytes: int = 16) -> Iterator[SmallDisk]:
    """Mount a small disk, and take it away whatever happens."""
    path.mkdir(parents=True)
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)]
    done = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoSmallDisk(f"a small disk can't be mounted: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)
