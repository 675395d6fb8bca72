"""Every concept page has a figure, and every figure is what its script draws.

Figures hold numbers of real code, so they tell when it changes. A library of another version may
round otherwise in the last digit: shapes and words must be the same, places within a pixel.
"""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "concepts").glob("*.md"))
IMAGES = ROOT / "docs" / "images" / "concepts"
FIGURES = sorted(IMAGES.glob("*.svg"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
PIXEL = 1.0
MOST_BYTES = 60_000
names = pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.stem)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    script = ROOT / "docs" / "figures" / "draw.py"
    command = [sys.executable, str(script), "--to", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_its_figure_before_its_first_section(page: Path) -> None:
    opening = page.read_text(encoding="utf-8").partition("\n## ")[0]
    image = re.search(rf"^!\[(.*)\]\(\.\./images/concepts/{page.stem}\.svg\)$", opening, re.M)
    assert image, f"{page.name} has no figure of its name at its top"
    assert len(image[1].split()) >= 5, "the alternative text says what is to be seen"
    caption = opening[image.end() :].strip().splitlines()[0]
    assert re.fullmatch(r"\*[A-Z0-9].*\.\*", caption), f"{page.name} has no caption: {caption}"
    assert (IMAGES / f"{page.stem}.svg").is_file()


@pytest.mark.slow
def test_no_figure_is_without_a_page(drawn: Path) -> None:
    shown = {page.stem for page in PAGES}
    assert {figure.stem for figure in FIGURES} == shown
    assert {figure.stem for figure in drawn.iterdir()} == shown


@names
def test_a_figure_loads_nothing_and_is_small(figure: Path) -> None:
    text = figure.read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    without_name = text.replace('xmlns="http://www.w3.org/2000/svg"', "", 1)
    assert not re.search(r"https?:|href|url\(|@import|<image|<script|<style", without_name)


@names
def test_a_figure_has_a_title_and_words_within_its_panel(figure: Path) -> None:
    root = ElementTree.parse(figure).getroot()
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    assert root.get("viewBox") == f"0 0 {width:g} {height:g}"
    assert root[0].tag.endswith("title")
    assert root[0].text
    words = [each for each in root if each.tag.endswith("text")]
    assert words
    for each in words:
        left, right = _span(each)
        assert left >= 0, each.text
        assert right <= width, each.text
        assert 0 < float(each.get("y", "0")) <= height - 4, each.text
        assert float(each.get("font-size", "14")) >= 12, each.text


def _span(text: ElementTree.Element) -> tuple[float, float]:
    """Say between where words lie, at six tenths of a font's size a letter, which is much."""
    size = float(text.get("font-size", "14"))
    width = 0.6 * size * len(text.text or "")
    x = float(text.get("x", "0"))
    return {
        "middle": (x - width / 2, x + width / 2),
        "end": (x - width, x),
        "start": (x, x + width),
    }[text.get("text-anchor", "start")]


@pytest.mark.slow
@names
def test_a_figure_is_what_its_script_draws(figure: Path, drawn: Path) -> None:
    kept = figure.read_text(encoding="utf-8")
    again = (drawn / figure.name).read_text(encoding="utf-8")
    assert re.findall("<text.*", _unplaced(again)) == re.findall("<text.*", _unplaced(kept))
    assert _unplaced(again) == _unplaced(kept), "its shapes are others: run make figures"
    pairs = zip(_places(kept), _places(again), strict=True)
    assert all(abs(one - other) <= PIXEL for one, other in pairs), "run make figures"


def _unplaced(svg: str) -> str:
    """Leave out where things are, and keep what they are: shapes, colours and words."""
    return re.sub(r'="[-\d., ]+"', lambda found: NUMBER.sub("n", found[0]), svg)


def _places(svg: str) -> list[float]:
    places = re.findall(r'="([-\d., ]+)"', svg)
    return [float(number) for each in places for number in NUMBER.findall(each)]
