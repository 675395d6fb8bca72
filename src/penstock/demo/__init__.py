"""The demonstration: an ordinary job on a load that comes in bursts."""

from penstock.demo.directory import claim
from penstock.demo.job import TRIGGER_SECONDS, Load, look_up, read_back, start, topology

__all__ = ["TRIGGER_SECONDS", "Load", "claim", "look_up", "read_back", "start", "topology"]
