from __future__ import annotations

import json

import pytest

from penstock.engine.documents import parse_document, sealed
from penstock.errors import CheckpointError

DOCUMENT = {"format": "penstock-example", "version": 3, "mark": 1700000000, "names": ["a", "b"]}


@pytest.mark.parametrize("indent", [None, 1])
def test_a_sealed_document_is_read_back_without_its_seal(indent: int | None) -> None:
    text = sealed(DOCUMENT, indent=indent)
    assert json.loads(text) | DOCUMENT == json.loads(text)
    assert parse_document(text, "f", "penstock-example", 3) == DOCUMENT


def test_no_bit_of_a_sealed_document_can_change_without_notice() -> None:
    content = sealed(DOCUMENT).encode()
    for at in range(len(content)):
        for bit in range(8):
            changed = content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :]
            with pytest.raises(CheckpointError, match=r"'file\.json'"):
                parse_document(
                    changed.decode("utf-8", "replace"), "file.json", "penstock-example", 3
                )


def test_documents_of_the_version_before_had_no_seal_and_are_read() -> None:
    older = DOCUMENT | {"version": 2}
    assert parse_document(json.dumps(older), "f", "penstock-example", 3) == older
    with pytest.raises(CheckpointError, match="checksum"):
        parse_document(json.dumps(DOCUMENT), "f", "penstock-example", 3)
