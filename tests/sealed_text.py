"""Documents of a checkpoint that somebody changed on purpose, and sealed again."""

from __future__ import annotations

import json

from penstock.engine.documents import sealed


def sealed_text(document: object) -> str:
    """Return a document as a file holds it, with the checksum of what it says now.

    Without that, its checksum would be all that a reader finds wrong.
    """
    if not isinstance(document, dict) or not document:
        return json.dumps(document)
    return sealed({name: value for name, value in document.items() if name != "checksum"})
