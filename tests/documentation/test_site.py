"""The documentation as a site: built with warnings as errors, and from this machine alone."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from documentation.blocks import ROOT
from penstock import catalogue, journal, sinks, sources, testing

# What a browser fetches by itself; a link that somebody must click is not among it.
FETCHED = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "use": ("href", "xlink:href"),
}
ELSEWHERE = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLES = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Fetches(HTMLParser):
    """Gathers what a page fetches from another host."""

    def __init__(self) -> None:
        super().__init__()
        self.elsewhere: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") in ("canonical", "prev", "next", "alternate"):
            return
        fetched = [given.get(name) or "" for name in FETCHED.get(tag, ())]
        fetched += [found[0] for found in IN_STYLES.findall(given.get("style") or "")]
        self.elsewhere += [address for address in fetched if ELSEWHERE.match(address)]


def fetched_elsewhere(file: Path) -> list[str]:
    text = file.read_text()
    if file.suffix == ".html":
        page = Fetches()
        page.feed(text)
        text = "\n".join(re.findall(r"<style.*?</style>", text, re.DOTALL))
        found = page.elsewhere
    else:
        found = []
    styles = [first or second for first, second in IN_STYLES.findall(text)]
    return found + [address for address in styles if ELSEWHERE.match(address)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def anchors(site: Path) -> set[str]:
    return set(re.findall(r'id="([^"]+)"', (site / "reference.html").read_text()))


def test_the_site_is_built_without_a_warning(site: Path) -> None:
    for page in ("index", "tutorial", "how-it-works", "limits", "how-to/kafka", "concepts/windows"):
        assert (site / f"{page}.html").exists()


def test_nothing_is_fetched_from_another_host(site: Path) -> None:
    files = [*site.rglob("*.html"), *site.rglob("*.css"), *site.rglob("*.svg")]
    assert len(files) > 50
    found = {str(file.relative_to(site)): fetched_elsewhere(file) for file in files}
    assert {name: addresses for name, addresses in found.items() if addresses} == {}


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example.com/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.com/a.css">',
        '<img src="http://example.com/a.png">',
        "<style>body { background: url('https://example.com/a.png') }</style>",
        '<style>@import "https://example.com/a.css";</style>',
        '<p style="background: url(//example.com/a.png)">',
    ],
)
def test_a_fetch_from_another_host_would_be_found(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(text)
    assert fetched_elsewhere(page)


def test_every_public_name_is_in_the_reference(anchors: set[str]) -> None:
    missing = []
    for module in (catalogue, journal, sinks, sources, testing):
        for name in module.__all__:
            shown = getattr(module, name)
            # Modules have a section; constants and type aliases are in its text.
            if inspect.isclass(shown) or inspect.isfunction(shown):
                places = {f"{module.__name__}.{name}", f"{shown.__module__}.{name}"}
                missing += [] if places & anchors else [f"{module.__name__}.{name}"]
    assert missing == []


def test_examples_of_docstrings_are_shown_as_code(site: Path) -> None:
    page = (site / "reference.html").read_text()
    assert "&gt;&gt;&gt;" in page
    assert "<blockquote>" not in page
    assert ":func:" not in page
