"""What goes wrong during a soak, and when."""

from __future__ import annotations

import os
import random
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from soak_processes import Seen
from soak_topology import BREAK_SINK

WORKER, EXECUTOR, DRIVER, SINK = "worker killed", "executor killed", "driver killed", "sink failed"
KINDS = (WORKER, EXECUTOR, DRIVER, SINK)
# A driver that is not left alone for long tells nothing about what grows in it.
EARLY_SHARE, LATE_SHARE = 0.2, 0.9
LEAST_SECONDS_BETWEEN = 40


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that is to go wrong, seconds after the stream began."""

    at_seconds: float
    kind: str


def schedule(seconds: float, seed: int) -> list[Fault]:
    """Plan the faults of a run: at least one of each kind, in the order of their time.

    Drivers are killed, and sinks fail, in the first fifth of the run and in its last tenth. Workers
    and executors are killed all along.

    >>> [(fault.kind, round(fault.at_seconds)) for fault in schedule(600, seed=1)][:3]
    [('worker killed', 35), ('sink failed', 40), ('executor killed', 79)]
    """
    dice = random.Random(seed)
    every = max(LEAST_SECONDS_BETWEEN, seconds / 24)
    ends = max(LEAST_SECONDS_BETWEEN, seconds * EARLY_SHARE / 4)
    early = max(2, int(seconds * EARLY_SHARE / ends))
    at = [seconds * EARLY_SHARE * (n + 1) / early for n in range(early)]
    at += [seconds * share for share in (LATE_SHARE, 0.95) if seconds > 20 * every]
    faults = [Fault(each, (SINK, DRIVER)[n % 2]) for n, each in enumerate(at)]
    for n in range(max(2, int(seconds * 0.95 / every))):
        jitter = dice.uniform(0.85, 1.0)
        faults.append(Fault(min(every * (n + jitter), seconds * 0.9), (WORKER, EXECUTOR)[n % 2]))
    return sorted(faults)


def inject(fault: Fault, seen: list[Seen], out: Path) -> str | None:
    """Make it happen; return what happened in words, None where there was nobody to hit."""
    if fault.kind == SINK:
        (out / BREAK_SINK).touch()
        return "the sink of totals raises after its next batch"
    kind = {WORKER: "worker", EXECUTOR: "executor", DRIVER: "driver_python"}[fault.kind]
    candidates = sorted((each for each in seen if each.kind == kind), key=lambda each: each.since)
    if not candidates:
        return None
    # The eldest of its kind stays, to see whether it grows.
    victim = candidates[-1]
    with suppress(ProcessLookupError):
        if fault.kind == DRIVER:
            os.killpg(victim.pid, signal.SIGKILL)  # its JVM goes with it
        else:
            os.kill(victim.pid, signal.SIGKILL)
    return f"SIGKILL to process {victim.pid} of {len(candidates)}"
