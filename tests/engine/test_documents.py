from __future__ import annotations

import json
from dataclasses import replace

import pytest

from penstock.engine.documents import Form, parse_document, sealed
from penstock.errors import CheckpointError

FORM = Form("penstock-example", version=3, sealed_since=3)
DOCUMENT = {"format": "penstock-example", "version": 3, "mark": 1700000000, "names": ["a", "b"]}


@pytest.mark.parametrize("indent", [None, 1])
def test_a_sealed_document_is_read_back_without_its_seal(indent: int | None) -> None:
    text = sealed(DOCUMENT, indent=indent)
    assert json.loads(text) | DOCUMENT == json.loads(text)
    assert parse_document(text, "f", FORM) == DOCUMENT


def test_no_bit_of_a_sealed_document_can_change_without_notice() -> None:
    content = sealed(DOCUMENT).encode()
    for at in range(len(content)):
        for bit in range(8):
            changed = content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :]
            with pytest.raises(CheckpointError, match=r"'file\.json'"):
                parse_document(changed.decode("utf-8", "replace"), "file.json", FORM)


@pytest.mark.parametrize("newest", [3, 4, 9])
def test_documents_from_before_there_were_seals_are_read_without_one(newest: int) -> None:
    form = replace(FORM, version=newest)
    older = DOCUMENT | {"version": 2}
    assert parse_document(json.dumps(older), "f", form) == older
    with pytest.raises(CheckpointError, match="checksum"):
        parse_document(json.dumps(DOCUMENT), "f", form)
    with pytest.raises(CheckpointError, match="before the first release"):
        parse_document(json.dumps(DOCUMENT | {"version": 1}), "f", form)


@pytest.mark.parametrize("newest", [3, 4, 9])
def test_sealed_documents_of_any_earlier_version_are_read(newest: int) -> None:
    form = replace(FORM, version=newest)
    assert parse_document(sealed(DOCUMENT), "f", form) == DOCUMENT
    with pytest.raises(CheckpointError, match="checksum"):
        parse_document(sealed(DOCUMENT | {"version": 2}), "f", form)
