"""Where a journal is, from what people have at hand: a checkpoint, a directory, or a file."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

from penstock.arguments import shown_path
from penstock.errors import ConfigurationError, first_line
from penstock.journal.segments import segment_numbers

_IN_CHECKPOINT = "journal"
_LOCK_FILE = "journal.lock"


def journal_of(path: Path) -> Path:
    """Return the directory of the journal at ``path``, or ``path`` itself where that is a file.

    ``path`` is a journal's directory, a checkpoint that has its journal inside, or one file of JSON
    lines. A journal that has no line yet, because its query has only just begun, counts as one.

    >>> import tempfile
    >>> from penstock.journal.writer import JournalWriter
    >>> with tempfile.TemporaryDirectory() as checkpoint:
    ...     JournalWriter(f"{checkpoint}/journal").close()
    ...     journal_of(Path(checkpoint)).name
    'journal'
    """
    path = Path(str(path).removeprefix("file:"))
    try:
        if path.is_file() and path.suffix == ".jsonl":
            return path
        for directory in (path, path / _IN_CHECKPOINT):
            if segment_numbers(directory) or (directory / _LOCK_FILE).is_file():
                return directory
        what = _what_is_wrong(path)
    except NotADirectoryError:
        what = f"{path} is a file, and none of a journal"
    except (OSError, ValueError) as error:
        what = why_unread(path, error)
    raise ConfigurationError(
        f"{what}. Name a query's checkpoint, the directory of a journal, or one .jsonl file of it."
    )


def why_unread(path: Path, error: OSError | ValueError) -> str:
    """Say why nothing can be read at a path; a null in its name is a ValueError."""
    return f"{shown_path(path)} can't be read ({getattr(error, 'strerror', first_line(error))})"


def _what_is_wrong(path: Path) -> str:
    if not path.exists():
        return f"there is nothing at {path}"
    if (path / "query.json").is_file():
        return f"the checkpoint {path} holds no journal: its query was run with journal=..."
    if (path / "offsets").is_dir():
        return f"{path} is the checkpoint of a query that Penstock did not run"
    return f"there is no journal in {path}"


def refuse_impossible(directory: Path) -> None:
    """Refuse what will be no directory whatever the disk does later."""
    try:
        is_file = not stat.S_ISDIR(directory.stat().st_mode)
    except (OSError, ValueError) as error:
        # A null in the name, or a letter that no file system knows, is a ValueError.
        if isinstance(error, OSError) and error.errno not in (errno.ENAMETOOLONG, errno.ELOOP):
            return
        why = getattr(error, "strerror", None) or first_line(error)
        raise ConfigurationError(
            f"journal: {shown_path(directory)} can't be a directory ({why}). Name another."
        ) from None
    if is_file:
        raise ConfigurationError(
            f"journal: {directory} is a file. Name a directory; it will be made if there is none."
        )
