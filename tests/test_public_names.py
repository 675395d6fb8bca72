from __future__ import annotations

import subprocess
import sys

import pytest

import penstock as ps
from penstock import catalogue


@pytest.mark.parametrize("name", catalogue.__all__)
def test_a_public_name_is_the_same_each_time_it_is_asked_for(name: str) -> None:
    assert getattr(ps, name) is getattr(ps, name) is getattr(catalogue, name)


def test_no_module_stands_in_the_place_of_a_function() -> None:
    # In a process of its own: once all is loaded, nothing is looked up for the first time.
    code = (
        "import types, penstock as ps\n"
        "names = [n for n in dir(ps) if not n.startswith('_')]\n"
        "for n in names: getattr(ps, n)\n"
        "print(sorted(n for n in names if isinstance(getattr(ps, n), types.ModuleType)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['sinks', 'sources']"
