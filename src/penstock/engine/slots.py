"""Slots: the executor cores that a plan may use."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.arguments import checked
from penstock.errors import ConfigurationError
from penstock.journal.events import KnownEvent


@runtime_checkable
class Slots(Protocol):
    """Says how many slots there are."""

    def available(self, context: SparkContext) -> int:
        """Return the number of slots that exist now."""
        ...


@runtime_checkable
class ElasticSlots(Slots, Protocol):
    """Slots whose number can change while a query runs. No method waits for the cluster."""

    @property
    def most(self) -> int:
        """How many slots there may be at most."""
        ...

    def attach(self, spark: SparkSession, write: Callable[[KnownEvent], None]) -> None:
        """Begin to look after the slots of a session; ``write`` journals what becomes of them."""
        ...

    def ask(self, slots: int) -> None:
        """Have this many slots as soon as the cluster can; returns at once."""
        ...

    def detach(self) -> None:
        """Stop looking after the slots, and leave the session as it was found."""
        ...


@checked
@dataclass(frozen=True, slots=True)
class LocalSlots:
    """The cores that Spark has, as many of them as the user allows."""

    max: int | None = None

    def __post_init__(self) -> None:
        if self.max is not None and self.max < 1:
            raise ConfigurationError(f"LocalSlots(max={self.max}) leaves no slot. Write 1 or more.")

    @checked
    def available(self, context: SparkContext) -> int:
        """Return Spark's cores, at most ``max``."""
        cores = int(context.defaultParallelism)
        return cores if self.max is None else min(cores, self.max)


def local_cores(context: SparkContext) -> int | None:
    """Return how many cores the slots of a local Spark share; None on a cluster.

    ``local[16]`` makes 16 slots out of two cores.
    """
    if not str(context.master).startswith("local"):
        return None
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
