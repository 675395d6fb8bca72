"""Takes the pictures of the dashboard: the demo's job runs on local Spark, and Chromium looks on.

``make picture`` runs it. What is seen is what a run showed: nothing is drawn by hand, only cropped
and reduced to fewer colours.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from penstock.cli.run_demo import JAVA_OPTIONS, MEMORY, quiet_spark
from penstock.demo import Load, start
from penstock.engine.query import Query

IMAGES = Path(__file__).parent / "images"
MOST_BYTES = 300_000
WIDTH = 1280
PATIENCE_SECONDS = 420.0
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Picture:
    """One page, in one theme, down to the bottom of a section; ``height`` is in pixels at most."""

    name: str
    path: str
    is_dark: bool = False
    height: int = 900
    scale: float = 1.0


PICTURES = (
    Picture("dashboard.png", "/", height=1090),
    Picture("dashboard-dark.png", "/", is_dark=True, height=1090),
    Picture("dashboard-topology.png", "/topology", height=760),
    Picture("dashboard-decisions.png", "/decisions", height=900),
    Picture("dashboard-placement.png", "/placement", height=860),
    Picture("dashboard-preference.png", "/preference", height=760),
)


def main(keep_in: Path | None = None) -> None:
    """Run the demo, and take every picture while it runs; its checkpoint can be kept."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("There is no Chromium. On Debian or Ubuntu: apt-get install chromium")
    load = Load(seconds=90)
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        out = Path(directory) / "demo"
        out.mkdir()
        settings = {
            "spark.driver.memory": MEMORY,
            "spark.driver.extraJavaOptions": JAVA_OPTIONS,
            "spark.sql.shuffle.partitions": "8",
        }
        with quiet_spark("penstock-demo", "local[8]", settings, log=out / "spark.log") as spark:
            query = start(spark, load, out, dashboard=True)
            try:
                # Late enough for decisions to have been seen through, while it still runs.
                wait_until(lambda: rows_of(query) >= 0.9 * load.trace.rows)
                for picture in PICTURES:
                    take(browser, str(query.dashboard_address), picture)
            finally:
                query.stop()
            if keep_in is not None:
                shutil.copytree(out / "checkpoint", keep_in)
        browser.close()


def rows_of(query: Query) -> int:
    """Count the rows that were taken so far."""
    from penstock.history.journal_history import JournalHistory

    history = JournalHistory(Path(query.journal_dir))
    history.refresh()
    history.close()
    return history.queries[0].total_rows


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for the run to have come far enough."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if not time.monotonic() < ends:
            sys.exit(f"The demo did not come far enough within {PATIENCE_SECONDS:.0f} seconds.")
        time.sleep(1.0)


def take(browser: Browser, address: str, picture: Picture) -> None:
    """Open a page and keep what is seen of it."""
    page = browser.new_page(
        viewport={"width": WIDTH, "height": 1600},
        color_scheme="dark" if picture.is_dark else "light",
    )
    page.goto(f"{address}{picture.path}", wait_until="load")
    page.wait_for_selector(".sections > *")
    page.wait_for_timeout(2_500)
    bottom = page.evaluate(
        "most => Math.max(...[...document.querySelectorAll('.section')]"
        ".map(each => each.getBoundingClientRect().bottom + 14).filter(y => y <= most), 400)",
        picture.height,
    )
    shot = page.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": float(bottom)})
    page.close()
    keep(shot, IMAGES / picture.name)


def keep(shot: bytes, path: Path) -> None:
    """Write a picture with as many colours as its size allows."""
    image: Any = Image.open(io.BytesIO(shot)).convert("RGB")
    for colours in (256, 128, 64, 32):
        written = io.BytesIO()
        image.quantize(colours, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
        if written.tell() <= MOST_BYTES:
            break
    path.write_bytes(written.getvalue())
    size = f"{image.width} x {image.height}, {written.tell() / 1000:.0f} kB"
    sys.stdout.write(f"{path.name}: {size}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
