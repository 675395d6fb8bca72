"""Files that somebody else may have put there: no pipe holds a reader up, and none is endless."""

from __future__ import annotations

import errno
import os
import stat

from penstock.errors import ConfigurationError

MOST_BYTES = 1 << 26
"""Far more than any document of a checkpoint has."""
_NOT_THERE = (FileNotFoundError, NotADirectoryError)


def open_regular(
    path: str | os.PathLike[str],
    flags: int = os.O_RDONLY,
    mode: int = 0o666,
    *,
    follow_links: bool = True,
) -> int:
    """Open a file and return its descriptor; what is no regular file is an OSError."""
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, mode)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a file", os.fspath(path))


def read_regular(
    path: str | os.PathLike[str], most_bytes: int | None = MOST_BYTES, *, follow_links: bool = True
) -> bytes:
    """Read a regular file whole; one that is longer than ``most_bytes`` is an OSError."""
    with open(open_regular(path, follow_links=follow_links), "rb") as file:
        content = file.read(None if most_bytes is None else most_bytes + 1)
    if most_bytes is not None and len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it is longer than {most_bytes:,} bytes", os.fspath(path))
    return content


def read_text(path: str | os.PathLike[str], most_bytes: int | None = MOST_BYTES) -> str | None:
    """Read a UTF-8 file of a checkpoint whole, None where there is no such file."""
    try:
        return read_regular(path, most_bytes).decode(errors="replace")
    except _NOT_THERE:
        return None
    except OSError as error:
        raise ConfigurationError(
            f"'{os.fspath(path)}' can't be read ({error.strerror}). Give yourself the right to "
            "read it, or put the file back from a copy."
        ) from error
