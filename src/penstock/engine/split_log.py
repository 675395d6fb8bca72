"""How the rows of a micro-batch are split, written down before it runs.

A batch that is tried again after a crash is split by the same rule and at the same moment, whatever
the clock says by then and whatever the query is now told to shed. One that Spark had planned before
without a rule may have written all its rows: nothing of it is shed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from penstock.elasticity.intake import Intake
from penstock.engine.documents import WAY_OUT, Form, parse_document, sealed
from penstock.errors import CheckpointError
from penstock.sinks.filesystem import HadoopFiles

FORM = Form("penstock-split", version=2, sealed_since=2)


@dataclass(frozen=True, slots=True)
class SplitRule:
    """What is shed of one micro-batch, which started at ``started_micros`` of the query's clock."""

    batch_id: int
    started_micros: int
    deadline_micros: int | None = None
    max_rows: int | None = None
    shed: str | None = None

    @classmethod
    def of(cls, batch_id: int, now_seconds: float, intake: Intake) -> SplitRule:
        """Make the rule of a batch that starts now."""
        backlog = intake.backlog
        return cls(
            batch_id,
            round(now_seconds * 1_000_000),
            intake.deadline_micros,
            backlog.max_rows if backlog else None,
            backlog.shed if backlog else None,
        )

    def to_json(self) -> str:
        """Write it as a JSON document that names its own format and version."""
        return sealed({"format": FORM.name, "version": FORM.version, **asdict(self)})

    @classmethod
    def from_json(cls, text: str, file: str) -> SplitRule:
        """Read a rule; ``file`` is named in the error when it is not one."""
        document = parse_document(text, file, FORM)
        try:
            rule = cls(**{name: document[name] for name in cls.__slots__})
        except KeyError as error:
            raise CheckpointError(f"'{file}' has no {error}. {WAY_OUT}") from None
        numbers = (rule.batch_id, rule.started_micros, rule.deadline_micros or 0)
        if any(type(number) is not int for number in (*numbers, rule.max_rows or 0)):
            raise CheckpointError(f"'{file}' has a field of another type. {WAY_OUT}")
        return rule


class SplitLog:
    """The rule of the newest micro-batch, in one small file of the checkpoint.

    ``planned`` is the micro-batch that an earlier run planned and did not commit, if there is one.
    ``was_split`` says whether the last one that was committed had a rule: then there is a file.
    """

    def __init__(
        self,
        files: HadoopFiles,
        directory: str,
        intake: Intake,
        clock: Callable[[], float],
        planned: int | None = None,
        *,
        was_split: bool = False,
    ) -> None:
        self._files = files
        self._path = f"{directory}/split.json"
        self._intake = intake
        self._clock = clock
        self._planned = planned
        text = files.read(self._path)
        if text is None and was_split and planned is not None:
            raise CheckpointError(
                f"'{self._path}' is missing, which says what was shed of micro-batch {planned} "
                f"when it was first tried. {WAY_OUT}"
            )
        self._newest = None if text is None else SplitRule.from_json(text, self._path)

    def rule_of(self, batch_id: int) -> SplitRule | None:
        """Return how a batch is split, as an earlier try of it was; None where nothing is shed."""
        if self._newest is not None and self._newest.batch_id == batch_id:
            return self._newest
        if not self._intake.sheds or batch_id == self._planned:
            return None
        rule = SplitRule.of(batch_id, self._clock(), self._intake)
        self._files.write_atomic(self._path, rule.to_json())
        self._newest = rule
        return rule
