"""Documents of a checkpoint as somebody else might have written them."""

from __future__ import annotations

import json

from penstock.engine.documents import sealed


def resealed(text: str, **changes: object) -> str:
    """Change fields of a document, and seal it as if it had always been so."""
    document = json.loads(text)
    document.pop("checksum")
    return sealed(document | changes)
