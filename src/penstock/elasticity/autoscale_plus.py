"""The slots that the forecast of every operator's input takes: AutoScale+."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any, ClassVar

from penstock.elasticity.adapting import Adapting
from penstock.elasticity.capacity import Demand, working_interval
from penstock.elasticity.forecast import Forecast, Forecaster
from penstock.elasticity.observation import Observation
from penstock.elasticity.propagation import Combine
from penstock.elasticity.rates_in_words import rate_in_words
from penstock.elasticity.settings import length, number, one_of
from penstock.elasticity.wish import Moment, Wish, figure, whole_slots
from penstock.elasticity.workload import wired
from penstock.windows.durations import Duration, seconds

MOST_FORECASTS = 16
"""Operators with a forecast of their own, sources first; others go by their parents."""


@dataclass(frozen=True, kw_only=True)
class AutoScalePlus(Adapting):
    """AutoScale+ (section 4): asks for slots before the load arrives.

    Every operator's input is forecast from its own history (equation 3) and from what its parents
    will put out (4), combined, with the rows that wait (5), over the whole topology. What a row
    costs in slot time, and what batches and tasks cost besides, gives the demand (6 to 10, 13). As
    long as it lies between ``beta`` times the planned slots and all of them (11), nothing changes;
    otherwise the fewest slots that meet it are asked for (12).

    Parameters
    ----------
    combine
        ``"max"`` of an operator's two estimates, and never less than comes now: cautious; or
        ``"min"``: sparing.
    beta
        Slots are given back when the demand is below this share of them.
    margin
        The share of the slots' time that is kept free.
    horizon
        How far ahead to look: how long it takes until a slot that is asked for can be used, and
        then some.
    window
        The time whose samples are fitted.
    settling
        How long after other slots came into use batches tell nothing of costs; half an interval
        unless said. Rows come whatever the slots do, so that their forecast goes on.
    period
        The time after which the load repeats itself, such as ``"1 day"``; found where not given.

    >>> from penstock.elasticity.observation import OperatorObservation, SourceObservation
    >>> policy = AutoScalePlus(interval=1, horizon="10 seconds", max_slots=16)
    >>> for second in range(20):  # 400 rows/s and 20 more every second, 10 ms of slot time each
    ...     rows = 400 + 20 * second
    ...     parse = OperatorObservation("parse", rows, rows, rows * 0.01, 8, 0.6, 0.6)
    ...     clicks = SourceObservation("clicks", rows, waiting_rows=0)
    ...     seen = Observation(second, float(second), 0.7, 1.0, 8, (parse,), (clicks,))
    ...     decision = policy.decide(seen)
    >>> decision.reason  # doctest: +ELLIPSIS
    'input will grow 1... % in the next 10 s by the ...; demand 1... slots at 70 % utilisation...'

    """

    combine: Combine = "max"
    beta: float = 0.8
    margin: float = 0.3
    horizon: Duration = "30 seconds"
    window: Duration = "1 minute"
    settling: Duration | None = None
    period: Duration | None = None
    _forecasters: dict[str, Forecaster] = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "AutoScalePlus"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.kind, "combine", self.combine, ("max", "min"))
        number(self.kind, "beta", self.beta, above=0, up_to=1)
        number(self.kind, "margin", self.margin, above=-1e-9, below=1)
        length(self.kind, "horizon", self.horizon, positive=True)
        length(self.kind, "window", self.window, positive=True)
        if self.settling is not None:
            length(self.kind, "settling", self.settling)
        if self.period is not None:
            length(self.kind, "period", self.period, positive=True)
        self._set("_forecasters", {})

    def _forecaster(self) -> Forecaster:
        return Forecaster(
            seconds(self.window),
            period_seconds=None if self.period is None else seconds(self.period),
            horizon_seconds=seconds(self.horizon),
        )

    def _settling_seconds(self, moment: Moment) -> float:
        return moment.interval_seconds / 2 if self.settling is None else seconds(self.settling)

    def _learn(self, seen: Observation, now_seconds: float) -> None:
        arrivals = self._workload.arrivals
        began = now_seconds - seen.batch_seconds
        operators = sorted(wired(seen).operators, key=lambda each: bool(each.inputs))
        names = [each.name for each in operators][:MOST_FORECASTS]
        for name in set(self._forecasters).difference(names):
            del self._forecasters[name]
        for name in names:
            if name not in self._forecasters:
                self._forecasters[name] = self._forecaster()
            rate = arrivals.rates.get(name, arrivals.operator_rates.get(name, 0.0))
            self._forecasters[name].observe(began, rate)

    def _wish(self, moment: Moment) -> Wish | None:
        if not self._forecasters or not self._workload.tells_demand:
            return None
        horizon = seconds(self.horizon)
        forecasts = {name: each.forecast(horizon) for name, each in self._forecasters.items()}
        demand = self._demand(forecasts, moment)
        where = working_interval(demand.slots, moment.planned, self.beta)
        wanted = whole_slots(demand.slots) if where else moment.planned
        reason = f"{self._expects(forecasts, moment)}; {self._takes(demand)}"
        if not where:
            reason += f", within {figure(self.beta * moment.planned)} to {moment.planned}"
        cores = moment.seen.cores
        if demand.bound_by_cores and cores is not None and wanted > max(moment.planned, cores):
            wanted = max(moment.planned, cores)
            reason += f", more than {cores} cores have; more slots don't help"
        expected, low, high = (
            self._workload.rows(rates, horizon, combine=self.combine)
            for rates in (
                {name: each.rate for name, each in forecasts.items()},
                {name: each.low for name, each in forecasts.items()},
                {name: each.high for name, each in forecasts.items()},
            )
        )
        # Whole rows, outwards: a band of so many digits would only fill the journal.
        low = {name: float(floor(rows)) for name, rows in low.items()}
        high = {name: float(ceil(rows)) for name, rows in high.items()}
        return Wish(wanted, reason, demand.slots, horizon, expected, low, high)

    def _demand(self, forecasts: Mapping[str, Forecast], moment: Moment) -> Demand:
        """Return what the rows of a batch take, with a share of those that wait."""
        load, span = self._workload, moment.batch_seconds
        sparing = self.combine == "min"
        rates = {
            name: each.rate if sparing else max(each.rate, each.now)
            for name, each in forecasts.items()
        }
        share = moment.batch_share
        pending = {name: share * rows for name, rows in load.pending(moment.seen).items()}
        rows = load.rows(rates, span, pending, self.combine)
        return load.capacity.demand(rows, span, utilisation=1.0 - self.margin)

    def _expects(self, forecasts: Mapping[str, Forecast], moment: Moment) -> str:
        """Say in words what comes, going by the sources."""
        sources = [each.name for each in moment.seen.sources if each.name in forecasts]
        of_input = [forecasts[name] for name in sources or forecasts]
        now, then = sum(each.now for each in of_input), sum(each.rate for each in of_input)
        model = max(of_input, key=lambda each: each.rate).model
        ahead = f"in the next {seconds(self.horizon):g} s by the {model}"
        if model in ("linear", "logarithmic", "exponential"):
            ahead += " trend"
        change = then / now - 1 if now > 0 else 0.0
        if abs(change) < 0.005 or now <= 0:
            return f"input stays at {rate_in_words(then)} {ahead}"
        way = "grow" if change > 0 else "fall"
        return f"input will {way} {abs(change) * 100:.0f} % {ahead}"

    def _takes(self, demand: Demand) -> str:
        utilised = f"{(1 - self.margin) * 100:g} % utilisation"
        takes = f"demand {figure(demand.slots)} slots at {utilised}"
        if demand.bound_by_fixed:
            takes += f", though a batch takes {figure(demand.fixed_seconds)} s even without rows"
        return takes

    def _save_own(self) -> dict[str, Any]:
        return {name: each.save() for name, each in self._forecasters.items()}

    def _load_own(self, state: dict[str, Any]) -> None:
        forecasters = {}
        for name, saved in state.items():
            forecasters[str(name)] = self._forecaster()
            forecasters[str(name)].load(saved)
        self._forecasters.clear()
        self._forecasters.update(forecasters)
