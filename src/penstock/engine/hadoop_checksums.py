"""Hadoop's checksums: the hidden file that it writes beside each file on a disk.

Spark writes its logs with them, but does not look at all of them when it reads the logs again.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import BinaryIO

from penstock.regular_files import open_regular

_MAGIC = b"crc\0"
_HEADER = struct.Struct(">4sI")
_NUMBER_BYTES = 4
_MOST_IN_ONE = 1 << 24  # Hadoop has 512 bytes


def checksum_path(path: str) -> str:
    """Return where Hadoop keeps the checksums of a file.

    >>> checksum_path("/checkpoint/spark/offsets/7")
    '/checkpoint/spark/offsets/.7.crc'
    """
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}.crc")


def fits_checksums(path: str) -> bool:
    """Whether a file on a disk is as Hadoop wrote it; True where nothing is kept to tell by.

    Checksums that can't be read fit no file.
    """
    try:
        with (
            open(open_regular(checksum_path(path)), "rb") as kept,
            open(open_regular(path), "rb") as file,
        ):
            return _fits(file, kept)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _fits(file: BinaryIO, kept: BinaryIO) -> bool:
    """Compare a file with its checksums, a number for every so many bytes."""
    header = kept.read(_HEADER.size)
    if len(header) != _HEADER.size:
        return False
    magic, size = _HEADER.unpack(header)
    if magic != _MAGIC or not 0 < size <= _MOST_IN_ONE:
        return False
    pieces = -(-os.fstat(file.fileno()).st_size // size)
    if os.fstat(kept.fileno()).st_size != _HEADER.size + pieces * _NUMBER_BYTES:
        return False
    while piece := file.read(size):
        if kept.read(_NUMBER_BYTES) != struct.pack(">I", zlib.crc32(piece)):
            return False
    return not kept.read(1)
