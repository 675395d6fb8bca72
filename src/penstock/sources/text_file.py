"""Reading a text that somebody named: never for ever, and never more than was bargained for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def text_of(path: Path, most_bytes: int, encoding: str = "utf-8") -> str:
    """Return the text of a file, or of a pipe that somebody writes to.

    What is neither, or is longer than ``most_bytes``, is a ValueError that says so; a pipe that
    nobody has opened to write to is an empty text.
    """
    # Opening waits for no writer; a terminal or a device in a file's place has no end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
            raise ValueError("it is no file")
        os.set_blocking(descriptor, True)
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise ValueError(f"it is longer than {most_bytes:,} bytes")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise ValueError("it is not text") from None


def why_unread(error: OSError | ValueError) -> str:
    """Say why a text could not be read, to stand behind a colon.

    >>> why_unread(FileNotFoundError(2, "No such file or directory"))
    'No such file or directory'
    """
    # A name that no file can have is a ValueError of Python's own.
    return (error.strerror if isinstance(error, OSError) else str(error)) or "it is no file"
