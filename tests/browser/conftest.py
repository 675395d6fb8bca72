"""A real headless Chromium, dashboards in processes of their own, and one real run to look at."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from browser.job import Made, run_job
from browser.looking import Look
from dashboard.processes import Running, dashboard
from lacking import lacking

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip
TOKEN = "a-token-of-some-length"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, started once."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("Playwright is missing: pip install 'penstock[browser-tests]'")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        lacking("there is no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def look(chromium: Any) -> Iterator[Callable[..., Look]]:
    """Return what opens a fresh browser on an address, and checks it at the end of the test."""
    opened: list[Look] = []

    def open_at(address: str, *, width: int = 1280, is_dark: bool = False, **options: Any) -> Look:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if is_dark else "light",
            **options,
        )
        opened.append(Look(context, address))
        return opened[-1]

    yield open_at
    try:
        for each in opened:
            each.check()
    finally:
        for each in opened:
            each.context.close()


@pytest.fixture(scope="session")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The journal of a real run on Spark."""
    from pyspark import cloudpickle

    from browser import job

    cloudpickle.register_pickle_by_value(job)
    try:
        return run_job(spark, tmp_path_factory.mktemp("browsed"))
    finally:
        cloudpickle.unregister_pickle_by_value(job)


@pytest.fixture(scope="session")
def site(made: Made) -> Iterator[Running]:
    """A dashboard of that journal."""
    with dashboard(made.checkpoint) as running:
        yield running
