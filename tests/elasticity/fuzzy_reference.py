"""The fuzzy controller once more, word for word from its description, as an oracle.

Fig. 7 as the authors' code has it, Table 1, Table 2, minimum for "and", maximum where several rules
give one term, the weighted mean of the terms, and the rules for few workers. It shares no code with
the product, and is written in another way: membership functions by interpolation between corners.
"""

from __future__ import annotations

import numpy as np

TERMS = {
    "DECREASE": 0.5,
    "SLIGHT_DECREASE": 0.75,
    "UNCHANGED": 1.0,
    "SLIGHT_INCREASE": 1.25,
    "INCREASE": 1.5,
}

TABLE_2 = """
 1 FAST       -         FAST       DECREASE        DECREASE
 2 FAST       -         ACCEPTABLE DECREASE        UNCHANGED
 3 FAST       -         SLOW       DECREASE        INCREASE
 4 ACCEPTABLE MODERATE  FAST       UNCHANGED       DECREASE
 5 ACCEPTABLE MODERATE  ACCEPTABLE UNCHANGED       UNCHANGED
 6 ACCEPTABLE MODERATE  SLOW       UNCHANGED       INCREASE
 7 ACCEPTABLE INTENSIVE FAST       SLIGHT_INCREASE DECREASE
 8 ACCEPTABLE INTENSIVE ACCEPTABLE SLIGHT_INCREASE UNCHANGED
 9 ACCEPTABLE INTENSIVE SLOW       UNCHANGED       INCREASE
10 SLOW       -         FAST       INCREASE        SLIGHT_DECREASE
11 SLOW       -         ACCEPTABLE INCREASE        SLIGHT_INCREASE
12 SLOW       -         SLOW       SLIGHT_INCREASE INCREASE
"""


def memberships(rho_1: float, sigma: float, rho_2: float, most: int) -> list[dict[str, float]]:
    def rho(value: float) -> dict[str, float]:
        return {
            "FAST": float(np.interp(value, [0.5, 0.9], [1, 0])),
            "ACCEPTABLE": float(np.interp(value, [0.5, 0.9, 1.3], [0, 1, 0])),
            "SLOW": float(np.interp(value, [0.9, 1.3], [0, 1])),
        }

    parts = float(np.clip(sigma, 1.0, max(1.0, most - 1.0)))
    split = {
        "MODERATE": float(np.interp(parts, [2, 5], [1, 0])),
        "INTENSIVE": float(np.interp(parts, [2, 3.5], [0, 1])),
        "-": 1.0,
    }
    return [rho(rho_1), split, rho(rho_2)]


def outputs(rho_1: float, sigma: float, rho_2: float, most: int) -> list[float]:
    """Return PAR_VAR_1 and PAR_VAR_2."""
    degrees = memberships(rho_1, sigma, rho_2, most)
    activated: list[dict[str, float]] = [{}, {}]
    for line in TABLE_2.strip().splitlines():
        _, *antecedent, first, second = line.split()
        degree = min(degrees[n][word] for n, word in enumerate(antecedent))
        for terms, term in zip(activated, (first, second), strict=True):
            terms[term] = max(terms.get(term, 0.0), degree)
    weights = [np.array(list(terms.values())) for terms in activated]
    values = [np.array([TERMS[term] for term in terms]) for terms in activated]
    return [float(np.average(v, weights=w)) for v, w in zip(values, weights, strict=True)]


def workers(now: int, output: float) -> tuple[int, ...]:
    """Return how many workers there may be: two answers where rounding is a tie."""
    edges = {1: [1.25], 2: [0.563, 1.25], 3: [0.793, 1.17]}.get(now, [])
    near = {float(output - 1e-9), output, float(output + 1e-9)}
    exact = [output] if not any(abs(output - edge) < 1e-9 for edge in edges) else sorted(near)
    return tuple(sorted({n for each in exact for n in _rounded(now, each)}))


def _rounded(now: int, output: float) -> set[int]:
    if now == 1:
        return {2 if output >= 1.25 else 1}
    if now == 2 and output < 1.25:
        return {2 if output >= 0.563 else 1}
    if now == 2:
        return {3}
    if now == 3 and 0.793 <= output < 1.17:
        return {3}
    exact = now * output
    return {max(1, int(np.floor(exact + half))) for half in (0.5 - 1e-9, 0.5, 0.5 + 1e-9)}
