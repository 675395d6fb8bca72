"""How the rows of a micro-batch are split, written down before it runs.

A batch that is tried again after a crash is split by the same rule and at the same moment, whatever
the clock says by then and whatever the query is now told to shed. One that Spark had planned before
without a rule may have written all its rows: nothing of it is shed.

Numbers are taken from the file, SQL never: an expression is evaluated only where the job itself
gives the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from penstock.elasticity.backlog import BY_TIME, CHOICES
from penstock.elasticity.intake import Intake
from penstock.engine.documents import NOT_AS_WRITTEN, WAY_OUT, Form, parse_document, sealed
from penstock.errors import CheckpointError
from penstock.windows.whole_numbers import in_64_bits

if TYPE_CHECKING:
    from penstock.engine.checkpoint_files import CheckpointFiles
    from penstock.sinks.filesystem import HadoopFiles

FORM = Form("penstock-split", version=2, sealed_since=2)
_MOST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SplitRule:
    """What is shed of one micro-batch, which started at ``started_micros`` of the query's clock."""

    batch_id: int
    started_micros: int
    deadline_micros: int | None = None
    max_rows: int | None = None
    shed: str | None = None

    def __post_init__(self) -> None:
        for number in (self.batch_id, self.started_micros, self.deadline_micros, self.max_rows):
            if number is not None:
                _check_whole(number)
        _check_whole(self.started_micros - (self.deadline_micros or 0))
        if self.batch_id < 0 or (self.deadline_micros is not None and self.deadline_micros < 1):
            raise ValueError("a number is too low")
        if self.max_rows is not None and self.max_rows < 1:
            raise ValueError(f"max_rows is {self.max_rows}")
        if (self.max_rows is None) != (self.shed is None):
            raise ValueError("max_rows and shed go together")
        if self.shed is not None and (not isinstance(self.shed, str) or not self.shed.strip()):
            raise TypeError(f"shed is {self.shed!r:.80}")

    @property
    def goes_by_time(self) -> bool:
        """Whether rows are chosen by their time."""
        return self.deadline_micros is not None or self.shed in BY_TIME

    @property
    def expression(self) -> str | None:
        """The SQL expression by which rows are chosen, None where they are in another way."""
        return None if self.shed in (None, *CHOICES) else self.shed

    @classmethod
    def of(cls, batch_id: int, now_seconds: float, intake: Intake) -> SplitRule:
        """Make the rule of a batch that starts now."""
        backlog = intake.backlog
        return cls(
            batch_id,
            round(now_seconds * 1_000_000),
            intake.deadline_micros,
            min(backlog.max_rows, _MOST) if backlog else None,
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
        except NOT_AS_WRITTEN as error:
            raise CheckpointError(f"'{file}' has a wrong field: {error}. {WAY_OUT}") from None
        return rule


def read_rule(
    files: CheckpointFiles, directory: str, planned: int | None, *, was_split: bool
) -> SplitRule | None:
    """Read the rule that a checkpoint has, None if it has none.

    ``planned`` is the micro-batch that an earlier run planned and did not commit, if there is one.
    ``was_split`` says whether the last one that was committed had a rule: then there is a file.
    """
    path = _path_in(directory)
    text = files.read(path)
    if text is not None:
        return SplitRule.from_json(text, path)
    if was_split and planned is not None:
        raise CheckpointError(
            f"'{path}' is missing, which says what was shed of micro-batch {planned} when it was "
            f"first tried. {WAY_OUT}"
        )
    return None


class SplitLog:
    """The rule of the newest micro-batch, in one small file of the checkpoint.

    ``planned`` and ``was_split`` are those of `read_rule`; ``committed`` is the last micro-batch
    that was. ``is_timed`` says whether every source has a time column.
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
        committed: int = -1,
        is_timed: bool = True,
    ) -> None:
        self._files = files
        self._path = _path_in(directory)
        self._intake = intake
        self._clock = clock
        self._planned = planned
        self._newest = read_rule(files, directory, planned, was_split=was_split)
        if self._newest is not None and self._newest.batch_id > committed:
            self._check_obeyed(self._newest, is_timed)

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

    def _check_obeyed(self, rule: SplitRule, is_timed: bool) -> None:
        """Refuse a rule that a batch to come would be split by, and that this job can't follow."""
        if rule.goes_by_time and not is_timed:
            raise CheckpointError(
                f"'{self._path}' sheds rows of micro-batch {rule.batch_id} by their time, and a "
                f"source has no time column. {WAY_OUT}"
            )
        backlog = self._intake.backlog
        if rule.expression is None or (backlog is not None and backlog.shed == rule.expression):
            return
        now = f"shed={backlog.shed!r}" if backlog else "no backlog"
        before = f"{rule.expression!r:.2000}"
        raise CheckpointError(
            f"'{self._path}' says that micro-batch {rule.batch_id}, which is not committed, sheds "
            f"rows by the expression {before}, and this job has {now}. SQL is never taken from a "
            "file. If your job had this expression, start it once more with "
            f"backlog=ps.Backlog({rule.max_rows}, shed={before}), and change it when that "
            "micro-batch is committed. If it never did, the file is not your job's: put it back "
            "from a copy of the checkpoint, or start with a new checkpoint directory."
        )


def _path_in(directory: str) -> str:
    return f"{directory}/split.json"


def _check_whole(number: object) -> None:
    if type(number) is not int:
        raise TypeError(f"{number!r:.80} is no whole number")
    in_64_bits(number)
