"""The tables of PSPS's evaluation: what the paper prints, which run it is, why they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.reproduction.psps_experiments import (
    HELD_DOWNTIME_SECONDS,
    LOST_DOWNTIME_SECONDS,
    Experiment,
    dabs,
    storm,
)
from penstock.simulation.replicas import ByChance, LeastLoaded, Restart
from penstock.simulation.replicas.mechanisms import Meanwhile

METRICS = ("saved resources", "throughput degradation", "processed", "latency")
Printed = tuple[float, float, float, float]
PSPS: Printed = (0.5617, 0.1831, 0.9987, 2098.91)
DABS: Printed = (0.3962, 0.2849, 0.8283, 1391.28)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table: what was run, what the paper prints, and why the two must differ."""

    label: str
    experiment: Experiment
    printed: Printed | None
    why: Mapping[str, str]


RUN_OF_PSPS = Experiment("PSPS")
RUN_OF_DABS = dabs("DABS-Storm", Restart(HELD_DOWNTIME_SECONDS))
_LOST = dabs("DABS-Storm, rows lost", Restart(LOST_DOWNTIME_SECONDS, "lose"))
_LITERAL = Experiment("PSPS, load balancing with memory", grouping=LeastLoaded())
RUN_ON_DNS = Experiment("PSPS on DNS", topology="dns", stream="dns")

_SMOOTH = (
    "Rows come evenly within each second here and replicas always work: what is left of the "
    "difference between input and output are queues that grow and shrink."
)
_FROM_START = (
    "Equation 1 knows the load of the interval before, and rows wait while it rises; the table of "
    "benchmarks below shows that times measured 10 to 15 % too high make it what is printed."
)
_LATER = "With a timeout of 30 s, rows that waited longer fail here; in the paper they were done."
_PLAIN: Mapping[str, str] = {"throughput degradation": _SMOOTH, "latency": _FROM_START}
_LONG = {**_PLAIN, "processed": _LATER, "latency": "Rows that would wait longest failed."}
_SHORT = {
    "processed": "A short timeout fails the rows of every rise of the load, in full.",
    "latency": "The latency of rows that were in time; they had four ways of 35 ms each.",
    "throughput degradation": "Rows that fail are missing in the output.",
}
_SMALL = {
    "processed": "All replicas of an operator share the limit here. Where each thread's buffers "
    "have one, bursts within a second overflow them.",
    "throughput degradation": _SMOOTH,
    "latency": "Four ways of 35 ms each, calibrated with r = 8; the paper prints less than that.",
}
_ALONE = {
    "latency": "A queue without a limit makes the rows that are done wait for 7 minutes on "
    "average; 197 s is possible only where time counts from when a spout lets a row in.",
    "throughput degradation": "761 rows a second of what comes; the paper's own 0.3319 of rows "
    "processed says as much.",
}
_FOUR = {
    "throughput degradation": "Four replicas hold 3,044 rows a second, the stream 5,751.",
    "latency": "At 0.27 s nothing could have waited, and 0.86 degradation says that much did: the "
    "paper's row contradicts itself.",
}
_MEMORY = dict.fromkeys(
    METRICS,
    "Algorithm 1 as printed gives a replica that was just switched on every row until it had as "
    "many as the others in the last interval, half a minute's work in seconds.",
)
_RESTARTS = {
    "saved resources": "AutoScale+ keeps 30 % of each executor free; by how much it was bounded by "
    "the cluster is not printed.",
    "processed": "Only what is in the engine is lost here, and that is little while nothing waits; "
    "the next line loses what comes meanwhile as well.",
}
_LOSES = {
    "saved resources": _RESTARTS["saved resources"],
    "throughput degradation": "What comes meanwhile is missing, but never comes out later.",
    "latency": "A restart empties all queues, so rows that are left have waited little. Printed "
    "1,391 ms and 0.8283 can't be had at once: rows that wait for a restart are not lost in it.",
}
_COMPLEX = {
    "latency": "Calibrated ways of 35 ms each; the paper's 32 ms for all show a faster network.",
    "throughput degradation": _SMOOTH,
}
_STAND_IN = dict.fromkeys(METRICS, "Not comparable: another stream stands in for the DNS traffic.")
_RAW = {
    "processed": "One replica does 761 rows a second, whatever comes.",
    "throughput degradation": _SMOOTH,
    "latency": "As in Table VIII.",
}
_COARSE = {
    "saved resources": "To process 0.98 of 2,456 rows a second keeps 12.6 of 32 replicas busy at "
    "1/761 s a row: no more than 0.605 can be saved. The paper prints 0.745 in Table XI, too.",
    "throughput degradation": "The load of the last 30 s says little of the next.",
}


