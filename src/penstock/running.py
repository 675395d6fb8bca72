"""Run: starts a topology and hands back the query."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from penstock.arguments import is_one_of, is_text, shown
from penstock.branch import Outlet, Unused, build_topology
from penstock.dashboard.beside import dashboard_beside
from penstock.elasticity.adapting import Adapting
from penstock.elasticity.admission import Admission
from penstock.elasticity.backlog import Backlog
from penstock.elasticity.decision import Policy
from penstock.elasticity.intake import Intake
from penstock.elasticity.static import Static
from penstock.engine.columns import LETTER_TYPE
from penstock.engine.intake_checks import check_intake
from penstock.engine.query import Query
from penstock.engine.schemas import schema_of
from penstock.engine.setting import Setting
from penstock.engine.slots import LocalSlots, Slots
from penstock.engine.start import start
from penstock.engine.steps import OnStep
from penstock.errors import ConfigurationError, TopologyError
from penstock.metrics.beside import metrics_of
from penstock.placement.placement import Placement
from penstock.placement.round_robin import RoundRobin
from penstock.sinks.files import FileSink
from penstock.sinks.filesystem import HadoopFiles
from penstock.sinks.jdbc_sink import JdbcSink
from penstock.sinks.kafka_sink import KafkaSink
from penstock.topology.dag import Topology
from penstock.topology.operators import DeadLetters, Output, PythonOperator
from penstock.topology.optimiser import Optimiser
from penstock.windows.durations import Duration, microseconds, seconds


def run(
    *outlets: Outlet,
    checkpoint: str | os.PathLike[str],
    policy: Policy | None = None,
    placement: Placement | None = None,
    slots: Slots | None = None,
    optimiser: Optimiser | None = None,
    trigger: Duration | None = None,
    admission: Admission | None = None,
    deadline: Duration | None = None,
    backlog: Backlog | None = None,
    available_now: bool = False,
    name: str | None = None,
    journal: str | os.PathLike[str] | None = None,
    metrics_port: int | None = None,
    metrics_host: str | None = None,
    dashboard: bool | int = False,
    unused: Unused = "error",
    on_step: OnStep | None = None,
    clock: Callable[[], float] = time.time,
) -> Query:
    """Start a topology as one streaming query and return it.

    Parameters
    ----------
    outlets
        The branches, each ended by ``.to(sink)``.
    checkpoint
        A directory on any file system that Spark knows. A query that starts again with the same
        directory goes on where it stopped, and each row counts exactly once.
    trigger
        Start a micro-batch this often; without it, as fast as possible.
    admission
        Let a micro-batch take only so many rows that it is done within the trigger.
    deadline
        Rows that are older than this when their micro-batch starts, by their time column, are not
        processed but go to the late rows of their source.
    backlog
        How many rows of a source a micro-batch processes at most, and which are shed instead.
    available_now
        Take what is there now, in as many micro-batches as the sources' limits make, and end.
    name
        The name of the Spark query.
    policy, placement, slots
        How many slots are used, where rows go, and how many slots there are. A policy of
        Penstock's own is copied, so that one object may serve several queries; one of yours that
        learns should serve one.
    optimiser
        Which operators run together, and how that may change while the query runs.
    journal
        Where the event log is written; a directory of the checkpoint unless said.
    metrics_port
        Serve metrics for Prometheus on this port until the query ends; 0 chooses a free one, and
        ``query.metrics_address`` says which. A port that is taken is an error before the start.
    metrics_host
        The address they are served on: ``"127.0.0.1"``, for this machine only, unless given.
    dashboard
        True starts a dashboard for this query, in a process of its own that ends with this one;
        its address is written to standard error, and is ``query.dashboard_address``. A number is
        the port it listens on. One that can't start is a warning in the log, and no error.
    unused
        ``"ignore"`` leaves out branches that lead to no sink, or to one that no run was given,
        instead of refusing them.
    on_step
        Called with every step and batch number, for tests that break off a run at a chosen point.
    clock
        Where the time comes from, in seconds since the epoch.

    """
    _check(outlets, trigger, available_now, unused)
    _check_called(on_step=on_step, clock=clock)
    if name is not None and not (is_text(name) and name):
        raise ConfigurationError(f"name={shown(name)} is no text. Write for example name='clicks'.")
    for outlet in outlets:
        outlet.was_run = True
    where = _directory("checkpoint", checkpoint)
    setting = Setting(
        policy=_of_its_own(_chosen("policy", policy, Policy, Static())),
        placement=_chosen("placement", placement, Placement, RoundRobin()),
        slots=_chosen("slots", slots, Slots, LocalSlots()),
        trigger_seconds=None if trigger is None else seconds(trigger),
        clock=clock,
        on_step=on_step,
        intake=Intake(
            _chosen("admission", admission, Admission, None),
            None if deadline is None else microseconds(deadline),
            _chosen("backlog", backlog, Backlog, None),
        ),
        optimiser=_chosen("optimiser", optimiser, Optimiser, Optimiser()),
    )
    topology = _with_letters_kept(build_topology(outlets, unused), where)
    _check_sinks(topology)
    check_intake(topology, setting.intake, setting.trigger_seconds)
    with (
        dashboard_beside(dashboard) as beside,
        metrics_of(metrics_port, metrics_host) as with_metrics,
    ):
        query = start(
            topology,
            where,
            setting,
            available_now=available_now,
            name=name,
            journal=None if journal is None else _directory("journal", journal),
        )
        if beside is not None:
            query.dashboard_address = beside.start(query.journal_dir)
        return with_metrics(query, query.journal_dir)


def _check(
    outlets: tuple[Any, ...], trigger: Duration | None, available_now: bool, unused: str
) -> None:
    if not outlets:
        raise ConfigurationError("there is nothing to run. Write run(stream.to(sink), ...).")
    for outlet in outlets:
        if not isinstance(outlet, Outlet):
            raise ConfigurationError(
                f"run takes branches that end in a sink, not a {type(outlet).__name__}. "
                "Write run(stream.to(sink), ...)."
            )
    if not isinstance(available_now, bool):
        raise ConfigurationError(f"available_now={shown(available_now)}. Write True or False.")
    if trigger is not None and available_now:
        raise ConfigurationError("trigger and available_now exclude each other. Give one of them.")
    if trigger is not None and seconds(trigger) <= 0:
        raise ConfigurationError(
            f"trigger={trigger!r} is no time. Leave it out to run as fast as possible."
        )
    if not is_one_of(unused, ("error", "ignore")):
        raise ConfigurationError(f"unused={shown(unused)}. Write unused='error' or 'ignore'.")


def _check_called(**functions: Any) -> None:
    for name, given in functions.items():
        if given is not None and not callable(given):
            raise ConfigurationError(f"{name}={shown(given)} can't be called. Give a function.")


def _directory(setting: str, path: Any) -> str:
    """Return a path as text."""
    given = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not given or not is_text(given):
        raise ConfigurationError(
            f"{setting}={shown(path)} is no directory. Write for example {setting}='my-{setting}'."
        )
    return str(given)


_EXPECTED = {
    "policy": "an object that decides, such as ps.Static(4)",
    "placement": "an object that places rows, such as ps.RoundRobin()",
    "slots": "an object that says how many slots there are, such as ps.LocalSlots(max=4)",
    "admission": "how many rows to let in, such as ps.Admission(target=0.8)",
    "backlog": "what may wait, such as ps.Backlog(max_rows=100_000)",
    "optimiser": "how operators are grouped, such as ps.Optimiser(period=0)",
}


def _chosen(setting: str, given: Any, kind: Any, default: Any) -> Any:
    """Return what the user gave for a part of the engine, or the default."""
    if given is None:
        return default
    # A class has the methods of its objects, and can't be called like one.
    if isinstance(given, type) or not isinstance(given, kind):
        shown = f"the class {given.__name__}" if isinstance(given, type) else repr(given)
        raise ConfigurationError(f"{setting} is {shown}. Give {_EXPECTED[setting]}.")
    return given


def _of_its_own(policy: Policy) -> Policy:
    """Give every query a memory of its own: what one learns is of no use to another."""
    return deepcopy(policy) if isinstance(policy, Adapting) else policy


def _check_sinks(topology: Topology) -> None:
    """Two branches that replace each other's batches in one place would lose rows."""
    files = HadoopFiles(topology.sources[0].data.sparkSession)
    places: dict[object, str] = {}
    for output in topology.outputs:
        for place in (id(output.sink), _place(files, output.sink)):
            other = places.setdefault(place, output.name) if place is not None else output.name
            if other != output.name:
                raise TopologyError(
                    output.name,
                    f"'{other}' writes to {output.sink.describe()} too",
                    "Unite the two streams before one sink, or give each a sink and a place of "
                    "its own.",
                )


