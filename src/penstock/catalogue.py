"""The public API, name by name; ``penstock`` itself hands each out when it is first used."""

from penstock import sinks, sources
from penstock.aggregate import Aggregate
from penstock.batch_balance import KeyCosts, balance
from penstock.batch_windows import windowed
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
from penstock.grouped import Grouped, Windowed
from penstock.key_state import KeyState
from penstock.placement.cost_aware import CostAware
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.count_min import CountMinSketch
from penstock.placement.key_groups import KeyGroups
from penstock.placement.least_loaded import LeastLoaded
from penstock.placement.placement import Placement
from penstock.placement.round_robin import RoundRobin
from penstock.running import run
from penstock.stream import Stream
from penstock.topology.dag import Topology
from penstock.windows.aggregates import (
    WindowAggregate,
    avg,
    collect,
    count,
    count_distinct,
    first,
    frequent,
    last,
    max,
    min,
    quantile,
    stddev,
    sum,
    top_k,
    variance,
)
from penstock.windows.kslack import KSlack
from penstock.windows.specs import WindowSpec, sliding, tumbling
from penstock.windows.watermark import FixedDelay, Mark, Seen, Watermark

__all__ = [
    "Aggregate",
    "CheckpointError",
    "ConfigurationError",
    "CostAware",
    "CostSketch",
    "CountMinSketch",
    "Decision",
    "FixedDelay",
    "Grouped",
    "KSlack",
    "KeyCosts",
    "KeyGroups",
    "KeyState",
    "LeastLoaded",
    "LocalSlots",
    "Mark",
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
    "Seen",
    "SinkError",
    "SourceObservation",
    "Static",
    "Stream",
    "Topology",
    "TopologyError",
    "Watermark",
    "WindowAggregate",
    "WindowSpec",
    "Windowed",
    "avg",
    "balance",
    "collect",
    "count",
    "count_distinct",
    "first",
    "frequent",
    "last",
    "max",
    "min",
    "quantile",
    "run",
    "sinks",
    "sliding",
    "sources",
    "stddev",
    "sum",
    "top_k",
    "tumbling",
    "variance",
    "windowed",
]
