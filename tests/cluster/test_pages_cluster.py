from __future__ import annotations

from pathlib import Path

import pytest
from jobs import Jobs

from documentation.blocks import DOCS, ROOT, pages_that_need

JOB = Path(__file__).with_name("pages_job.py")
STANDALONE = DOCS / "how-to" / "standalone.md"


@pytest.mark.cluster
def test_code_that_needs_a_cluster_runs_on_one(jobs: Jobs, tmp_path: Path) -> None:
    # That page makes the session; no cluster manager but Spark's own is here for the others.
    pages = [STANDALONE, *(page for page in pages_that_need("a cluster") if page != STANDALONE)]
    named = [str(page.relative_to(ROOT)) for page in pages]
    told = jobs.run_alone(JOB, tmp_path, *named, within_seconds=600)
    started = {Path(page).stem: ran["rows"] for page, ran in told.items() if "rows" in ran}
    assert started == dict.fromkeys(["standalone", "slots", "kubernetes", "yarn"], 100)
    assert all(ran["blocks"] > 0 for ran in told.values())
    assert set(told) == set(named)
