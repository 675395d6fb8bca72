"""Pages of the documentation whose code needs a cluster, in one application. Not a test."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

sys.path.append(str(Path(__file__).parents[1]))

from documentation.blocks import ROOT
from documentation.page_python import Ran, run_page

WAIT_SECONDS = 120


def main(master: str, where: str, *pages: str) -> None:
    """Run pages; the first makes the session that the others take."""
    told = {page: what_came(run(ROOT / page, Path(where), master)) for page in pages}
    SparkSession.active().stop()
    print(json.dumps(told))


def run(page: Path, where: Path, master: str) -> Ran:
    """Run a page in a directory of its own, with the cluster there is."""
    folder = where / page.stem
    folder.mkdir()
    places = {
        "spark://master:7077": master,
        "4g": "512m",
        "hdfs:///": f"{folder}/hdfs/",
        "/data/": f"{folder}/data/",
        "/var/log/": f"{folder}/log/",
    }
    return run_page(page, folder, "a cluster", places)


def what_came(ran: Ran) -> dict[str, Any]:
    """Wait for the rows of the query that a page started, if it did; stop it."""
    query, sink = ran.names.get("query"), ran.names.get("sink")
    if query is None:
        return {"blocks": ran.blocks}
    deadline = time.monotonic() + WAIT_SECONDS
    while len(sink.rows()) < 100 and query.is_active and time.monotonic() < deadline:
        time.sleep(0.1)
    query.stop()
    return {"blocks": ran.blocks, "rows": len(sink.rows())}


if __name__ == "__main__":
    main(*sys.argv[1:])
