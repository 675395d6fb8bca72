"""The fuzzy logic of Elastic-PPQ (section 4.2): two stages, one decision for both.

Utilisations and the splitting factor become degrees of words (fast, acceptable, slow; moderate,
intensive), twelve rules turn these into degrees of change, and the weighted mean of the changes is
the factor for each stage (zero-order Takagi-Sugeno). Readings where the paper and its authors'
code differ: a change that several rules give counts with the largest of their degrees, and the
words for splitting have the shapes of the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor

Degrees = Mapping[str, float]

CHANGES = {
    "decrease": 0.5,
    "slight decrease": 0.75,
    "unchanged": 1.0,
    "slight increase": 1.25,
    "increase": 1.5,
}
"""Table 1: what each change multiplies the parallelism by."""

ANY = ("moderate", "intensive")
RULES: tuple[tuple[str, tuple[str, ...], str, str, str], ...] = (
    ("fast", ANY, "fast", "decrease", "decrease"),
    ("fast", ANY, "acceptable", "decrease", "unchanged"),
    ("fast", ANY, "slow", "decrease", "increase"),
    ("acceptable", ("moderate",), "fast", "unchanged", "decrease"),
    ("acceptable", ("moderate",), "acceptable", "unchanged", "unchanged"),
    ("acceptable", ("moderate",), "slow", "unchanged", "increase"),
    ("acceptable", ("intensive",), "fast", "slight increase", "decrease"),
    ("acceptable", ("intensive",), "acceptable", "slight increase", "unchanged"),
    ("acceptable", ("intensive",), "slow", "unchanged", "increase"),
    ("slow", ANY, "fast", "increase", "slight decrease"),
    ("slow", ANY, "acceptable", "increase", "slight increase"),
    ("slow", ANY, "slow", "slight increase", "increase"),
)
"""Table 2: first stage, splitting, second stage; change of the first, of the second."""


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How many workers, here slots, each of the two stages has."""

    first: int
    second: int


def trapezoid(x: float, left: float, top_left: float, top_right: float, right: float) -> float:
    """Return the degree to which ``x`` belongs to a trapezoid; beyond a vertical side it is 0.

    >>> trapezoid(1.5, 1, 2, 3, 4), trapezoid(3, 1, 2, 3, 4), trapezoid(9, 1, 2, 3, 4)
    (0.5, 1.0, 0.0)
    """
    if top_left <= x <= top_right:
        return 1.0
    if left < x < top_left:
        return (x - left) / (top_left - left)
    if top_right < x < right:
        return (right - x) / (right - top_right)
    return 0.0


def speed(rho: float) -> Degrees:
    """Say how fast a stage is that is so utilised (Fig. 7, left).

    >>> {word: round(degree, 3) for word, degree in speed(0.6).items()}
    {'fast': 0.75, 'acceptable': 0.25, 'slow': 0.0}
    """
    rho = max(rho, 0.0)
    return {
        "fast": trapezoid(rho, 0.0, 0.0, 0.5, 0.9),
        "acceptable": trapezoid(rho, 0.5, 0.9, 0.9, 1.3),
        "slow": 1.0 if rho >= 1.3 else trapezoid(rho, 0.9, 1.3, 1.3, 1.3),
    }


def splitting(sigma: float, most: int) -> Degrees:
    """Say how much panes are split, in parts per pane (Fig. 7, right, as the code has it)."""
    sigma = min(max(sigma, 1.0), max(most - 1.0, 1.0))
    return {
        "moderate": trapezoid(sigma, 1.0, 1.0, 2.0, 5.0),
        "intensive": 1.0 if sigma >= 3.5 else trapezoid(sigma, 2.0, 3.5, 3.5, 3.5),
    }


def factors(rho_1: float, sigma: float, rho_2: float, most: int = 59) -> tuple[float, float]:
    """Return what to multiply the parallelism of the two stages by.

    >>> factors(0.6, 1, 0.6), factors(1.1, 3, 0.7)
    ((0.625, 0.625), (1.25, 0.875))
    """
    first, second, split = speed(rho_1), speed(rho_2), splitting(sigma, most)
    changes_1, changes_2 = dict.fromkeys(CHANGES, 0.0), dict.fromkeys(CHANGES, 0.0)
    for word_1, words_split, word_2, change_1, change_2 in RULES:
        # A rule that does not ask about splitting is not limited by it.
        asked = 1.0 if words_split is ANY else split[words_split[0]]
        degree = min(first[word_1], asked, second[word_2])
        changes_1[change_1] = max(changes_1[change_1], degree)
        changes_2[change_2] = max(changes_2[change_2], degree)
    return _mean(changes_1), _mean(changes_2)


def _mean(changes: Degrees) -> float:
    weight = sum(changes.values())
    mean = sum(CHANGES[change] * degree for change, degree in changes.items())
    return round(mean / weight, 12) if weight else 1.0


def changed(degree: int, factor: float) -> int:
    """Return the parallelism after a change, where rounding alone would never leave 1, 2 or 3.

    >>> changed(1, 1.25), changed(2, 1.2), changed(2, 0.55), changed(3, 1.17), changed(10, 0.625)
    (2, 2, 1, 4, 6)
    """
    if degree == 1:
        return 2 if factor >= 1.25 else 1
    if degree == 2:
        return 2 if 0.563 <= factor < 1.25 else (1 if factor < 0.563 else 3)
    if degree == 3 and 0.793 <= factor < 1.17:
        return 3
    return max(1, floor(degree * factor + 0.5))


def next_parallelism(
    now: Parallelism, rho_1: float, sigma: float, rho_2: float, most: int
) -> Parallelism:
    """Return how many slots each stage should have, ``most`` together.

    >>> next_parallelism(Parallelism(40, 20), 1.3, 1.0, 1.3, most=59)
    Parallelism(first=37, second=22)
    """
    factor_1, factor_2 = factors(rho_1, sigma, rho_2, most)
    first, second = changed(now.first, factor_1), changed(now.second, factor_2)
    total = first + second
    if total > most:
        first, second = (floor(n * most / total + 0.5) for n in (first, second))
    # The first stage is changed first: it can't take what the second still has.
    first = max(1, min(first, most - now.second))
    return Parallelism(first, max(1, min(second, most - first)))
