"""Slots: the executor cores that a plan may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pyspark import SparkContext

from penstock.errors import ConfigurationError


@runtime_checkable
class Slots(Protocol):
    """Says how many slots there are."""

    def available(self, context: SparkContext) -> int:
        """Return the number of slots that exist now."""
        ...


@dataclass(frozen=True, slots=True)
class LocalSlots:
    """The cores that Spark has, as many of them as the user allows."""

    max: int | None = None

    def __post_init__(self) -> None:
        if self.max is not None and self.max < 1:
            raise ConfigurationError(f"LocalSlots(max={self.max}) leaves no slot. Write 1 or more.")

    def available(self, context: SparkContext) -> int:
        """Return Spark's cores, at most ``max``."""
        cores = int(context.defaultParallelism)
        return cores if self.max is None else min(cores, self.max)
