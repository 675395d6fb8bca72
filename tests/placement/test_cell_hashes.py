from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import penstock
from penstock.placement import cell_hashes
from penstock.placement.cell_hashes import BLOCK_KEYS, COMPILED_FROM_KEYS, PRIME, CellHashes

keys_64 = st.integers(0, 2**64 - 1)
EDGES = [0, 1, PRIME - 1, PRIME, PRIME + 1, 2**63 - 1, 2**63, 2**64 - 9, 2**64 - 1]


def by_hand(hashes: CellHashes, key: int) -> list[int]:
    """Return the cells with Python's integers, which know no limit."""
    number = key - 2**64 if key >= 2**63 else key
    a, b = cell_hashes._factors(hashes.seed, hashes.rows)
    cells = []
    for row in range(hashes.rows):
        assert (1 <= a[row] < PRIME, b[row] < PRIME) == (True, True)
        cells.append((int(a[row]) * number + int(b[row])) % PRIME % hashes.columns)
    return cells


@given(st.lists(keys_64, max_size=50), st.integers(1, 5), st.integers(1, 3000), st.integers())
@example(EDGES, 4, 55, 0)
@example(EDGES, 1, 1, -1)
def test_cells_are_those_of_the_formula(
    keys: list[int], rows: int, columns: int, seed: int
) -> None:
    hashes = CellHashes(rows, columns, seed)
    cells = hashes.cells(np.array(keys, np.uint64))
    assert cells.shape == (rows, len(keys))
    assert cells.T.tolist() == [by_hand(hashes, key) for key in keys]
    assert [list(hashes.cells_of(key)) for key in keys] == cells.T.tolist()


@pytest.mark.parametrize("multiplier", [1, 2**31 - 1, 2**31, PRIME - 1])
@pytest.mark.parametrize("offset", [0, PRIME - 1])
def test_the_largest_factors_stay_within_64_bits(multiplier: int, offset: int) -> None:
    with np.errstate(over="raise"):
        numbers = cell_hashes._reduced(np.array(EDGES, np.uint64))
        cells = cell_hashes._cell(
            numbers, np.uint64(multiplier), np.uint64(offset), np.uint64(PRIME)
        )
    for key, cell in zip(EDGES, cells.tolist(), strict=True):
        signed = key - 2**64 if key >= 2**63 else key
        assert cell == (multiplier * signed + offset) % PRIME


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([1, 2, 55, 2719]))
def test_compiled_and_plain_cells_are_the_same(seed: int, rows: int, columns: int) -> None:
    dice = np.random.default_rng(seed)
    keys = np.concatenate(
        [np.array(EDGES, np.uint64), dice.integers(0, 2**64, 20_000, dtype=np.uint64)]
    )
    hashes = CellHashes(rows, columns, seed)
    plain = hashes.cells(keys)
    kernel = cell_hashes._compiled()
    assert kernel is not None
    a, b = cell_hashes._factors(seed, rows)
    compiled = np.empty_like(plain)
    kernel(keys, a, b, np.uint64(columns), compiled)
    assert (compiled == plain).all()


def test_many_keys_have_the_cells_that_few_have() -> None:
    keys = np.arange(COMPILED_FROM_KEYS + BLOCK_KEYS // 3, dtype=np.uint64)
    hashes = CellHashes(3, 100, 5)
    whole = hashes.cells(keys)
    for part in np.split(np.arange(len(keys)), [10_000, 100_000, 150_001]):
        assert (hashes.cells(keys[part]) == whole[:, part]).all()
    keys.flags.writeable = False
    assert (hashes.cells(keys[::-1]) == whole[:, ::-1]).all()


def test_rows_and_seeds_have_functions_of_their_own() -> None:
    multipliers, offsets = cell_hashes._factors(3, 20)
    assert len(np.unique(multipliers)) == len(np.unique(offsets)) == 20
    keys = np.arange(1000, dtype=np.uint64)
    rows = [*CellHashes(4, 1000, 0).cells(keys), *CellHashes(4, 1000, 1).cells(keys)]
    for number, row in enumerate(rows):
        for other in rows[:number]:
            assert (row == other).mean() < 0.02


def test_two_keys_share_a_cell_as_rarely_as_promised() -> None:
    """2-universal: over the functions, at most 1 in c; here 4,000 functions and c = 20."""
    for pair in ([1, 2], [-1, 7], [0, 2**63]):
        keys = (
            np.array(pair, np.int64).astype(np.uint64)
            if pair[1] < 2**63
            else np.array(pair, np.uint64)
        )
        shared = sum(
            int((cells[:, 0] == cells[:, 1]).sum())
            for cells in (CellHashes(20, 20, seed).cells(keys) for seed in range(200))
        )
        # Mean 200, standard deviation 14.
        assert shared < 270


def test_few_keys_never_import_numba() -> None:
    code = (
        "import sys, numpy as np\n"
        "from penstock.placement.cost_sketch import CostSketch\n"
        f"keys = np.arange({COMPILED_FROM_KEYS} - 1, dtype=np.uint64)\n"
        "sketch = CostSketch(); sketch.update(keys, keys * 0.5); sketch.estimate(keys)\n"
        "print(sorted({'numba', 'pandas', 'pyspark'} & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_it_compiles_where_nothing_can_be_written(tmp_path: Path) -> None:
    """In a zip, with a file where the directory for compiled code would be."""
    archive = tmp_path / "penstock.zip"
    package = Path(penstock.__file__).parent
    with zipfile.ZipFile(archive, "w") as packed:
        for name in ("__init__.py", "placement/__init__.py", "placement/cell_hashes.py"):
            text = (package / name).read_text() if name.startswith("placement") else ""
            packed.writestr(f"penstock/{name}", text)
    code = (
        "import numpy as np\n"
        "from penstock.placement import cell_hashes\n"
        "assert '.zip' in cell_hashes.__file__\n"
        "kernel = cell_hashes._compiled()\n"
        "assert kernel is not None, 'compiled'\n"
        "assert kernel.stats.cache_path is None, kernel.stats\n"
        f"keys = np.arange({COMPILED_FROM_KEYS}, dtype=np.uint64)\n"
        "print(cell_hashes.CellHashes(2, 9, 0).cells(keys)[:, -3:].tolist())"
    )
    no_directory = {"HOME": str(archive), "XDG_CACHE_HOME": str(archive)}
    environment = {**os.environ, **no_directory, "PYTHONPATH": str(archive)}
    environment.pop("NUMBA_CACHE_DIR", None)
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    keys = np.arange(COMPILED_FROM_KEYS - 3, COMPILED_FROM_KEYS, dtype=np.uint64)
    assert answer.stdout.strip() == str(CellHashes(2, 9, 0).cells(keys).tolist())


def test_without_numba_numpy_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = np.arange(COMPILED_FROM_KEYS, dtype=np.uint64)
    expected = CellHashes(2, 9, 0).cells(keys)
    cell_hashes._compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    assert cell_hashes._compiled() is None
    assert (CellHashes(2, 9, 0).cells(keys) == expected).all()
    cell_hashes._compiled.cache_clear()
