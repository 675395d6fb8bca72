"""The JSON documents of a checkpoint: each names its format and version, and seals itself.

A byte that changed on the disk can leave a document that is still JSON, with another number in it.
So a document ends with a checksum of all that stands before it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.arguments import shown
from penstock.errors import CheckpointError

WAY_OUT = (
    "If a copy of the checkpoint exists, put the file back from it; otherwise start with a new "
    "checkpoint directory: the query then reads its sources from the beginning."
)
NOT_AS_WRITTEN = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
"""What reading a field raises that is missing, of another type, or beyond what can be."""
_SEAL = re.compile(r',"checksum":"([0-9a-f]{8})"\}\s*\Z')


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of document: its name, the version that is written, and the first that was sealed.

    All sealed versions are read, and the last one that was not, from before the first release.
    """

    name: str
    version: int
    sealed_since: int


def sealed(document: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Write a document with its checksum as the last field.

    >>> sealed({"format": "penstock-example", "version": 2})
    '{"format":"penstock-example","version":2,"checksum":"b4a752ad"}'
    """
    separators = (",", ":") if indent is None else None
    body = json.dumps(document, indent=indent, separators=separators)[:-1].rstrip()
    return f'{body},"checksum":"{_checksum(body)}"}}'


def parse_document(text: str, file: str, form: Form) -> dict[str, Any]:
    """Read a document of a checkpoint, or say what is wrong with the file and the way out."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"'{file}' is cut short or damaged ({error}). {WAY_OUT}") from None
    seal = _SEAL.search(text)
    if seal is not None and seal.group(1) != _checksum(text[: seal.start()]):
        raise _unsealed(file)
    if not isinstance(document, dict) or document.get("format") != form.name:
        raise CheckpointError(
            f"'{file}' was not written by Penstock ({form.name} expected). {WAY_OUT}"
        )
    found = _checked_version(document.get("version"), file, form)
    if (found >= form.sealed_since) != (seal is not None):
        raise _unsealed(file)
    document.pop("checksum", None)
    return document


def _checked_version(found: Any, file: str, form: Form) -> int:
    if type(found) is not int:
        raise CheckpointError(f"'{file}' has the version {shown(found)}, which is none. {WAY_OUT}")
    if found > form.version:
        raise CheckpointError(
            f"'{file}' has version {found} and this Penstock reads version {form.version}: a newer "
            "Penstock wrote it. Install that one (pip install --upgrade penstock), or start with "
            "a copy of the checkpoint from before the upgrade."
        )
    if found < form.sealed_since - 1:
        raise CheckpointError(
            f"'{file}' has version {found} and this Penstock reads versions from "
            f"{form.sealed_since - 1} on: it is from before the first release. Start with a new "
            "checkpoint directory."
        )
    return found


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _unsealed(file: str) -> CheckpointError:
    return CheckpointError(
        f"'{file}' is cut short or damaged (its checksum is not that of its content). {WAY_OUT}"
    )
