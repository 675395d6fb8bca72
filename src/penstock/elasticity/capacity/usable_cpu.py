"""How much of a core a thread can use, beside others that want it too (AutoScale+, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThreadCpu:
    """What a thread uses of its core and what is reserved for it, in per cent."""

    used: float
    reserved: float = 0.0

    @property
    def claim(self) -> float:
        """What others must leave to it: what it uses or what is reserved, whichever is more."""
        return max(self.used, self.reserved)


def usable_cpu(used: float, reserved: float, others: Sequence[ThreadCpu] = ()) -> float:
    """Return the fraction of a core that a thread can use (AutoScale+, equation 7).

    ``used`` and ``reserved`` are per cent, ``others`` the other threads on the same core. What
    nobody claims is shared equally among all threads, this one too. The equation is printed
    recursively and with a margin as a factor; here it is as meant, without the margin, which
    belongs in ``reserved_capacity``. With two threads that use less than they reserved:

    >>> usable_cpu(50, 40, [ThreadCpu(20, 30), ThreadCpu(5, 20)])
    0.5
    >>> usable_cpu(20, 30, [ThreadCpu(20, 30)])
    0.55
    """
    left = 100.0 - used - sum(other.claim for other in others)
    share = (max(used, reserved) + left / (len(others) + 1)) / 100.0
    return min(1.0, max(0.0, share))


def operator_usable_cpu(
    threads: Iterable[tuple[ThreadCpu, Sequence[ThreadCpu]]],
) -> float:
    """Return the CPU that every thread of an operator can use: the least (equation 8).

    Each thread comes with the others on its core. Rows are spread evenly over the threads, so the
    one with the least holds the others up.

    >>> alone, crowded = (ThreadCpu(30), ()), (ThreadCpu(30), (ThreadCpu(50), ThreadCpu(20)))
    >>> operator_usable_cpu([alone, crowded])
    0.3
    """
    return min(
        (usable_cpu(thread.used, thread.reserved, others) for thread, others in threads),
        default=1.0,
    )
