"""Which keys operators spend most of their time on, told to the journal now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from penstock.engine.heavy_keys import SHOWN
from penstock.engine.python_step import Tally
from penstock.journal.placement_events import HotKey, HottestKeys
from penstock.placement.attribution import SlicedCosts

TOLD_EVERY = 10
FIRST = 3
NOTABLE_SHARE = 0.02
_MEMORY = 0.8  # what a batch's seconds count for after the next
_KEPT = 100

MeanSeconds = Callable[[str, int], float | None]
"""What a row of an operator's key takes, by the key's hash, where a cost sketch knows."""


@dataclass(slots=True)
class _Known:
    text: str
    seconds: float = 0.0
    rows: float = 0.0


@dataclass(slots=True)
class _OfOperator:
    """What is known of the keys of one operator, newer batches counting for more."""

    busy_seconds: float = 0.0
    keys: dict[int, _Known] = field(default_factory=dict)
    told: tuple[str, ...] | None = None
    batches: int = 0

    def forget(self) -> None:
        self.busy_seconds *= _MEMORY
        for known in self.keys.values():
            known.seconds *= _MEMORY
            known.rows *= _MEMORY
        if len(self.keys) > _KEPT:
            heaviest = nlargest(_KEPT, self.keys, key=lambda key: self.keys[key].seconds)
            self.keys = {key: self.keys[key] for key in heaviest}

    def hottest(self) -> tuple[HotKey, ...]:
        total = max(self.busy_seconds, sum(known.seconds for known in self.keys.values()))
        if total <= 0:
            return ()
        ordered = sorted(self.keys.values(), key=lambda known: (-known.seconds, known.text))
        return tuple(
            HotKey(
                known.text,
                float(f"{known.seconds / total:.3g}"),
                float(f"{known.seconds / known.rows:.3g}") if known.rows else None,
            )
            for known in ordered[:SHOWN]
            if known.seconds > 0
        )


class KeysSeen:
    """Takes in what tasks told of their heaviest keys, and says when there is something to tell.

    That is every tenth batch, and whenever others than before are the first three: keys with less
    than a fiftieth of the load change places all the time, and don't count for that.
    """

    def __init__(self) -> None:
        self._operators: dict[str, _OfOperator] = {}

    def events(
        self, batch_id: int, tallies: Mapping[str, Sequence[Tally]], mean_seconds: MeanSeconds
    ) -> Iterator[HottestKeys]:
        """Take in a batch; yield the hottest keys of operators of which there is something new."""
        for name, told in tallies.items():
            if not any(tally.heavy for tally in told):
                continue
            known = self._operators.setdefault(name, _OfOperator())
            known.forget()
            for tally in told:
                self._add(name, known, tally, mean_seconds)
            hottest = known.hottest()
            first = tuple(key.key for key in hottest[:FIRST] if key.share >= NOTABLE_SHARE)
            known.batches += 1
            if hottest and (first != known.told or known.batches >= TOLD_EVERY):
                known.told, known.batches = first, 0
                yield HottestKeys(batch_id, name, hottest)

    def _add(self, name: str, known: _OfOperator, tally: Tally, mean: MeanSeconds) -> None:
        known.busy_seconds += tally.busy_nanos / 1e9
        sliced = isinstance(tally.costs, SlicedCosts)
        scale = 1.0
        if isinstance(tally.costs, SlicedCosts):  # only some rows were looked at
            scale = tally.rows_in / max(1, int(tally.costs.lengths.sum()))
        for key in tally.heavy:
            of_key = known.keys.setdefault(key.number, _Known(key.text))
            rows = key.rows * scale
            of_key.rows += rows
            of_key.seconds += (mean(name, key.number) or 0.0) * rows if sliced else key.seconds
