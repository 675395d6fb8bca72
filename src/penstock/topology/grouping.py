"""Which operators run together: the grouping of a topology into components."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Grouping:
    """The component of every operator, by the operators' names, in the topology's order.

    >>> grouping = Grouping({"rate": "rate", "by_area": "rate", "total": "total"})
    >>> grouping.members("rate")
    ('rate', 'by_area')
    >>> grouping.together("rate", "total")
    False
    """

    homes: Mapping[str, str]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(self.homes.values()))

    def members(self, component: str) -> tuple[str, ...]:
        """Return the operators of a component."""
        return tuple(name for name, home in self.homes.items() if home == component)

    def together(self, one: str, other: str) -> bool:
        """Whether two operators are in one component."""
        home = self.homes.get(one)
        return home is not None and home == self.homes.get(other)

    def to_json(self) -> dict[str, Any]:
        """Write it as plain JSON values."""
        return dict(self.homes)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Grouping:
        """Read what ``to_json`` wrote; a wrong document is a TypeError or AttributeError."""
        homes = dict(document.items())
        if not all(type(each) is str for each in (*homes, *homes.values())):
            raise TypeError(f"operators and components are names: {document!r}")
        return cls(homes)
