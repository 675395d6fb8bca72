"""Small cases in which results once differed from Spark's."""

from __future__ import annotations

from exactness.case import Case, Event, Measure
from penstock.windows.specs import WindowSpec, sliding, tumbling

SECOND = 1_000_000
NOW = 1_700_000_000 * SECOND

# Kept blocks [13, 15) [15, 17) ... and [14, 16) [16, 18) ... of one width lie in one directory.
BLOCKS_OF_ONE_WIDTH = Case(
    delay_micros=0,
    specs=(WindowSpec("long", 12_000, 4_000, 1_000), WindowSpec("short", 2_000, 1_000, 0)),
    keys=(),
    measures=(Measure("ids", "collect", "id"),),
    cuts=(
        (Event(0, NOW - 39_001), Event(1, NOW + 18_001)),
        (Event(2, NOW + 23_999),),
        (Event(3, NOW + 191_000),),
    ),
    is_eager=True,
)

# So many open windows change that they are formed in bulk, while closed ones leave blocks to keep.
MANY_OPEN_WINDOWS = Case(
    delay_micros=0,
    specs=(sliding(40, 1), tumbling(5)),
    keys=(),
    measures=(Measure("n", "count"), Measure("most", "max", "real")),
    cuts=(
        *((Event(number, NOW + number * 4 * SECOND, real=1.0),) for number in range(5)),
        (Event(5, NOW + 200 * SECOND),),
    ),
    is_eager=True,
)

# Spark's watermark starts at the epoch, so what ends up to there is late from the first cut on.
BEFORE_1970 = Case(
    delay_micros=0,
    specs=(tumbling(10),),
    keys=(),
    measures=(Measure("n", "count"),),
    cuts=(
        (Event(0, -25 * SECOND), Event(1, -5 * SECOND), Event(2, 5 * SECOND)),
        (Event(3, 12 * SECOND), Event(4, -1)),
        (Event(5, 40 * SECOND),),
    ),
)
