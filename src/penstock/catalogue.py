"""The public API, name by name; ``penstock`` itself hands each out when it is first used."""

from penstock import sinks, sources
from penstock.aggregate import Aggregate
from penstock.autoscaling import autoscale
from penstock.batch_balance import KeyCosts, balance
from penstock.batch_preference import skyline, top_dominant
from penstock.batch_windows import windowed
from penstock.branch import Outlet
from penstock.elasticity.admission import Admission
from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.backlog import Backlog
from penstock.elasticity.batch_time_ratio import BatchTimeRatio
from penstock.elasticity.decision import Decision, Policy
from penstock.elasticity.fuzzy import Fuzzy
from penstock.elasticity.incremental import Incremental
from penstock.elasticity.observation import Observation, OperatorObservation, SourceObservation
from penstock.elasticity.q_learning import QLearning
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.replica_pool import ReplicaPool
from penstock.elasticity.static import Static
from penstock.engine.autoscale_status import AutoscaleStatus, QueryDecision, WatchedStatus
from penstock.engine.autoscaler import Autoscaler
from penstock.engine.executor_slots import ExecutorSlots
from penstock.engine.executors import SlotCounts
from penstock.engine.query import Query, QueryStatus
from penstock.engine.slots import LocalSlots
from penstock.errors import (
    CheckpointError,
    ConfigurationError,
    OperatorError,
    PenstockError,
    QueryError,
    SinkError,
    SinkUnavailable,
    TopologyError,
)
from penstock.grouped import Grouped, Windowed
from penstock.key_state import KeyState
from penstock.lookup.lookup import Lookup, LookupStats
from penstock.lookup.postgres_table import DatabaseAway, PostgresTable
from penstock.placement.cost_aware import CostAware
from penstock.placement.cost_sketch import CostSketch
from penstock.placement.count_min import CountMinSketch
from penstock.placement.key_groups import KeyGroups
from penstock.placement.least_loaded import LeastLoaded
from penstock.placement.placement import Placement
from penstock.placement.round_robin import RoundRobin
from penstock.preference.pane_splitting import PaneSplitting
from penstock.running import run
from penstock.simulation.simulating import simulate
from penstock.stream import Stream
from penstock.topology.adaptation import Combine, Migrate, RePartition, Split
from penstock.topology.dag import Topology
from penstock.topology.optimiser import Optimiser
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
    "Admission",
    "Aggregate",
    "AutoScalePlus",
    "AutoscaleStatus",
    "Autoscaler",
    "Backlog",
    "BatchTimeRatio",
    "CheckpointError",
    "Combine",
    "ConfigurationError",
    "CostAware",
    "CostSketch",
    "CountMinSketch",
    "DatabaseAway",
    "Decision",
    "ExecutorSlots",
    "FixedDelay",
    "Fuzzy",
    "Grouped",
    "GuardRails",
    "Incremental",
    "KSlack",
    "KeyCosts",
    "KeyGroups",
    "KeyState",
    "LeastLoaded",
    "LocalSlots",
    "Lookup",
    "LookupStats",
    "Mark",
    "Migrate",
    "Observation",
    "OperatorError",
    "OperatorObservation",
    "Optimiser",
    "Outlet",
    "PaneSplitting",
    "PenstockError",
    "Placement",
    "Policy",
    "PostgresTable",
    "QLearning",
    "Query",
    "QueryDecision",
    "QueryError",
    "QueryStatus",
    "RePartition",
    "ReplicaPool",
    "RoundRobin",
    "Seen",
    "SinkError",
    "SinkUnavailable",
    "SlotCounts",
    "SourceObservation",
    "Split",
    "Static",
    "Stream",
    "Topology",
    "TopologyError",
    "WatchedStatus",
    "Watermark",
    "WindowAggregate",
    "WindowSpec",
    "Windowed",
    "autoscale",
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
    "simulate",
    "sinks",
    "skyline",
    "sliding",
    "sources",
    "stddev",
    "sum",
    "top_dominant",
    "top_k",
    "tumbling",
    "variance",
    "windowed",
]