def _place(files: HadoopFiles, sink: object) -> str | None:
    """Name the place that a sink writes to, one way for all ways to write it."""
    if isinstance(sink, JdbcSink | KafkaSink):
        return sink.describe()
    if not isinstance(sink, FileSink):
        return None
    place = files.qualify(sink.path)
    # Only the disk itself knows links and '..'.
    return os.path.realpath(place.removeprefix("file:")) if files.is_local(sink.path) else place


def _with_letters_kept(topology: Topology, checkpoint: str) -> Topology:
    """Give dead letters that nobody takes a place in the checkpoint: nothing is ever dropped."""
    taken = {n for op in topology if isinstance(op, DeadLetters) for n in op.inputs}
    left = tuple(
        op.name
        for op in topology
        if isinstance(op, PythonOperator) and op.on_error == "dead_letter" and op.name not in taken
    )
    if not left:
        return topology
    schema = schema_of(LETTER_TYPE)
    letters = DeadLetters(name="untaken_dead_letters", schema=schema, inputs=left)
    # A directory for every batch would be thousands of files a day where hardly a row fails.
    place = f"{checkpoint.rstrip('/')}/dead_letters"
    sink = FileSink(place, "parquet", publishes_empty=False)
    output = Output(
        name="untaken_dead_letters_sink", schema=schema, inputs=(letters.name,), sink=sink
    )
    return Topology([*topology, letters, output])
