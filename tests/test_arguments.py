from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from penstock.arguments import checked
from penstock.errors import ArgumentError

# What NumPy's own name for an array is from 2.5 on.
Numbers = TypeAliasType("Numbers", NDArray[np.float64])


@checked
def total(of: Numbers | None) -> float:
    return 0.0 if of is None else float(of.sum())


@pytest.mark.parametrize("wrong", [3, [1.0], np.array(["a"]), "x"])
def test_a_type_with_a_name_of_its_own_is_what_it_stands_for(wrong: Any) -> None:
    assert total(np.array([1.0, 2.0])) == 3.0
    with pytest.raises(ArgumentError, match="Write a NumPy array of numbers or None"):
        total(wrong)
