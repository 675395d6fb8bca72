"""A checkpoint as the engine writes it, but without Spark: records, offsets and a journal.

Its windows and keys have no files, which ``penstock inspect`` tells.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.engine.checkpoint import FORM
from penstock.engine.commit_log import CommitRecord
from penstock.engine.keyed_state import KeyedState
from penstock.engine.state_manifest import Manifest, StateFile
from penstock.engine.window_state import WindowState
from penstock.topology.compatibility import Fingerprint
from penstock.windows.segments import Segment
from sealed_text import sealed_text

QUERY_ID = "31162e59-973b-4ce2-be5d-422b24b31f2a"
JOURNAL = Path(__file__).parents[1] / "journal" / "schema-1.jsonl"


def identity() -> dict[str, Any]:
    """Return what ``query.json`` says."""
    states = {"sums_partials": {"windows": "10 seconds"}, "totals": {"groups": "4"}}
    fingerprint = Fingerprint(("rows",), {"rows": "ts"}, states)
    return {
        "format": FORM.name,
        "version": FORM.version,
        "query_id": QUERY_ID,
        "fingerprint": fingerprint.to_json(),
    }


def record() -> dict[str, Any]:
    """Return the newest commit record, with something in each of its parts."""
    fresh = KeyedState.fresh(4, 2)
    files = Manifest((StateFile("000000000001-0-7.arrow", 900, (0, 2), (1, 1)),))
    made = CommitRecord(
        query_id=QUERY_ID,
        batch_id=1,
        committed_at_seconds=1_767_225_600.5,
        decision=ps.Decision(2, "as many as there are", {"sums": 2}),
        marks={"rows": ps.Mark(1_000_000, 2_000_000, 5, {"rate": 0.5}, 1_767_225_600.0)},
        lows={"sums": 1_000_000, "totals": None},
        windows={"sums_partials": WindowState((Segment("1", 3, 5, 1, 1, True, 7, 800, 0),), 3)},
        placement={"sums": {"state": {"tasks": 2}, "hot": []}},
        keyed={"totals": KeyedState(fresh.groups, files, (None, 5, None, None))},
        policy=ps.Incremental().save(),
        admission={"rate": 5.0},
        plan={"homes": {"sums": "sums", "totals": "sums"}},
    )
    document: dict[str, Any] = json.loads(made.to_json())
    return document


def write_checkpoint(directory: Path) -> Path:
    """Write it all."""
    for folder in ("commits", "journal", "spark/offsets", "spark/commits"):
        (directory / folder).mkdir(parents=True)
    (directory / "query.json").write_text(sealed_text(identity()))
    (directory / "spark" / "metadata").write_text(json.dumps({"id": QUERY_ID}))
    for batch in (0, 1):
        text = sealed_text({**record(), "batch_id": batch})
        (directory / "commits" / f"{batch:012d}.json").write_text(text)
        (directory / "spark" / "offsets" / str(batch)).write_text("v1\n{}\n")
    shutil.copy(JOURNAL, directory / "journal" / "journal-00000000.jsonl")
    return directory
