"""Everything a replay is made of, and its way through Spark's options and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.arguments import is_finite, shown
from penstock.errors import ConfigurationError
from penstock.sources.cost import KeyCost
from penstock.sources.delays import Delays, ExponentialDelay, NoDelay, UniformDelay
from penstock.sources.keys import Keys, UniformKeys, ZipfKeys
from penstock.sources.trace import MICROS, Trace

_KEYS = (UniformKeys, ZipfKeys)
_DELAYS = (NoDelay, UniformDelay, ExponentialDelay)
_COSTS = (KeyCost,)


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """What to replay, how fast, and what the rows look like."""

    trace: Trace
    speedup: float
    loop: bool
    max_rows_per_batch: int | None
    keys: Keys
    delays: Delays
    cost: KeyCost
    partitions: int
    seed: int
    origin: str | None

    def __post_init__(self) -> None:
        if not is_finite(self.speedup) or self.speedup <= 0:
            raise ConfigurationError(
                f"speedup is {shown(self.speedup)}; write a number above 0, such as 60 to play a "
                "minute of the trace per second"
            )
        if type(self.loop) is not bool:
            raise ConfigurationError(f"loop is {shown(self.loop)}; write True or False")
        _check_whole("partitions", self.partitions)
        if self.max_rows_per_batch is not None:
            _check_whole("max_rows_per_batch", self.max_rows_per_batch)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise ConfigurationError(f"seed is {self.seed!r}; write a whole number")
        _check_spec("keys", self.keys, _KEYS)
        _check_spec("delays", self.delays, _DELAYS)
        _check_spec("cost", self.cost, _COSTS)
        _origin_micros(self.origin)

    @property
    def origin_micros(self) -> int | None:
        """The event time at which the trace starts; None for the moment the query first starts."""
        return _origin_micros(self.origin)

    @property
    def rows_like(self) -> str:
        """A short name that two replays share only when they make the same rows."""
        row_options = {name: text for name, text in self.as_options().items() if name in _ROW_NAMES}
        text = json.dumps(row_options, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def as_options(self) -> dict[str, str]:
        """Write everything as strings, for Spark's ``option``."""
        options = {name: json.dumps(getattr(self, name)) for name in _PLAIN_NAMES}
        options |= {name: _spec_text(getattr(self, name)) for name in _SPEC_NAMES}
        return {"trace": self.trace.encode(), **options}

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> ReplayOptions:
        """Read what ``as_options`` wrote."""
        try:
            plain: dict[str, Any] = {name: json.loads(options[name]) for name in _PLAIN_NAMES}
            return cls(
                trace=Trace.decode(options["trace"]),
                keys=_spec_of("keys", options["keys"], _KEYS),
                delays=_spec_of("delays", options["delays"], _DELAYS),
                cost=_spec_of("cost", options["cost"], _COSTS),
                **plain,
            )
        except KeyError as error:
            raise ConfigurationError(
                f"the source 'penstock' misses its option {error}; make the stream with "
                "penstock.sources.replay or penstock.sources.generate"
            ) from error
        except ValueError as error:
            raise ConfigurationError(
                f"an option of the source 'penstock' is not JSON ({error}); make the stream with "
                "penstock.sources.replay or penstock.sources.generate"
            ) from error


_PLAIN_NAMES = ("speedup", "loop", "max_rows_per_batch", "partitions", "seed", "origin")
_SPEC_NAMES = ("keys", "delays", "cost")
_ROW_NAMES = ("trace", "keys", "delays", "cost", "seed", "origin")


def _spec_text(spec: Any) -> str:
    return json.dumps({"kind": type(spec).__name__, **asdict(spec)})


def _spec_of(name: str, text: str, kinds: tuple[type, ...]) -> Any:
    fields = json.loads(text)
    kind = fields.pop("kind", None)
    for known in kinds:
        if known.__name__ == kind:
            return known(**fields)
    raise ConfigurationError(f"{name} is {text}; {_one_of(kinds)}")


def _check_spec(name: str, spec: object, kinds: tuple[type, ...]) -> None:
    if not isinstance(spec, kinds):
        raise ConfigurationError(f"{name} is {spec!r}; {_one_of(kinds)}")


def _one_of(kinds: tuple[type, ...]) -> str:
    return f"write one of {', '.join(kind.__name__ for kind in kinds)}"


def _check_whole(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{name} is {value!r}; write a whole number from 1")


def _origin_micros(origin: str | None) -> int | None:
    if origin is None:
        return None
    try:
        moment = datetime.fromisoformat(origin)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"origin is {origin!r}; write a time such as '2026-01-01T00:00:00Z'"
        ) from None
    since_epoch = (
        moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    ) - datetime.fromtimestamp(0, UTC)
    return (since_epoch.days * 86_400 + since_epoch.seconds) * MICROS + since_epoch.microseconds
