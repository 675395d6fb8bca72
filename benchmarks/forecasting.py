"""How far off forecasts of a rate are, model by model, beside just taking the last value.

No Spark. Each trace is gone through sample by sample. Errors are mean absolute errors of the mean
rate over the next sample, and over the next 30, relative to the trace's mean rate. ``penstock`` is
what the forecaster says, the others are the models that it weighs, each where it can forecast.
``to_last`` is its error over the last value's, ``in_band`` how often what came was within its band
of nine in ten. Times are CPU time of taking in one sample and making one forecast.

    python benchmarks/forecasting.py                    # shapes made here
    python benchmarks/forecasting.py --data rates/      # and every trace in a folder
    python benchmarks/forecasting.py --json
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import show
from numpy.typing import NDArray

from penstock.elasticity.forecast import Forecaster
from penstock.sources import read_trace

AHEAD = 30
WINDOW = 60
WARM_UP = 10
MODELS = ("last value", "linear", "logarithmic", "exponential", "damped trend", "seasonal")

Rates = NDArray[np.float64]


def made(samples: int, seed: int) -> dict[str, tuple[Rates, float]]:
    """Shapes of a rate, a sample a second."""
    dice = np.random.default_rng(seed)
    t = np.arange(samples)
    shapes = {
        "steady, Poisson": dice.poisson(100, samples),
        "ramp": 100 + 2 * t + dice.normal(0, 10, samples),
        "waves of 120 s": 1_000 + 600 * np.sin(2 * np.pi * t / 120) + dice.normal(0, 40, samples),
        "steps of 100 s": np.where((t // 100) % 2, 1_500, 400) + dice.normal(0, 30, samples),
        "growth of 0.4 %": 100 * 1.004**t * (1 + dice.normal(0, 0.03, samples)),
        "random walk": 1_000 * np.exp(np.cumsum(dice.normal(0, 0.05, samples))),
        "pulses of a second": np.where(dice.random(samples) < 0.02, 5_000, 500),
    }
    return {name: (np.maximum(rates, 0.0), 1.0) for name, rates in shapes.items()}


def recorded(folder: Path, samples: int) -> dict[str, tuple[Rates, float]]:
    """The first samples of every trace in a folder, in rows per second."""
    traces = {}
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.txt")]):
        trace = read_trace(path)
        seconds = np.array(trace.step_micros[:samples]) / 1e6
        rates = np.array(trace.counts[:samples]) / seconds
        traces[path.stem] = (rates, float(np.median(seconds)))
    return traces


def measure(name: str, rates: Rates, step: float, ahead: int) -> dict[str, Any]:
    forecaster = Forecaster(WINDOW * step, horizon_seconds=ahead * step)
    errors: dict[str, list[float]] = {model: [] for model in ("penstock", *MODELS)}
    within, took = [], []
    for n, rate in enumerate(rates.tolist()):
        start = time.thread_time()
        forecaster.observe(n * step, rate)
        forecast = forecaster.forecast(ahead * step)
        took.append(time.thread_time() - start)
        if not WARM_UP <= n < len(rates) - ahead:
            continue
        came = float(rates[n + 1 : n + 1 + ahead].mean())
        within.append(forecast.low <= came <= forecast.high)
        for model, expected in {"penstock": forecast.rate, **forecaster.by_model()}.items():
            errors[model].append(abs(expected - came))
    mean = float(rates.mean())
    off = {model: statistics.fmean(each) / mean for model, each in errors.items() if each}
    return {
        "trace": name,
        "ahead": ahead,
        **{model.replace(" ", "_"): off.get(model) for model in errors},
        "to_last": off["penstock"] / off["last value"],
        "in_band": statistics.fmean(within),
        "median_us": 1e6 * statistics.median(took),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--data", type=Path, help="a folder of traces: time, then count")
    parser.add_argument("--samples", type=int, default=3_000, help="of each trace at most")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    traces = made(min(options.samples, 900), options.seed)
    if options.data is not None:
        traces |= recorded(options.data, options.samples)
    results = [
        measure(name, rates, step, ahead)
        for name, (rates, step) in traces.items()
        for ahead in (1, AHEAD)
    ]
    show(results, "forecasting", options.json)


if __name__ == "__main__":
    main()
