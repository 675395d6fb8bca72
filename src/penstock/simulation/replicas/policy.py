"""Who says how many replicas each operator has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from penstock.elasticity.decision import Policy, decided
from penstock.elasticity.observation import (
    Observation,
    OperatorObservation,
    SourceObservation,
)


@runtime_checkable
class ReplicaPolicy(Protocol):
    """Is asked at the end of every interval how many replicas each operator should have.

    The observation is of that interval: ``rows_in`` of an operator is what its replicas processed,
    ``rows_out`` what they put out, ``tasks`` the replicas, ``waiting_rows`` its queue and
    ``received_rows`` what came from each of ``inputs``; ``rows`` of a source is what it sent.
    Operators that are not named keep what they have.
    """

    def plan(self, seen: Observation) -> Mapping[str, int]:
        """Return how many replicas operators should have from now on."""
        ...


@dataclass(frozen=True, slots=True)
class FixedReplicas:
    """Leaves everything as it began.

    >>> FixedReplicas().plan(Observation(0, 10.0, 10.0, 10.0, slots=4))
    {}
    """

    def plan(self, seen: Observation) -> Mapping[str, int]:
        """Change nothing."""
        return {}


@dataclass(frozen=True, slots=True)
class PerOperator:
    """Lets a policy of its own decide for every operator, which sees that operator alone.

    To such a policy the operator is the whole query, its replicas are the slots, and what is in
    its queue waits at the source. ``make_policy`` makes one for each operator. ``most_replicas`` is
    what each may ask for.

    >>> from penstock.elasticity.static import Static
    >>> policy = PerOperator(lambda: Static(3))
    >>> parse = OperatorObservation("parse", 500, 500, 5.0, 1, 5.0, 5.0)
    >>> policy.plan(Observation(0, 10.0, 10.0, 10.0, slots=1, operators=(parse,)))
    {'parse': 3}
    """

    make_policy: Callable[[], Policy]
    most_replicas: int | None = None
    _policies: dict[str, Policy] = field(default_factory=dict, init=False, repr=False)

    def plan(self, seen: Observation) -> Mapping[str, int]:
        """Ask every operator's policy."""
        return {each.name: self._ask(seen, each) for each in seen.operators}

    def _ask(self, seen: Observation, operator: OperatorObservation) -> int:
        alone = project(seen, operator, self.most_replicas)
        policy = self._policies.get(operator.name)
        if policy is None:
            policy = self._policies[operator.name] = self.make_policy()
            began = alone.started_seconds
            policy.decide(
                Observation(
                    -1,
                    began,
                    0.0,
                    alone.trigger_seconds,
                    alone.slots,
                    most_slots=self.most_replicas,
                )
            )
        return decided(policy.decide(alone)).slots


def project(
    seen: Observation, operator: OperatorObservation, most_replicas: int | None = None
) -> Observation:
    """Return what an operator's own policy sees: the operator as if it were the whole query.

    An interval is one long batch without a trigger, so that policies go by how busy replicas are.
    """
    source = f"input of {operator.name}"
    return replace(
        seen,
        trigger_seconds=None,
        slots=max(1, operator.tasks),
        operators=(replace(operator, inputs=(source,), received_rows=()),),
        sources=(SourceObservation(source, operator.rows_in, operator.waiting_rows),),
        used_slots=None,
        most_slots=most_replicas,
    )
