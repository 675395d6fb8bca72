"""What a windowed operator leaves in the commit record for the next micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.windows.segments import Segment
from penstock.windows.sharing import SharingState
from penstock.windows.whole_numbers import in_64_bits


@dataclass(frozen=True, slots=True)
class WindowState:
    """The segments that the pane store holds, and how far windows are closed.

    ``closed`` is the pane boundary up to which windows came out; it starts in 1970, as Spark's
    watermark does.
    ``sharing`` is the memory of the decision between split and combined. ``checksums`` are those of
    the directories of the store, by number; records of earlier versions have none.
    """

    segments: tuple[Segment, ...] = ()
    closed: int = 0
    sharing: SharingState = field(default_factory=SharingState)
    checksums: Mapping[int, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Write it as plain JSON values."""
        return {
            "segments": [segment.to_json() for segment in self.segments],
            "closed": self.closed,
            "sharing": self.sharing.to_json(),
            "checksums": {str(number): each for number, each in self.checksums.items()},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> WindowState:
        """Read what ``to_json`` wrote; a wrong document is a KeyError, TypeError or ValueError."""
        closed = document["closed"]
        if type(closed) is not int:
            raise TypeError(f"closed is {closed!r}")
        in_64_bits(closed)
        segments = tuple(Segment.from_json(each) for each in document["segments"])
        checksums = {int(n): str(each) for n, each in document.get("checksums", {}).items()}
        return cls(segments, closed, SharingState.from_json(document["sharing"]), checksums)
