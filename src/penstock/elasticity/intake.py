"""What of a source's rows a query takes in, all of it off unless asked for."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.elasticity.admission import Admission
from penstock.elasticity.backlog import Backlog


@dataclass(frozen=True, slots=True)
class Intake:
    """How many rows a micro-batch reads, how old they may be, and how many are too many."""

    admission: Admission | None = None
    deadline_micros: int | None = None
    backlog: Backlog | None = None

    @property
    def sheds(self) -> bool:
        """Whether rows that were read may go unprocessed."""
        return self.deadline_micros is not None or self.backlog is not None
