"""What is written in a drawing of a topology, and how much room that takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from unicodedata import east_asian_width

from penstock.topology.components import Components
from penstock.topology.explain_components import ComponentFacts, runs_in_python

NAME_STEP, SMALL_STEP = 7.4, 6.2  # pixels for a letter of a name (12 px) and of the rest (11 px)
MOST_LETTERS = 30


@dataclass(frozen=True, slots=True)
class Words:
    """A name and what stands below it, by operator and by component; labels by component."""

    operators: Mapping[str, tuple[str, str]]
    components: Mapping[str, tuple[str, str]]
    labels: Mapping[str, str]

    @classmethod
    def of(cls, components: Components, facts: Mapping[str, ComponentFacts]) -> Words:
        """Choose the words for a topology and what is known of its components."""
        return cls(
            {
                op.name: (cut(op.name), f"{op.kind}, Python" if runs_in_python(op) else op.kind)
                for op in components.topology
            },
            {name: (cut(name), each.kind) for name, each in facts.items()},
            {name: cut(each.entrance.label) for name, each in facts.items()},
        )

    def operator_width(self, name: str) -> float:
        """Return the width that the words of an operator need."""
        return _width(self.operators[name])

    def component_width(self, name: str) -> float:
        """Return the width that the words of a component need."""
        return _width(self.components[name])

    def label_width(self, component: str | None) -> float:
        """Return the width of the label at a component's entrance, 0 where there is none."""
        label = self.labels.get(component, "") if component is not None else ""
        return round(letters(label) * SMALL_STEP)


def letters(text: str) -> int:
    """Return how many letters wide a text is; some of the East's are as wide as two.

    >>> letters("größe"), letters("流量")
    (5, 4)
    """
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def cut(text: str, most: int = MOST_LETTERS) -> str:
    """Shorten a text that is too wide for a drawing.

    >>> cut("a" * 50, most=10)
    'aaaaaaaaa…'
    """
    if letters(text) <= most:
        return text
    while letters(text) >= most:
        text = text[:-1]
    return f"{text}…"


def _width(words: tuple[str, str]) -> float:
    name, below = words
    return round(max(letters(name) * NAME_STEP, letters(below) * SMALL_STEP))
