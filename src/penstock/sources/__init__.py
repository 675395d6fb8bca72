"""Streams to try things on, rate traces replayed and load that follows a formula; and Kafka's."""

from penstock.elasticity.lag import waiting_rows
from penstock.sources.cost import KeyCost
from penstock.sources.delays import ExponentialDelay, NoDelay, UniformDelay
from penstock.sources.kafka_once import kafka_once
from penstock.sources.keys import UniformKeys, ZipfKeys
from penstock.sources.patterns import Pattern, Ramp, Sine, Spikes, Steady, Steps
from penstock.sources.replay import generate, replay
from penstock.sources.trace import Trace
from penstock.sources.trace_reading import read_trace

__all__ = [
    "ExponentialDelay",
    "KeyCost",
    "NoDelay",
    "Pattern",
    "Ramp",
    "Sine",
    "Spikes",
    "Steady",
    "Steps",
    "Trace",
    "UniformDelay",
    "UniformKeys",
    "ZipfKeys",
    "generate",
    "kafka_once",
    "read_trace",
    "replay",
    "waiting_rows",
]
