"""How many rows come: what batches took, and how what waits has changed."""

from __future__ import annotations

from statistics import median
from typing import Any

from penstock.elasticity.observation import Observation

SHORTEST_SECONDS = 0.001
USUAL_BATCHES = 5
MOST_BATCHES = 64


class Arrivals:
    """Follows the rows that come at each source, and the rows that reach each operator.

    Between the starts of two batches came what the second took, and as much as what waits grew.
    A first batch tells nothing: nobody knows how long its rows have waited.

    >>> from penstock.elasticity.observation import SourceObservation
    >>> def batch(number, at, rows, waiting):
    ...     source = SourceObservation("clicks", rows, waiting)
    ...     return Observation(number, at, 0.5, 1.0, slots=2, sources=(source,))
    >>> arrivals = Arrivals()
    >>> arrivals.observe(batch(0, 10.5, 100, 0), started_seconds=10.0)
    False
    >>> arrivals.observe(batch(1, 12.5, 100, 60), started_seconds=12.0)
    True
    >>> arrivals.rates
    {'clicks': 80.0}
    """

    def __init__(self) -> None:
        self.rates: dict[str, float] = {}  # rows a second at each source
        self.operator_rates: dict[str, float] = {}  # rows a second into each operator
        self.between_seconds: float | None = None  # from the start of a batch to that of the next
        self._recent: dict[str, list[float]] = {}
        self._batches: list[tuple[float, float]] = []  # seconds, and the rows of all sources
        self._started: float | None = None
        self._at: float | None = None
        self._waiting: dict[str, int] = {}
        self._carried: dict[str, float] = {}
        self._since: dict[str, float] = {}
        self._since_seconds = 0.0

    def observe(self, seen: Observation, started_seconds: float) -> bool:
        """Take in a batch that began then; return whether the rates are new.

        ``started_seconds`` is by a clock that never goes back, unlike that of ``seen``.
        """
        set_back = self._at is not None and seen.at_seconds < self._at
        self._at = seen.at_seconds
        for source in seen.sources:
            grown = 0
            if source.waiting_rows is not None:
                grown = source.waiting_rows - self._waiting.get(source.name, 0)
                self._waiting[source.name] = source.waiting_rows
            self._carry(f"source {source.name}", source.rows + grown)
        for operator in seen.operators:
            self._carry(f"operator {operator.name}", operator.rows_in)
        if self._started is None:
            self._started = started_seconds
            self._carried.clear()
            return False
        passed = started_seconds - self._started
        if set_back and self.between_seconds is None:
            self._started = started_seconds
            self._carried.clear()
            return False
        if set_back and self.between_seconds is not None:
            passed = self.between_seconds  # nobody knows how long it was: as long as usual
        if passed < SHORTEST_SECONDS:
            return False  # no time has passed: the rows count with those of the next batch
        self._started = started_seconds
        self._settle(seen, passed)
        return True

    def _carry(self, name: str, rows: float) -> None:
        self._carried[name] = self._carried.get(name, 0.0) + rows

    def _settle(self, seen: Observation, passed: float) -> None:
        came = {name: max(0.0, rows) for name, rows in self._carried.items()}
        self._carried.clear()
        sources = {each.name: came[f"source {each.name}"] for each in seen.sources}
        self.rates = {name: rows / passed for name, rows in sources.items()}
        self._recent = {
            name: [*self._recent.get(name, ()), rate][-USUAL_BATCHES:]
            for name, rate in self.rates.items()
        }
        self.operator_rates = {
            each.name: came[f"operator {each.name}"] / passed for each in seen.operators
        }
        self.between_seconds = passed
        self._batches = [*self._batches, (passed, sum(sources.values()))][-MOST_BATCHES:]
        for name, rows in sources.items():
            self._since[name] = self._since.get(name, 0.0) + rows
        self._since_seconds += passed

    @property
    def usual_rates(self) -> dict[str, float]:
        """The rates that a burst in one or two of the last batches does not move: their medians."""
        return {name: median(rates) for name, rates in self._recent.items()}

    def lately(self, seconds: float) -> float:
        """Return the rows a second of all sources over the last ``seconds``, five batches or more.

        A burst moves it, and noise from batch to batch does not.
        """
        passed = rows = 0.0
        for number, (took, came) in enumerate(reversed(self._batches)):
            if number >= USUAL_BATCHES and passed >= seconds:
                break
            passed, rows = passed + took, rows + came
        return rows / passed if passed > 0 else 0.0

    def mean_rates(self) -> dict[str, float]:
        """Return the mean rates since this was last asked; the last known where none is new."""
        if self._since_seconds <= 0:
            return dict(self.rates)
        means = {name: rows / self._since_seconds for name, rows in self._since.items()}
        self._since, self._since_seconds = {}, 0.0
        return means

    def save(self) -> dict[str, Any]:
        """Return all that was followed, in what JSON knows."""
        return {
            "rates": dict(self.rates),
            "operator_rates": dict(self.operator_rates),
            "between_seconds": self.between_seconds,
            "recent": {name: list(rates) for name, rates in self._recent.items()},
            "batches": [list(batch) for batch in self._batches],
            "started": self._started,
            "at": self._at,
            "waiting": dict(self._waiting),
            "carried": dict(self._carried),
            "since": dict(self._since),
            "since_seconds": self._since_seconds,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take up what ``save`` returned."""
        self.rates = dict(state["rates"])
        self.operator_rates = dict(state["operator_rates"])
        self.between_seconds = state["between_seconds"]
        self._recent = {name: list(rates) for name, rates in state["recent"].items()}
        self._batches = [(float(took), float(rows)) for took, rows in state["batches"]]
        self._started, self._at = state["started"], state["at"]
        self._waiting = dict(state["waiting"])
        self._carried = dict(state["carried"])
        self._since = dict(state["since"])
        self._since_seconds = float(state["since_seconds"])
