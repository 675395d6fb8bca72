"""What no policy can do: targets that a batch's fixed cost, or the slots there are, rule out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError
from penstock.simulation.batch_costs import BatchCosts
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.planner.candidates import Room
from penstock.simulation.planner.trials import Setting
from penstock.simulation.topology import SimulatedTopology
from penstock.sources.trace import MICROS

PEAK = 0.99
"""The busiest hundredth of the time sets how many slots that stay are tried."""


def room_of(
    load: Load, topology: SimulatedTopology, mechanism: MicroBatch, target_seconds: float
) -> Room:
    """Say between what to search: how many slots the rows keep busy, and how many there can be."""
    per_row = topology.seconds_per_row()
    lengths = np.array(load.trace.step_micros) / MICROS
    busy = np.array(load.trace.counts) / lengths * per_row
    return Room(
        target_seconds=target_seconds,
        mean_slots=load.rows / load.duration_seconds * per_row,
        peak_slots=float(np.quantile(busy, PEAK)),
        least=mechanism.least_slots,
        most=mechanism.most_slots,
        executor_seconds=mechanism.executor_seconds,
    )


def refuse_impossible(room: Room, costs: BatchCosts, availability: float) -> None:
    """Refuse a target that no policy can keep, before anything is simulated.

    Rows that arrive while a batch runs wait for its end and for the whole of the next. With
    batches end to end that take their fixed cost alone, latencies are spread evenly between once
    and twice of that.
    """
    shortest = costs.fixed_seconds + costs.task_seconds
    least = shortest * (1 + availability)
    if room.target_seconds < least:
        raise ConfigurationError(
            f"no number of slots has {availability:.4g} of the rows done within "
            f"{room.target_seconds:g} s: a batch takes {shortest:.3g} s with no rows in it, and "
            f"rows wait for up to two batches. The best that can be reached is {least:.3g} s."
        )
    if room.mean_slots > room.most:
        raise ConfigurationError(
            f"the rows keep {room.mean_slots:.3g} slots busy on average, and there can be "
            f"{room.most}. Allow more slots: the backlog would grow for ever."
        )


def unreachable(setting: Setting, room: Room, availability: float) -> ConfigurationError:
    """Say that nothing that was tried keeps the target, and what the most slots can reach."""
    mechanism = replace(
        setting.mechanism,
        trigger_seconds=None,
        least_slots=room.most,
        start_slots=room.most,
        deadline_seconds=setting.target_seconds,
    )
    run = mechanism.run(setting.topology, setting.load, Static(room.most), seed=setting.seed)
    reached = ", ".join(
        f"{share:.4g} within {seconds:.3g} s" for share, seconds in run.latency_quantiles.items()
    )
    return ConfigurationError(
        f"nothing that was tried has {availability:.4g} of the rows done within "
        f"{setting.target_seconds:g} s. With all {room.most} slots all the time and batches end to "
        f"end, {run.processed:.4g} of them are: {reached}. Allow more slots, or ask for less."
    )
