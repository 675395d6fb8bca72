"""Makes the engine do on tiny cases what pays only on large ones.

Blocks are kept and windows formed by inverses, the pane store is compacted after every other batch,
partials are split and combined by turns, few rows are already enough for several tasks, for reading
only some panes and for a join, and few windows for closing them in bulk.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from penstock.engine import closing, closing_plans, piece_table, windowed_operator
from penstock.engine.compactor import Compactor
from penstock.engine.windowed_operator import WindowedOperator
from penstock.windows.compaction import compaction
from penstock.windows.consolidation import plan_closing
from penstock.windows.ladder import choose_ladder
from penstock.windows.ladder_costs import LadderCosts

FEW_WINDOWS = 24
KEEPING_IS_FREE = LadderCosts(write_rows=0.0, kept_write_rows=0.0, margin=0.0)


@contextmanager
def eager() -> Iterator[None]:
    """Change the engine's thresholds while a case runs."""
    turns = itertools.count()
    planned = partial(plan_closing, max_enumerated=FEW_WINDOWS)
    changes: list[tuple[Any, str, Any]] = [
        (closing_plans, "LADDER_PERIOD", 1),
        (closing_plans, "choose_ladder", partial(choose_ladder, costs=KEEPING_IS_FREE)),
        (windowed_operator, "compaction", partial(compaction, fan=2)),
        (closing_plans, "plan_closing", planned),
        (closing, "plan_closing", planned),
        (closing, "_ONE_TASK_ROWS", 6),
        (closing, "_WORTH_PRUNING_ROWS", 12),
        (piece_table, "_MOST_PLACES", 3),
        (
            WindowedOperator,
            "_own_frame",
            lambda self, df, _: _own_frame(self, df, next(turns) % 2 == 0),
        ),
        (Compactor, "start", _start_and_wait),
    ]
    with ExitStack() as stack:
        for owner, name, value in changes:
            stack.enter_context(patch.object(owner, name, value))
        yield


_start = Compactor.start
_own_frame = WindowedOperator._own_frame


def _start_and_wait(self: Compactor, *arguments: Any, awaited: bool = False) -> None:
    """Have the compaction done when the next batch comes, whatever the machine is doing."""
    _start(self, *arguments, awaited=awaited)
    thread = self._thread
    assert thread is not None
    thread.join()
