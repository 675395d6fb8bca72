"""Every constant that the paper leaves open, changed one at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.reproduction.dabs.setup import Setup


@dataclass(frozen=True, slots=True)
class Variation:
    """A setup in which one thing is not as in the experiments."""

    what: str
    setup: Setup


def variations(base: Setup) -> tuple[Variation, ...]:
    """Return setups around one, itself the first: each constant lower and higher.

    >>> [each.what for each in variations(Setup())][:3]
    ['as chosen', 'restarts of 2.5 s', 'restarts of 10 s']
    """
    return (
        Variation("as chosen", base),
        *(
            Variation(
                f"restarts of {base.downtime_seconds * factor:g} s",
                replace(base, downtime_seconds=base.downtime_seconds * factor),
            )
            for factor in (0.5, 2)
        ),
        Variation("arrivals lost meanwhile", replace(base, meanwhile="lose")),
        *(
            Variation(
                f"peaks of {base.high * factor:g} rows/s", replace(base, high=base.high * factor)
            )
            for factor in (0.5, 0.75)
        ),
        *(
            Variation(
                f"streams of {base.seconds * factor:g} s",
                replace(base, seconds=base.seconds * factor),
            )
            for factor in (0.5, 1.5)
        ),
        *(
            Variation(
                f"{base.settling_seconds * factor:g} s to settle",
                replace(base, settling_seconds=base.settling_seconds * factor),
            )
            for factor in (0.5, 2)
        ),
        Variation("samples of 2 s", replace(base, sample_seconds=2 * base.sample_seconds)),
        Variation("given back below 50 % CPU", replace(base, low_cpu=0.5)),
    )
