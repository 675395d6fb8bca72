"""Autoscale: attaches to the streaming queries of a session that somebody else started."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from pyspark.sql import SparkSession

from penstock.arguments import shown
from penstock.classic_session import require_session
from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.decision import Policy
from penstock.engine.autoscaler import Autoscaler, AutoscaleSetting
from penstock.engine.present_slots import PresentSlots
from penstock.engine.slots import ElasticSlots, LocalSlots, Slots
from penstock.errors import ConfigurationError
from penstock.journal.writer import JournalWriter
from penstock.metrics.beside import metrics_of


def autoscale(
    spark: SparkSession,
    policy: Policy | None = None,
    slots: Slots | None = None,
    *,
    dry_run: bool = False,
    journal: str | os.PathLike[str] | None = None,
    queries: Iterable[str] | None = None,
    metrics_port: int | None = None,
    metrics_host: str | None = None,
    clock: Callable[[], float] = time.time,
) -> Autoscaler:
    """Have slots for the streaming queries of a session ahead of their load, or say how many.

    Parameters
    ----------
    spark
        The session. All its streaming queries are looked after, those that run already and those
        that start later; those that ``ps.run`` started look after themselves.
    policy
        Decides how many slots a query should have; ``ps.AutoScalePlus()`` unless given. Every query
        gets a copy of its own.
    slots
        Where slots come from: ``ps.ExecutorSlots(min=1, max=20)``. A dry run only heeds its
        ``max``; without it, it never wants more slots than there are.
    dry_run
        Change nothing: only journal what would be done, and why.
    journal
        A directory for the event log; without it there is only ``decisions()`` and the logger
        ``penstock.autoscale``.
    queries
        Look after these only, by their names or ids.
    metrics_port
        Serve metrics for Prometheus on this port until ``stop()``, from the journal, which must be
        given too; 0 chooses a free one, and ``metrics_address`` says which.
    metrics_host
        The address they are served on: ``"127.0.0.1"``, for this machine only, unless given.
    clock
        Where the time comes from, in seconds since the epoch.

    """
    spark = require_session(spark, "autoscale", "ps.autoscale(spark, ...)")
    if not isinstance(dry_run, bool):
        raise ConfigurationError(f"dry_run={shown(dry_run)}. Write dry_run=True, or leave it out.")
    policy = AutoScalePlus() if policy is None else policy
    _check_policy(policy)
    setting = AutoscaleSetting(
        policy=policy,
        # In a dry run nobody attaches to the pool, so what there is must be asked elsewhere.
        slots=PresentSlots() if dry_run or slots is None else slots,
        pool=None if dry_run else _elastic(slots),
        most_slots=_most(slots),
        queries=_names(queries),
        clock=clock,
    )
    if metrics_port is not None and journal is None:
        raise ConfigurationError(
            f"metrics_port={metrics_port!r} has no journal to read. Write journal='a-directory' "
            "too."
        )
    with metrics_of(metrics_port, metrics_host) as with_metrics:
        writer = None if journal is None else JournalWriter(_directory(journal), clock=clock)
        try:
            scaler = Autoscaler(spark, setting, writer)
        except BaseException:
            if writer is not None:
                writer.close()
            raise
        return scaler if journal is None else with_metrics(scaler, _directory(journal))


def _check_policy(policy: Any) -> None:
    # A class has the methods of its objects, and can't be called like one.
    if isinstance(policy, type) or not isinstance(policy, Policy):
        shown = f"the class {policy.__name__}" if isinstance(policy, type) else repr(policy)
        raise ConfigurationError(
            f"policy is {shown}. Give an object that decides, such as ps.Static(4)."
        )
    try:
        deepcopy(policy)
    except Exception as error:
        raise ConfigurationError(
            f"a {type(policy).__name__} can't be copied ({error}), and every query gets a copy. "
            "Keep locks, files and connections out of it, or give it a __deepcopy__."
        ) from error


def _elastic(slots: Slots | None) -> ElasticSlots:
    if isinstance(slots, ElasticSlots) and not isinstance(slots, type):
        return slots
    shown = "no slots were given" if slots is None else f"{slots!r} can't be changed"
    raise ConfigurationError(
        f"autoscale has nothing to change: {shown}. Write slots=ps.ExecutorSlots(min=1, max=20) "
        "on a cluster, or dry_run=True to be told only what it would do."
    )


def _most(slots: Slots | None) -> int | None:
    if isinstance(slots, ElasticSlots):
        return slots.most
    return slots.max if isinstance(slots, LocalSlots) else None


def _names(queries: Any) -> frozenset[str] | None:
    if queries is None:
        return None
    is_several = isinstance(queries, Iterable) and not isinstance(queries, str)
    names = list(queries) if is_several else [queries]
    if not names or not all(isinstance(name, str) for name in names):
        raise ConfigurationError(
            f"queries={shown(queries)} names no queries. Write queries=['clicks'], or leave it "
            "out to look after all."
        )
    return frozenset(names)


def _directory(journal: Any) -> str:
    if not isinstance(journal, str | os.PathLike) or journal == "":
        raise ConfigurationError(
            f"journal={journal!r} is no directory. Write for example journal='autoscale-journal'."
        )
    return str(os.fspath(journal))
