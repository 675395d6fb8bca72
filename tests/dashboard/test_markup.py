from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dashboard.journals import EVIL
from dashboard.reading import read_html
from penstock.dashboard.markup import (
    Safe,
    Tile,
    element,
    joined,
    notice,
    table,
    text,
    tiles,
)

# A parser of HTML reads these as line ends or replaces them; they are no matter of escaping.
words = st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=30)


@given(words)
def test_any_text_comes_out_as_itself(said: str) -> None:
    found = read_html(element("p", said, title=said))
    assert found.tags == ["p"]
    assert found.text == said
    assert found.attributes == [("title", said)]


def test_only_what_was_made_here_is_not_escaped_again() -> None:
    made = element("b", EVIL)
    assert isinstance(made, Safe)
    assert text(made) == made
    assert joined((made, EVIL)) == f"{made}{text(EVIL)}"
    # Put together as plain text it is no longer known to be safe.
    assert text(made + "!") != made + "!"


@given(words, words)
def test_everything_that_is_laid_out_shows_any_text(one: str, other: str) -> None:
    made = joined(
        (
            tiles([Tile(one, other, one, "bad")]),
            table(one, (one, other), [(other, one), (1, Safe("<b>ours</b>"))]),
            table(one, (one,), [], empty=other),
            notice(one, other),
        )
    )
    found = read_html(made)
    assert set(found.tags) <= {"b", "caption", "dd", "div", "dl", "dt", "p", "span", "strong",
                               "table", "tbody", "td", "th", "thead", "tr"}  # fmt: skip
    assert found.tables == [[[one, other], [other, one], ["1", "ours"]]]


def test_a_table_can_be_read_aloud_and_scrolled_by_keyboard() -> None:
    found = read_html(table("Runs", ("name", "rows"), [("a", 1)]))
    assert found.tags.count("caption") == 1
    assert found.attributes.count(("scope", "col")) == 2
    assert ("tabindex", "0") in found.attributes
    assert ("role", "region") in found.attributes


def test_an_attribute_that_is_none_is_left_out() -> None:
    assert element("a", "x", aria_current=None, class_="y") == '<a class="y">x</a>'


def test_a_text_that_nobody_would_read_to_its_end_is_cut() -> None:
    found = read_html(element("p", "<" * 6_000)).text
    assert found.startswith("<" * 5_000 + "… (1,000 more letters")
