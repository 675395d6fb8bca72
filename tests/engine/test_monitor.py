"""What the monitor makes of the measurements of a batch."""

from __future__ import annotations

from penstock.elasticity.observation import Observation
from penstock.elasticity.shed_rows import ShedRows
from penstock.elasticity.static import Static
from penstock.engine.control_loop import ControlLoop
from penstock.engine.measurement import Measured
from penstock.engine.monitor import Monitor
from penstock.engine.progress import Progress
from penstock.engine.slots import LocalSlots
from penstock.journal.events import BatchFinished, KnownEvent
from penstock.topology.dag import Topology
from penstock.topology.jobs import jobs
from topology.builders import sink, source, union


def test_rows_that_were_shed_do_not_wait_any_more() -> None:
    topology = Topology([source("a"), source("b"), union("u", "a", "b"), sink("out", "u")])
    events: list[KnownEvent] = []
    frame = Observation(3, 100.0, 0.5, 1.0, slots=2)
    loop = ControlLoop(Static(2), LocalSlots(max=2), events.append, frame)
    shed = {"a": ShedRows(too_old=20, too_many=30)}
    monitor = Monitor(topology, jobs(topology), loop, events.append, lambda: shed)
    measured = Measured({}, {"a": 40, "b": 70}, {})
    monitor.after_batch(frame, measured, {}, Progress(2, {"a": 100, "b": 90}), list)
    loop.close()
    (finished,) = [event for event in events if isinstance(event, BatchFinished)]
    left = {each.name: (each.rows, each.waiting_rows) for each in finished.observation.sources}
    assert left == {"a": (40, 100 - 40 - 50), "b": (70, 20)}
