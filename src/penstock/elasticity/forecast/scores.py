"""How far off each model has been lately, side by side with the last value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

LAST_VALUE = "last value"
MEMORY = 0.97
# Comparisons that a model needs before it counts.
FEWEST = 3
# Nothing beats the last value where a rate just wanders, and others may seem to by chance: its
# error counts as this much of it.
IN_DOUBT = 0.9
# How sharply a smaller error is preferred: at half the error a model weighs 256 times as much.
SHARPNESS = 8
# A weight so small is not worth asking the model.
NEGLIGIBLE = 0.01


@dataclass(slots=True)
class _Errors:
    """Weighted sums of a model's errors, and of the last value's on the same rates."""

    own: float = 0.0
    last_value: float = 0.0
    weight: float = 0.0
    count: int = 0


class Scores:
    """Exponentially weighted errors of every model, each beside the last value's on the same rates.

    So a model that can't always forecast, such as one that needs a period, is compared fairly.

    >>> scores = Scores()
    >>> for actual in (10.0, 12.0, 14.0, 16.0):
    ...     scores.compare({"linear": actual - 0.5, "last value": actual - 2.0}, actual)
    >>> scores.weights(["linear", "last value"])
    {'linear': 1.0}
    >>> scores.skill("linear")
    0.25
    """

    def __init__(self) -> None:
        self._errors: dict[str, _Errors] = {}

    def compare(self, expected: Mapping[str, float], actual: float) -> None:
        """Take in what models had expected, the last value among them, and what came."""
        last_value = abs(expected[LAST_VALUE] - actual)
        for model, rate in expected.items():
            errors = self._errors.setdefault(model, _Errors())
            errors.own = MEMORY * errors.own + abs(rate - actual)
            errors.last_value = MEMORY * errors.last_value + last_value
            errors.weight = MEMORY * errors.weight + 1.0
            errors.count += 1

    @property
    def are_enough(self) -> bool:
        """Whether models can be told apart yet."""
        return LAST_VALUE in self._errors and self._errors[LAST_VALUE].count >= FEWEST

    def skill(self, model: str) -> float | None:
        """Return a model's error relative to the last value's; None where too little is known."""
        errors = self._errors.get(model)
        if errors is None or errors.count < FEWEST:
            return None
        if errors.last_value <= 0:
            return 1.0 if errors.own <= 0 else None
        return errors.own / errors.last_value

    def weights(self, models: Iterable[str]) -> dict[str, float]:
        """Return how much to go by each model, 1 together; the last value where none is known."""
        skills = {model: self.skill(model) for model in models if model != LAST_VALUE}
        known = {model: skill for model, skill in skills.items() if skill is not None}
        known[LAST_VALUE] = IN_DOUBT
        # A model that was never off would weigh infinitely much.
        least = max(1e-6, min(known.values()))
        raw = {model: (least / max(1e-6, skill)) ** SHARPNESS for model, skill in known.items()}
        kept = {model: weight for model, weight in raw.items() if weight >= NEGLIGIBLE}
        total = sum(kept.values())
        return {model: weight / total for model, weight in kept.items()}

    def error(self, model: str) -> float | None:
        """Return the mean absolute error of a model; None before any comparison."""
        errors = self._errors.get(model)
        return errors.own / errors.weight if errors is not None and errors.weight else None

    def errors(self) -> dict[str, float]:
        """Return the mean absolute errors of all models that were compared often enough."""
        return {
            model: each.own / each.weight
            for model, each in self._errors.items()
            if each.count >= FEWEST
        }

    def save(self) -> dict[str, list[float]]:
        """Return all that was compared, in what JSON knows."""
        return {
            model: [each.own, each.last_value, each.weight, each.count]
            for model, each in self._errors.items()
        }

    @classmethod
    def saved(cls, state: Mapping[str, Any]) -> Scores:
        """Return one that goes on from what ``save`` returned."""
        scores = cls()
        for model, (own, last_value, weight, count) in state.items():
            errors = _Errors(float(own), float(last_value), float(weight), int(count))
            scores._errors[str(model)] = errors
        return scores
