"""``ps.simulate``: policies compared on one's own trace, before anything is switched on.

The simulator is loaded when it is first called: it needs Numba, and no other public name does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.arguments import checked, shown
from penstock.elasticity.decision import Policy
from penstock.errors import ConfigurationError

if TYPE_CHECKING:
    from penstock.simulation.comparison import Simulation
    from penstock.simulation.load import Load
    from penstock.simulation.parallel import Progress
    from penstock.simulation.topology import SimulatedTopology
    from penstock.simulation.trial import Cluster
    from penstock.sources.trace import Trace


@checked
def simulate(
    trace: str | os.PathLike[str] | Sequence[float] | Trace | Load,
    topology: str | os.PathLike[str] | SimulatedTopology,
    policies: Sequence[str] | Mapping[str, str | Policy] = (
        "static",
        "auto-scale-plus",
        "replica-pool",
    ),
    *,
    cluster: Cluster | None = None,
    sweep: Sequence[str] = (),
    seed: int = 0,
    workers: int = 1,
    journals: str | os.PathLike[str] | None = None,
    on_progress: Progress = lambda what, share: None,
) -> Simulation:
    """Let policies meet a trace on a simulated cluster, one after the other.

    ``trace`` is a file, counts of rows per second, or a workload such as ``progressive`` or
    ``map2:rate=1000,dispersion=1000,seconds=600``. ``topology`` is the name of one that comes with
    Penstock (``tweets``), a YAML or Python file, or a ``SimulatedTopology``. ``policies`` are
    written as on the command line (``replica-pool:utilisation=0.8``), or are given by label.
    ``cluster`` is a ``MicroBatch``, Penstock's own unless said, or a ``ReplicaEngine``. ``sweep``
    tries all combinations of settings, such as ``policy.margin=0.1,0.2``; ``seed`` is that of all
    that is drawn.

    ``workers`` above 1 runs in processes of their own (0: one for each core), and needs a script
    that can be imported. ``journals`` is a directory that gets each run's journal, and
    ``on_progress`` is called with what is being done and the share that is done.

    >>> found = simulate([200.0] * 60, "tweets", ["static:2", "static:4"])
    >>> found.best.label, round(found["static:2"].measures.saved, 2)
    ('static:2', 0.75)
    """
    from penstock.simulation.comparison import Simulation, load_of, trials_by_label
    from penstock.simulation.micro_batch import MicroBatch
    from penstock.simulation.parallel import run_trials
    from penstock.simulation.replicas.engine import ReplicaEngine
    from penstock.simulation.sweep import read_swept, trials_of
    from penstock.simulation.topology import SimulatedTopology
    from penstock.simulation.topology_file import read_topology

    load = load_of(trace, seed)
    shape = topology if isinstance(topology, SimulatedTopology) else read_topology(topology)
    where = Path(journals) if journals is not None else None
    if cluster is not None and not isinstance(cluster, MicroBatch | ReplicaEngine):
        raise ConfigurationError(
            f"the cluster is {shown(cluster)}. Give a MicroBatch or a ReplicaEngine of "
            "penstock.simulation."
        )
    if not callable(on_progress):
        raise ConfigurationError(
            f"on_progress is {shown(on_progress)}. Give a function of what is done and its share."
        )
    on = cluster or MicroBatch()
    if isinstance(policies, Mapping):
        trials = trials_by_label(policies, on, shape, load, seed, where, sweep)
    else:
        if isinstance(policies, str):
            policies = [policies]
        trials = trials_of(policies, on, shape, load, read_swept(sweep), seed=seed, journals=where)
    if not trials:
        raise ConfigurationError("there is no policy to simulate. Give at least one.")
    return Simulation(shape, load, run_trials(trials, workers or None, on_progress))
