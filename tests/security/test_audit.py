"""The audit of dependencies fails for what it finds, and says when it could find nothing."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    path = Path(__file__).parents[2] / ".ci" / "audit_dependencies.py"
    spec = importlib.util.spec_from_file_location("audit_dependencies", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report(*packages: dict[str, object]) -> str:
    return json.dumps({"dependencies": packages})


SOUND = {"name": "a", "version": "1", "vulns": []}
SICK = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "c", "skip_reason": "not found"}


def test_all_that_penstock_runs_with_is_audited_and_nothing_else(audit: ModuleType) -> None:
    found = audit.needed("penstock")
    assert {"pyspark", "py4j", "nicegui", "starlette", "pyyaml", "numpy"} <= set(found)
    assert not {"penstock", "pytest", "ruff", "mkdocs", "bandit"} & set(found)


def test_a_vulnerability_fails(audit: ModuleType) -> None:
    code, lines = audit.judge(report(SOUND, SICK, UNKNOWN), "", 3)
    assert code == 1
    assert lines == ["b 2: PYSEC-1, mended in 3", "NOT AUDITED, of 3 packages: c."]


def test_one_that_was_accepted_does_not(audit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(audit.ACCEPTED, "PYSEC-1", "never called")
    code, lines = audit.judge(report(SICK), "", 1)
    assert code == 0
    assert lines[0] == "b 2: PYSEC-1, accepted: never called"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (report(UNKNOWN), "NOT AUDITED: the vulnerability service knows none of the 1 packages."),
        ("", "NOT AUDITED: the vulnerability service can't be reached (no route)."),
    ],
)
def test_where_nothing_could_be_asked_it_says_so(audit: ModuleType, told: str, said: str) -> None:
    assert audit.judge(told, "x\nno route\n", 1) == (0, [said])


def test_all_is_well(audit: ModuleType) -> None:
    said = "1 packages that Penstock runs with have no known vulnerability."
    assert audit.judge(report(SOUND), "", 1) == (0, [said])
