"""Hadoop's checksums: the hidden file that it writes beside each file on a disk.

Spark writes its logs with them, but does not look at all of them when it reads the logs again.
"""

from __future__ import annotations

import os
import struct
import zlib

_MAGIC = b"crc\0"
_HEADER = struct.Struct(">4sI")


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
        with open(checksum_path(path), "rb") as kept, open(path, "rb") as file:
            return _checksums(file.read(), kept.read(_HEADER.size)) == kept.read()
    except FileNotFoundError:
        return True


def _checksums(content: bytes, header: bytes) -> bytes | None:
    """Return the checksums of a content, a number for every so many bytes; None if in no form."""
    if len(header) != _HEADER.size:
        return None
    magic, size = _HEADER.unpack(header)
    if magic != _MAGIC or size == 0:
        return None
    pieces = (content[start : start + size] for start in range(0, len(content), size))
    return b"".join(struct.pack(">I", zlib.crc32(piece)) for piece in pieces)
