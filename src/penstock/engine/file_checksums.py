"""Checksums of the files that hold state, to notice what changed on a disk since a commit.

Nothing here imports Spark: it runs in Spark's Python workers too, where start-up time counts.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping

from penstock.regular_files import open_regular

_CHUNK_BYTES = 1 << 20


def file_checksum(path: str) -> str:
    """Return the checksum of a file's content; about a second for a gigabyte."""
    found = 0
    with open(open_regular(path), "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            found = zlib.crc32(chunk, found)
    return f"{found:08x}"


def directory_checksum(path: str) -> str:
    """Return one checksum for the files of a directory: their names and contents.

    Names that begin with a dot or an underscore don't count, as Spark reads none of them.
    """
    names = [name for name in os.listdir(path) if name[0] not in "._"]
    return _of({name: file_checksum(f"{path}/{name}") for name in names})


def listing_checksum(lengths: Mapping[str, int]) -> str:
    """Return one checksum for the files of a directory whose content is not read."""
    return _of({name: str(length) for name, length in lengths.items() if name[0] not in "._"})


def _of(files: Mapping[str, str]) -> str:
    told = ",".join(f"{name}:{files[name]}" for name in sorted(files))
    return f"{zlib.crc32(told.encode()):08x}"
