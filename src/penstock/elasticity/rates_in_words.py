"""Rates and rows as the reasons of decisions say them."""

from __future__ import annotations

from penstock.elasticity.wish import figure

ALMOST_NONE = 0.05


def rate_in_words(rows_per_second: float) -> str:
    """Write a rate; one that is next to nothing in words rather than in powers of ten.

    >>> rate_in_words(80.0), rate_in_words(0.2), rate_in_words(8.34e-05), rate_in_words(0.0)
    ('80 rows/s', '0.2 rows/s', 'almost no rows', 'no rows')
    """
    if rows_per_second <= 0:
        return "no rows"
    return (
        "almost no rows" if rows_per_second < ALMOST_NONE else f"{figure(rows_per_second)} rows/s"
    )


def waiting_in_words(rows: float) -> str:
    """Write how many rows wait, in whole rows; nothing where none does.

    >>> waiting_in_words(1.0), waiting_in_words(250.2), waiting_in_words(0.2)
    ('1 row waits', '250 rows wait', '')
    """
    whole = round(rows)
    if whole < 1:
        return ""
    return "1 row waits" if whole == 1 else f"{whole} rows wait"
