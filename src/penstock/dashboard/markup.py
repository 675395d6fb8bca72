"""The only place where HTML is put together: whatever it is given comes out as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

MOST_LETTERS = 5_000
# On a phone a row is as high as it has columns: of a long table this many are shown at first.
FEW_ROWS = 15
LONG_ROWS = 20


class Safe(str):
    """HTML that was made here, out of escaped parts."""

    __slots__ = ()


def text(value: object) -> Safe:
    """Return anything as it may stand in HTML, also between quotes; what is safe stays as it is.

    >>> text('<img src="x">')
    '&lt;img src=&quot;x&quot;&gt;'
    """
    if isinstance(value, Safe):
        return value
    said = str(value)
    if len(said) > MOST_LETTERS:
        said = (
            f"{said[:MOST_LETTERS]}… ({len(said) - MOST_LETTERS:,} more letters are in the journal)"
        )
    return Safe(escape(said, quote=True))


def element(tag: str, content: object = "", **attributes: object) -> Safe:
    """Return an element; underscores in attributes' names become hyphens, ``class_`` is class.

    >>> element("span", "a < b", class_="soft", aria_label='"x"')
    '<span class="soft" aria-label="&quot;x&quot;">a &lt; b</span>'
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Safe(f"<{tag}{written}>{text(content)}</{tag}>")


def joined(parts: Iterable[object]) -> Safe:
    """Return parts one after the other."""
    return Safe("".join(text(part) for part in parts))


@dataclass(frozen=True, slots=True)
class Tile:
    """One number that people look for: what it is, how much, and a word about it."""

    label: str
    value: str
    about: str = ""
    tone: str = ""


def tiles(them: Sequence[Tile]) -> Safe:
    """Lay numbers out as a list of descriptions."""
    made = (
        element(
            "div",
            joined(
                (
                    element("dt", each.label),
                    element("dd", each.value, class_=f"value {each.tone}".strip()),
                    element("dd", each.about, class_="about") if each.about else "",
                )
            ),
            class_="tile",
        )
        for each in them
    )
    return element("dl", joined(made), class_="tiles" if len(them) % 3 else "tiles by-three")


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    words: Sequence[int] = (0,),
    empty: str = "Nothing yet.",
) -> Safe:
    """Lay out a table; the columns in ``words`` are text, the others numbers."""
    if not rows:
        return element("p", empty, class_="empty")
    kinds = [_kind(name, is_words=n in words) for n, name in enumerate(heads)]
    head = joined(
        element("th", name, scope="col", class_=kind)
        for name, kind in zip(heads, kinds, strict=True)
    )
    body = [
        element(
            "tr",
            joined(
                element("td", cell, class_=kind, data_label=name)
                for cell, kind, name in zip(row, kinds, heads, strict=True)
            ),
        )
        for row in rows
    ]
    is_long = len(body) > LONG_ROWS
    first = FEW_ROWS if is_long else len(body)
    made = joined(
        (
            element("caption", caption),
            element("thead", element("tr", head)),
            element("tbody", joined(body[:first])),
            element("tbody", joined(body[first:]), class_="rest") if is_long else "",
        )
    )
    laid = element("div", element("table", made), class_="wide", tabindex="0", role="region",
                   aria_label=caption)  # fmt: skip
    more = element("details", element("summary", f"Show all {len(body):,} rows"), class_="more")
    return joined((laid, more)) if is_long else laid


def _kind(head: str, *, is_words: bool) -> str:
    """Return the class of a column: words, of which times are not to be broken, or numbers."""
    if not is_words:
        return "number"
    return "words moment" if head.endswith("(UTC)") else "words"


def notice(words: str, detail: str = "", tone: str = "info") -> Safe:
    """Say something that people should not miss."""
    parts = [element("strong", words)]
    if detail:
        parts.append(element("span", f" {detail}"))
    return element("div", joined(parts), class_=f"notice {tone}", role="status")
