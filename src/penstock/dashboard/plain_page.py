"""A page of a few words, which needs no script and nothing else to be loaded."""

from __future__ import annotations

from penstock.dashboard.markup import Safe, element, joined

_SHEET = Safe(
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:28rem;"
    "margin:15vh auto;padding:0 1rem}input,button{font:inherit;padding:.5rem .75rem}"
)


def plain_page(title: str, *content: Safe) -> Safe:
    """Return a whole page with this title and content, light or dark as the system is."""
    head = joined(
        (
            Safe('<meta charset="utf-8">'),
            Safe('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            element("title", title),
            element("style", _SHEET),
        )
    )
    body = element("body", joined(content))
    page = element("html", joined((element("head", head), body)), lang="en")
    return joined((Safe("<!doctype html>"), page))
