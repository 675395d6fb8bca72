"""Text for terminals, which obey what a text tells them unless that is taken out.

Names, errors and rows come from elsewhere. An escape sequence among them could move the cursor,
hide what was written before, or set the title of a window.
"""

from __future__ import annotations

_OBEYED = (
    *range(0x20),  # escape, bell, backspace, return to the beginning of the line
    *range(0x7F, 0xA0),  # the same again, as single characters
    *range(0x202A, 0x202F),  # what follows is written the other way round
    *range(0x2066, 0x206A),
)
_KEPT = (ord("\n"), ord("\t"))
_TAKEN_OUT = dict.fromkeys(code for code in _OBEYED if code not in _KEPT)


def plain(text: str) -> str:
    r"""Return a text without the characters that terminals obey; lines and tabs stay.

    >>> plain("\x1b[2Jall is well\x07\n\u202eelif")
    '[2Jall is well\nelif'
    """
    return text.translate(_TAKEN_OUT)
