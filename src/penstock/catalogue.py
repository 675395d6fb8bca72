"""The public API, name by name; ``penstock`` itself hands each out when it is first used."""

from penstock import sinks, sources
from penstock.branch import Outlet
from penstock.elasticity.decision import Decision, Policy
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.elasticity.static import Static
from penstock.engine.query import Query, QueryStatus
from penstock.engine.slots import LocalSlots
from penstock.errors import (
    CheckpointError,
    ConfigurationError,
    OperatorError,
    PenstockError,
    QueryError,
    SinkError,
    TopologyError,
)
from penstock.placement.placement import Placement
from penstock.placement.round_robin import RoundRobin
from penstock.running import run
from penstock.stream import Stream
from penstock.topology.dag import Topology
from penstock.windows.watermark import FixedDelay, Watermark

__all__ = [
    "CheckpointError",
    "ConfigurationError",
    "Decision",
    "FixedDelay",
    "LocalSlots",
    "Observation",
    "OperatorError",
    "OperatorObservation",
    "Outlet",
    "PenstockError",
    "Placement",
    "Policy",
    "Query",
    "QueryError",
    "QueryStatus",
    "RoundRobin",
    "SinkError",
    "SourceObservation",
    "Static",
    "Stream",
    "Topology",
    "TopologyError",
    "Watermark",
    "run",
    "sinks",
    "sources",
]
