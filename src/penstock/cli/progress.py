"""Progress for people: a table that renews itself in a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from penstock.cli.remaining import Line
from penstock.cli.run_record import BatchRecord, RunRecord
from penstock.elasticity.rails.rail import in_slots

SHOWN_BATCHES = 8
_BARS = "▁▂▃▄▅▆▇█"
_BAR_WIDTH = 5


class Progress(Protocol):
    """Shows what a run has done so far."""

    def __enter__(self) -> Progress: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def show(self, record: RunRecord) -> None:
        """Show the newest record; it may be the same as the last."""
        ...

    def say(self, text: str) -> None:
        """Tell what is going on besides."""
        ...

    def announce(self, text: str) -> None:
        """Tell what stays true for the whole run, before it begins."""
        ...


class NoProgress:
    """Shows nothing, for when the output is read by a program."""

    def __enter__(self) -> NoProgress:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def show(self, record: RunRecord) -> None:
        """Show nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""

    def announce(self, text: str) -> None:
        """Say nothing."""


class PlainProgress:
    """One line for each micro-batch, for logs and pipes."""

    def __init__(self, outputs: Sequence[str], write: Callable[[str], object]) -> None:
        self._outputs = outputs
        self._write = write
        self._last = -1

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def show(self, record: RunRecord) -> None:
        """Write the lines of batches not yet written."""
        for batch in record.recent:
            if batch.batch_id > self._last:
                self._write(plain_line(batch, self._outputs))
                self._last = batch.batch_id

    def say(self, text: str) -> None:
        """Write it on a line of its own."""
        self._write(text)

    def announce(self, text: str) -> None:
        """Write it on a line of its own."""
        self._write(text)


class LiveProgress:
    """A table of the newest micro-batches that renews itself in place."""

    def __init__(
        self,
        outputs: Sequence[str],
        console: Console,
        title: str,
        remaining: Callable[[RunRecord], Line | None] = lambda record: None,
    ) -> None:
        self._outputs = outputs
        self._title = title
        self._remaining = remaining
        self._announced: list[str] = []
        self._note = "Ctrl-C ends it after the running micro-batch."
        self._record = RunRecord()
        self._console = console
        self._live = Live(console=console, refresh_per_second=4, get_renderable=self._render)

    def __enter__(self) -> LiveProgress:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._note = ""
        self._live.__exit__(kind, error, traceback)

    def show(self, record: RunRecord) -> None:
        """Put the record on the screen."""
        self._record = record

    def say(self, text: str) -> None:
        """Put a line under the table."""
        self._note = text

    def announce(self, text: str) -> None:
        """Put a line below the title, where it stays."""
        self._announced.append(text)

    def _render(self) -> Group:
        record = self._record
        rates = [batch.rows_per_second for batch in record.recent]
        now = f"  {rates[-1]:,.0f} rows/s" if rates else "  waiting for the first micro-batch"
        head = Text.assemble((self._title, "bold"), "\nrows in  ", (sparkline(rates), "cyan"), now)
        known = [Text(line) for line in self._announced]
        foot = [Text(self._note, style="dim")] if self._note else []
        left = self._remaining(record) if self._note else None
        bar = [left.line()] if left else []
        return Group(*known, head, *self._columns(), *bar, *foot)

    def _columns(self) -> list[RenderableType]:
        """Return the table; where it is too wide with a column for each sink, one for all."""
        wide = table(self._record, self._outputs)
        endless = self._console.options.update_width(10_000)
        if Measurement.get(self._console, endless, wide).maximum <= self._console.width:
            return [wide]
        narrow = table(self._record, self._outputs, a_column_each=False)
        return [narrow, Text(totals(self._record, self._outputs))]


def totals(record: RunRecord, outputs: Sequence[str]) -> str:
    """Say how many rows each sink has got so far."""
    return "rows out: " + ", ".join(f"{name} {record.rows_out.get(name, 0):,}" for name in outputs)


def table(record: RunRecord, outputs: Sequence[str], *, a_column_each: bool = True) -> Table:
    """Lay out the newest micro-batches and the totals; all sinks in one column, or one each."""
    sinks = [[name] for name in outputs] if a_column_each else [list(outputs)]
    shown = Table(show_footer=True, box=None, pad_edge=False, padding=(0, 1, 0, 0))
    shown.add_column("batch", "all", justify="right")
    shown.add_column("rows in", f"{record.rows_in:,}", justify="right")
    shown.add_column("rows/s", justify="right")
    shown.add_column("batch time", no_wrap=True)
    shown.add_column("waiting", justify="right")
    shown.add_column("slots", justify="right")
    for names in sinks:
        title = names[0] if a_column_each else "rows out"
        shown.add_column(title, _rows(record.rows_out, names), justify="right")
    shown.add_column("failed", f"{record.failed_rows:,}", justify="right")
    for batch in record.recent[-SHOWN_BATCHES:]:
        shown.add_row(
            str(batch.batch_id),
            f"{batch.rows_in:,}",
            f"{batch.rows_per_second:,.0f}",
            _time_bar(batch),
            "-" if batch.waiting_rows is None else f"{batch.waiting_rows:,}",
            str(batch.slots),
            *(_rows(batch.rows_out, names) for names in sinks),
            Text(f"{batch.failed_rows:,}", style="yellow" if batch.failed_rows else ""),
        )
    return shown


def _rows(rows_out: Mapping[str, int], names: Sequence[str]) -> str:
    return f"{sum(rows_out.get(name, 0) for name in names):,}"


def plain_line(batch: BatchRecord, outputs: Sequence[str]) -> str:
    """Write a micro-batch as one line."""
    of_trigger = f" of {batch.trigger_seconds:g} s" if batch.trigger_seconds else ""
    waiting = "" if batch.waiting_rows is None else f", {batch.waiting_rows} waiting"
    out = "".join(f", {name} {batch.rows_out.get(name, 0)}" for name in outputs)
    return (
        f"batch {batch.batch_id}: {batch.rows_in} rows, {batch.rows_per_second:.0f} rows/s, "
        f"{batch.batch_seconds:.1f} s{of_trigger}{waiting}, {in_slots(batch.slots)}{out}, "
        f"{batch.failed_rows} failed"
    )


def sparkline(values: Sequence[float], top: float | None = None) -> str:
    """Draw values as bars, the greatest one full height, or ``top`` where it is given.

    >>> sparkline([0, 1, 4, 8])
    '▁▁▄█'
    """
    top = max(values, default=0.0) if top is None else top
    if top <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[max(0, round(value / top * len(_BARS)) - 1)] for value in values)


def _time_bar(batch: BatchRecord) -> Text:
    """Draw how much of the trigger's interval the batch took."""
    seconds = f"{batch.batch_seconds:5.1f} s"
    if not batch.trigger_seconds:
        return Text(seconds)
    share = batch.batch_seconds / batch.trigger_seconds
    full = min(_BAR_WIDTH, round(share * _BAR_WIDTH))
    color = "green" if share <= 1 else "red"
    bar = "█" * full + "░" * (_BAR_WIDTH - full)
    return Text.assemble(f"{seconds} ", (bar, color))
