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


def known(some: int, count: int) -> str:
    unknown = count - some
    return (
        f"{some} of {count} packages were known to the vulnerability service, {unknown} were not."
    )


def test_a_vulnerability_fails(audit: ModuleType) -> None:
    code, lines = audit.judge(report(SOUND, SICK, UNKNOWN), "", 3)
    assert code == 1
    assert lines == [known(2, 3), "b 2: PYSEC-1, mended in 3", "NOT AUDITED: c."]


def test_one_that_was_accepted_does_not(audit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(audit.ACCEPTED, "PYSEC-1", "never called")
    code, lines = audit.judge(report(SICK), "", 1)
    assert code == 0
    assert lines == [known(1, 1), "b 2: PYSEC-1, accepted: never called"]


def test_where_nothing_is_known_it_says_so(audit: ModuleType) -> None:
    said = [known(0, 1), "NOT AUDITED: nothing is known of any of them, so this says nothing."]
    assert audit.judge(report(UNKNOWN), "", 1) == (0, said)


REFUSED = "requests.exceptions.ProxyError: HTTPSConnectionPool(host='index.example', port=443): Max"


@pytest.mark.parametrize(
    ("complaint", "why"),
    [
        (f"Traceback ...\n  File ...\n{REFUSED}\n", REFUSED),
        (
            "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed\n"
            "ERROR:pip_audit._cli:Tip: your network may be blocking this service.\n",
            "Could not connect to PyPI's vulnerability feed",
        ),
        ("no answer within 300 seconds", "no answer within 300 seconds"),
    ],
)
def test_a_service_that_can_not_be_reached_fails_nothing(
    audit: ModuleType, complaint: str, why: str
) -> None:
    said = f"NOT AUDITED: the vulnerability service can't be reached ({why})."
    assert audit.judge("", complaint, 1) == (0, [said])


@pytest.mark.parametrize(
    ("told", "complaint", "why"),
    [
        ("", "/bin/python: No module named pip_audit\n", "No module named pip_audit"),
        ("", "Traceback ...\nValueError: no such thing\n", "ValueError: no such thing"),
        ("", "", "it said nothing"),
        ("{}", "", "it said nothing"),
        (report(SOUND), "", "asked for 2 packages and told of 1"),
    ],
)
def test_an_audit_that_breaks_fails(audit: ModuleType, told: str, complaint: str, why: str) -> None:
    code, (line,) = audit.judge(told, complaint, 2)
    assert code == 1
    assert line.startswith("FAILED")
    assert why in line


def test_without_pip_audit_it_fails(audit: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit.sys, "executable", "/usr/bin/false")
    code, lines = audit.judge(*audit.ask({"a": "1"}), 1)
    assert (code, lines) == (1, ["FAILED, nothing was audited: it said nothing"])


def test_all_is_well(audit: ModuleType) -> None:
    said = "1 packages that Penstock runs with have no known vulnerability."
    assert audit.judge(report(SOUND), "", 1) == (0, [known(1, 1), said])
