from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from penstock.errors import ConfigurationError
from penstock.reproduction.papers import PAPERS, reproduce
from penstock.reproduction.result import Reproduce


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_is_there_and_is_asked_alike(paper: str) -> None:
    run: Reproduce = import_module(f"penstock.reproduction.{paper}").reproduce
    assert list(signature(run).parameters) == ["data", "quick", "progress"]


def test_a_paper_that_nobody_knows() -> None:
    with pytest.raises(ConfigurationError, match=r"no paper 'dbas'\. Write one of: posg, dabs, "):
        reproduce("dbas", data=None, quick=True, progress=lambda what, share: None)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no folder .*gone\. Give the folder of traces"):
        reproduce("ppq", data=tmp_path / "gone", quick=True, progress=lambda what, share: None)
