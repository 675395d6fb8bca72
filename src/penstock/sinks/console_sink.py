"""The first rows of every batch, as a table on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.arguments import checked
from penstock.errors import ConfigurationError
from penstock.terminal import plain

# Rich is loaded where a terminal is written to: executors, which get this module, need not have it.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# Spark numbers rows as partition * 2^33 + position in the partition.
_POSITION_BITS = (1 << 33) - 1


class ConsoleSink:
    """Prints a table per batch with its id; a batch sent again is printed again."""

    reads_all = True

    @checked
    def __init__(self, rows: int, truncate: int | None, console: Console | None = None) -> None:
        if rows < 1:
            raise ConfigurationError(f"console(rows={rows}) shows nothing. Set rows to 1 or more")
        if truncate is not None and truncate < 1:
            raise ConfigurationError(
                f"console(truncate={truncate}) leaves no text. "
                f"Set 1 or more characters, or None for whole values"
            )
        self._rows = rows
        self._truncate = truncate
        self._console = console

    def open(self, query_id: str) -> None:
        """Nothing to prepare."""

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Run the whole batch as one Spark job and print its first rows."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        # limit() would run a job per few partitions and leave the rest of the rows unread, so what
        # operators measure and count on their way would be wrong.
        position = F.monotonically_increasing_id().bitwiseAND(F.lit(_POSITION_BITS))
        found = df.where(position <= self._rows).collect()
        shown = found[: self._rows]
        more = ", more follow" if len(found) > len(shown) else ""
        title, caption = f"batch {batch_id}", f"{len(shown)} rows{more}"
        # Rich wraps the title of a table that is narrower than it.
        table = Table(title=title, caption=caption, min_width=max(len(title), len(caption)))
        for name in df.columns:
            table.add_column(Text(plain(name)))
        for row in shown:
            table.add_row(*(self._cell(value) for value in row))
        (self._console or Console()).print(table)

    def describe(self) -> str:
        """The number of rows shown."""
        return f"console(rows={self._rows})"

    def _cell(self, value: object) -> Text:
        from rich.text import Text

        text = "NULL" if value is None else str(value)
        if self._truncate is not None and len(text) > self._truncate:
            text = text[: self._truncate - 1] + "…"
        # Text, so that brackets in the data are not taken for Rich's markup.
        return Text(plain(text))
