"""Elastic, data-aware stream processing for PySpark: the catalogue of the public API."""

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
from penstock.run import run
from penstock.stream import Stream
from penstock.topology.dag import Topology
from penstock.version import __version__
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
    "__version__",
    "run",
    "sinks",
    "sources",
]
