"""Penstock's own mechanism: micro-batches on slots that take seconds to come."""

from penstock.simulation.micro_batch.mechanism import MicroBatch

__all__ = ["MicroBatch"]