def tables() -> dict[tuple[str, str], tuple[Line, ...]]:
    """Return the lines of every table, by its name and title."""
    headline = Line("PSPS", RUN_OF_PSPS, PSPS, _PLAIN)
    return {
        ("psps_table_4", "Table IV: time interval td"): (
            Line("td = 30 s", RUN_OF_PSPS, PSPS, _PLAIN),
            _over_interval(60, (0.5390, 0.4332, 0.9979, 5271.01)),
            _over_interval(120, (0.5219, 0.9221, 0.9976, 17068.33)),
            _over_interval(180, (0.5563, 0.8028, 0.9992, 22364.86)),
        ),
        ("psps_table_5", "Table V: timeout"): (
            _over_timeout(1, (0.6164, 0.1000, 0.9030, 369.35)),
            _over_timeout(5, (0.5875, 0.1038, 0.9303, 946.69)),
            _over_timeout(10, (0.5633, 0.1056, 0.9529, 1298.45)),
            Line("timeout 30 s", RUN_OF_PSPS, PSPS, _PLAIN),
        ),
        ("psps_table_6", "Table VI: queue size"): (
            _over_queue(100, (0.6719, 0.1919, 0.6835, 29.91)),
            _over_queue(1_000, (0.6656, 0.1375, 0.6922, 311.93)),
            _over_queue(10_000, (0.6602, 0.1687, 0.7249, 1394.56)),
            Line("queue of 100,000", RUN_OF_PSPS, PSPS, _PLAIN),
        ),
        ("psps_table_7", "Table VII: grouping"): (
            Line(
                "shuffle",
                Experiment("PSPS, shuffle", grouping=ByChance()),
                (0.5390, 0.4332, 0.9979, 5271.01),
                {**_PLAIN, "latency": "The paper's line is that of td = 60 s, printed twice."},
            ),
            Line("load balancing", RUN_OF_PSPS, PSPS, _PLAIN),
            Line("load balancing with memory", _LITERAL, PSPS, _MEMORY),
        ),
        ("psps_table_8", "Table VIII: Storm"): (
            headline,
            Line("r = 1", storm(1), (0.8750, 0.5153, 0.3319, 196962.95), _ALONE),
            Line("r = 4", storm(4), (0.5, 0.8559, 0.9874, 269.75), _FOUR),
            Line("r = 8", storm(8), (0.0, 0.0, 1.0, 153.51), {}),
        ),
        ("psps_table_9", "Table IX: raw stream"): (
            Line(
                "PSPS", replace(RUN_OF_PSPS, stream="raw"), (0.745, 0.4, 0.9791, 2501.46), _COARSE
            ),
            Line("r = 1", storm(1, stream="raw"), (0.875, 0.6706, 0.2822, 48379.95), _RAW),
        ),
        ("psps_table_10", "Table X: DABS-Storm"): (
            headline,
            Line("DABS-Storm", RUN_OF_DABS, DABS, _RESTARTS),
            Line("DABS-Storm, rows lost", _LOST, DABS, _LOSES),
            *(_over_downtime(*each) for each in ((1.0, "hold"), (1.0, "lose"), (10.0, "lose"))),
        ),
        ("psps_table_11", "Table XI: the complex application"): (
            Line(
                "PSPS",
                replace(RUN_OF_PSPS, topology="complex_tweets"),
                (0.745, 0.0911, 0.9970, 219.13),
                _COMPLEX,
            ),
            Line("r = 5", storm(5, topology="complex_tweets"), (0.0, 0.0, 1.0, 31.99), _COMPLEX),
        ),
        ("psps_table_12", "Table XII: DNS"): (
            Line(
                "r = 1",
                storm(1, topology="dns", stream="dns"),
                (0.6666, 0.4521, 0.9759, 476.12),
                _STAND_IN,
            ),
            Line("PSPS", RUN_ON_DNS, (0.6062, 0.3734, 0.9884, 335.95), _STAND_IN),
        ),
        ("psps_benchmark", "PSPS, where its benchmark finds more than rows really take"): tuple(
            Line(
                f"{share} % too much",
                Experiment(f"PSPS, {share} % too much", truth=100 / (100 + share)),
                PSPS,
                {"throughput degradation": _SMOOTH},
            )
            for share in (5, 10, 15, 20)
        ),
    }


def _over_interval(seconds: int, printed: Printed) -> Line:
    label = f"td = {seconds} s"
    return Line(label, Experiment(f"PSPS, {label}", interval_seconds=seconds), printed, _LONG)


def _over_timeout(seconds: int, printed: Printed) -> Line:
    label = f"timeout {seconds} s"
    return Line(label, Experiment(f"PSPS, {label}", timeout_seconds=seconds), printed, _SHORT)


def _over_queue(rows: int, printed: Printed) -> Line:
    label = f"queue of {rows:,}"
    return Line(label, Experiment(f"PSPS, {label}", queue_limit=rows), printed, _SMALL)


def _over_downtime(seconds: float, meanwhile: Meanwhile) -> Line:
    kept = "held" if meanwhile == "hold" else "lost"
    label = f"DABS-Storm, {seconds:g} s down, rows {kept}"
    return Line(label, dabs(label, Restart(seconds, meanwhile)), None, {})
