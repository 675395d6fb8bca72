"""What a checkpoint holds, read from this machine's disk.

Nothing here needs Spark, changes a file, or runs code that a checkpoint brings: it is all JSON,
Parquet and Arrow. A query may be running on the checkpoint meanwhile.
"""

from penstock.inspection.holding import Holding, Problem
from penstock.inspection.reading import inspect_checkpoint

__all__ = ["Holding", "Problem", "inspect_checkpoint"]
