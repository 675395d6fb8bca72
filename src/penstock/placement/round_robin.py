"""Round robin: every task gets its turn."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.placement.placement import Border

# A row's number in its partition, from 0: the lower 33 bits.
ROW_NUMBER = f"(monotonically_increasing_id() & {(1 << 33) - 1})"


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """Deals rows to tasks in turn, and leaves them where they are when the partitions fit.

    Upstream partitions start their turns at tasks spread evenly, so that many small partitions do
    not all begin with the first task.
    """

    def fits(self, border: Border) -> bool:
        """Rows stay when there are as many partitions as tasks.

        >>> RoundRobin().fits(Border(partitions=4, tasks=4))
        True
        """
        return border.partitions == border.tasks

    def expression(self, border: Border) -> str | None:
        """Number the rows of each partition and take the number modulo the tasks.

        The number depends on the order of rows. Where that may change on a retry, a retried
        partition would deal some rows twice and others never; None leaves it to Spark then.

        >>> RoundRobin().expression(Border(partitions=2, tasks=8))
        'pmod((monotonically_increasing_id() & 8589934591) + spark_partition_id() * 4, 8)'
        """
        if not border.ordered:
            return None
        stride = max(1, border.tasks // (border.partitions or border.tasks))
        return f"pmod({ROW_NUMBER} + spark_partition_id() * {stride}, {border.tasks})"
