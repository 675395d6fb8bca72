"""Arguments that nobody should give, and some that only look wrong."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st


class _Opaque:
    """Something that no signature names; its text is the same in every run."""

    def __repr__(self) -> str:
        return "an opaque object"


def takes_nothing() -> None:
    """Take no argument: wrong wherever a function of rows is asked for."""


WRONG_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    2**63,
    10**400,
    0.5,
    -0.5,
    1e308,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    " ",
    "\x00",
    "a",
    "ts",
    "no_such_column",
    "a b",
    "`a`.b",
    "a, b",
    "'; DROP TABLE users; --",
    "sum(a) OVER (",
    "{0} %s %d",
    "naïve ☃ \U0001f600",
    "\ud800",
    "../../..",
    "/dev/null/inside",
    "x" * 5_000,
    "-5 seconds",
    "1 month",
    "9" * 400 + " weeks",
    "a bigint",
    "a bigint, a bigint",
    b"bytes",
    (),
    [],
    {},
    set(),
    [None],
    ["a", 3],
    ["a", "a"],
    [["a"]],
    ("a", "b", "c"),
    (float("nan"), -1),
    {"a": None},
    {None: "a"},
    {"a": {"b": [1]}},
    {1: 2},
    _Opaque(),
    object,
    ValueError("an exception"),
    takes_nothing,
    3 + 4j,
    Decimal("NaN"),
    timedelta(days=-1),
    timedelta.max,
    datetime(1, 1, 1),
    datetime.max,
    np.float64("nan"),
    np.int64(3),
    np.array([1.0, 2.0]),
    np.array([], dtype=object),
    pd.DataFrame({"a": [1, 2]}),
    pa.table({"a": [1]}),
    range(3),
)

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=8)
    | st.timedeltas()
    | st.datetimes()
    | st.decimals()
)
_NESTED = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3)
    ),
    max_leaves=5,
)

wrong_values: st.SearchStrategy[Any] = st.sampled_from(WRONG_VALUES) | _NESTED
