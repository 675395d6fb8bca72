"""Figures of the simulator: what it is given, its streams, its engines, and what it finds."""

from __future__ import annotations

import numpy as np
from axes import Axes

import penstock as ps
from drawing import BLUE, BROWN, FAINT, GREEN, MUTED, ORANGE, RED, VIOLET, Drawing
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.operator.groupings import FullKnowledge, Posg, RoundRobin
from penstock.simulation.operator.simulating import simulate as simulate_operator
from penstock.simulation.operator.tuples import evenly_spaced
from penstock.simulation.published.psps import PublishedPsps
from penstock.simulation.replicas import LeastLoaded, Pool, ReplicaEngine, Restart
from penstock.simulation.replicas import simulate as simulate_replicas
from penstock.simulation.topology_file import read_topology
from penstock.simulation.topology_text import topology_of_text
from penstock.simulation.workloads.burstiness import index_of_dispersion
from penstock.simulation.workloads.named import workload_named
from penstock.sources.trace import trace_of_counts


def simulation() -> Drawing:
    """What goes in, and the frontier that comes out."""
    policies = [
        *(f"static:{slots}" for slots in (7, 8, 9, 10, 12, 16)),
        *(f"replica-pool:utilisation={each}" for each in (0.6, 0.75, 0.9)),
        *(f"auto-scale-plus:margin={each}" for each in (0.1, 0.25, 0.4)),
    ]
    rng = np.random.default_rng(1)
    load = [float(rng.poisson(450 + 800 * max(0.0, np.sin(t / 95)))) for t in range(600)]
    found = ps.simulate(load, "tweets", policies, cluster=MicroBatch(most_slots=16))
    d = Drawing(372, "What a simulation is given and the frontier that it finds")
    d.heading(24, 34, "Given")
    for place, (words, detail, colour) in enumerate(
        (
            ("a trace", "rows per second", BLUE),
            ("a topology", "what rows cost", BLUE),
            ("a cluster", "slots, in numbers", BLUE),
        )
    ):
        y = 50 + place * 60
        d.box(24, y, 138, 48, words, detail=detail, colour=colour)
        d.line([(162, y + 24), (180, y + 24)])
    d.arrow([(180, 74), (180, 234), (93, 234), (93, 252)])
    d.box(24, 252, 138, 64, "simulator", detail="the live policies", colour=VIOLET, filled=0.16)
    d.arrow([(162, 284), (206, 284)], MUTED, width=2)
    axes = Axes(d, (250, 62), (440, 226), (0, 70), (0, 16))
    axes.frame(
        [0, 20, 40, 60], [0, 4, 8, 12, 16], y_label="99 % of rows are done within so many seconds"
    )
    colours = {"static": MUTED, "replica-pool": BLUE, "auto-scale-plus": ORANGE}
    for each in found.outcomes:
        kind = each.label.partition(":")[0].partition(" ")[0]
        saved, slow = 100 * each.measures.saved, each.measures.p99_latency_seconds
        if slow <= 16:
            d.dot(*axes.at(saved, slow), colours[kind], radius=5)
    best = found.best
    x, y = axes.at(100 * best.measures.saved, best.measures.p99_latency_seconds)
    d.dot(x, y, GREEN, radius=9, hollow=True)
    d.dot(x, y, colours[best.label.partition(":")[0]], radius=5)
    d.text(x, y + 21, "recommended", size=13, colour=GREEN, bold=True)
    d.note(axes.right, 324, "% of the slots saved", anchor="end")
    d.key(250, 354, [("static", MUTED), ("replica pool", BLUE), ("AutoScale+", ORANGE)], step=130)
    return d


def workloads() -> Drawing:
    """Six streams of ten minutes, as they are drawn."""
    names = (
        ("progressive:low=200,high=2000,seconds=600", "progressive", BLUE),
        ("erratic:low=200,high=2000,seconds=600", "erratic", ORANGE),
        ("poisson:rate=1000,seconds=600", "poisson", GREEN),
        ("map2:rate=1000,dispersion=1000,seconds=600", "map2, dispersion 1,000", VIOLET),
        ("self-similar:rate=1000,hurst=0.8,seconds=600", "self-similar, Hurst 0.8", BROWN),
        ("random-walk:rate=1000,seconds=600", "random walk", RED),
    )
    d = Drawing(402, "Six workloads over ten minutes")
    for place, (text, words, colour) in enumerate(names):
        column, line = place % 2, place // 2
        trace = workload_named(text).trace
        counts = _by_seconds(trace.counts, 600)
        bound = 4000
        axes = Axes(d, (60 + column * 344, 44 + line * 118), (290, 66), (0, 600), (0, bound))
        axes.frame([0, 300, 600] if line == 2 else [], [0, bound / 2, bound])
        rates = np.minimum(bound, counts.reshape(-1, 4).mean(axis=1))
        xs = np.arange(len(rates)) * 4.0 + 2
        axes.fill(xs.tolist(), rates.tolist(), colour)
        axes.curve(xs.tolist(), rates.tolist(), colour, width=1.3)
        d.text(axes.left, axes.top - 9, words, size=13, bold=True, anchor="start", colour=colour)
        spread = index_of_dispersion(counts, together=5)
        d.note(axes.right, axes.top - 9, f"var/mean {_round(spread)}", anchor="end")
    d.note(694, 388, "rows per second over seconds; var/mean of what comes in 5 s", anchor="end")
    return d


def _by_seconds(counts: tuple[int, ...], seconds: int) -> np.ndarray:
    numbers = np.array(counts, dtype=np.float64)
    return numbers[: len(numbers) // seconds * seconds].reshape(seconds, -1).sum(axis=1)


def _round(number: float) -> str:
    return f"{number:.1f}" if number < 10 else f"{float(f'{number:.2g}'):,.0f}"


SHOP = """\
name: shop
sources:
  orders: {share: 0.75}
  visits: {share: 0.25}
operators:
  parse:
    inputs: [orders, visits]
    seconds: 1/2000
  look_up:
    inputs: {parse: 0.4}
    seconds: 0.008
  score:
    inputs: look_up
    seconds: 0.01
    selectivity: 0.1
"""


def topology_files() -> Drawing:
    """A small file, and the topology that it says."""
    shop = topology_of_text(SHOP, "shop.yaml", "shop")
    d = Drawing(328, "A topology file and the topology that it describes")
    d.box(24, 20, 246, 288, colour=FAINT, filled=0.08, radius=8)
    for place, line in enumerate(SHOP.splitlines()):
        indent = len(line) - len(line.lstrip())
        d.text(40 + indent * 8, 44 + place * 18, line.strip(), size=12.5, mono=True, anchor="start")
    tops = {"orders": 62, "visits": 146}
    for source in shop.sources:
        y = tops[source.name]
        d.box(318, y, 104, 52, source.name, detail=f"{100 * source.share:g} % of rows", colour=BLUE)
        d.arrow([(422, y + 26), (446, y + 26), (446, 130), (468, 130)])
    places = {"parse": (468, 104), "look_up": (468, 224), "score": (592, 224)}
    for operator in shop.operators:
        x, y = places[operator.name]
        took = 1e3 * operator.law.mean_seconds()
        d.box(x, y, 104, 52, operator.name, detail=f"{took:g} ms a row", colour=ORANGE)
    shares = shop.operators[1].inputs
    d.arrow([(520, 156), (520, 224)])
    d.text(530, 194, f"{100 * shares['parse']:g} % of them", size=13, anchor="start")
    d.arrow([(572, 250), (592, 250)])
    d.arrow([(644, 276), (644, 304)])
    d.note(636, 298, f"{shop.operators[2].selectivity:g} rows out per row in", anchor="end")
    return d


def simulation_operator() -> Drawing:
    """Completion times of tuples under three groupings."""
    rng = np.random.default_rng(1)
    keys = rng.zipf(1.5, 60_000) % 4096
    seconds = rng.integers(1, 65, 4096)[keys] / 1000
    tuples = evenly_spaced(keys, seconds, instances=5, provisioning=1.02)
    posg = Posg(mu=1.0, idle_counts=True, resync_tuples=1024)
    d = Drawing(366, "Completion times of tuples under three groupings")
    runs = (
        ("round robin", RoundRobin(), RED),
        ("POSG", posg, BLUE),
        ("full knowledge", FullKnowledge(), GREEN),
    )
    done = [
        (words, simulate_operator(tuples, 5, how, network_seconds=0.001), c)
        for words, how, c in runs
    ]
    block = 500
    means = [run.seconds.reshape(-1, block).mean(axis=1) for _, run, _ in done]
    top = float(np.ceil(max(each.max() for each in means) * 2) / 2)
    axes = Axes(d, (66, 54), (630, 240), (0, 60), (0, top))
    axes.frame(
        [0, 20, 40, 60],
        [0, top / 2, top],
        x_label="thousand tuples",
        y_label="completion time in seconds, means of 500 tuples",
    )
    xs = [(place + 0.5) * block / 1_000 for place in range(len(means[0]))]
    for mean, (_, _, colour) in zip(means, done, strict=True):
        axes.curve(xs, mean.tolist(), colour, width=1.8)
    since = done[1][1].run_from
    if since is not None:
        x = axes.x(since / 1_000)
        d.line([(x, axes.top), (x, axes.bottom)], BLUE, width=1.2, dashed=True)
        d.text(x + 8, axes.top + 14, "POSG has its sketches", size=13, colour=BLUE, anchor="start")
    entries = [(f"{words}: {run.mean_seconds:.2f} s", colour) for words, run, colour in done]
    d.key(66, 346, entries, step=212)
    return d


def simulation_replicas() -> Drawing:
    """The same policy on replicas that are switched on, and on an engine that restarts."""
    tweets = read_topology("tweets")
    rng = np.random.default_rng(6)
    counts = [
        int(rng.poisson(300 + 1_500 * (60 <= t < 210) * min(1.0, (t - 60) / 60)))
        for t in range(300)
    ]
    load = Load(trace_of_counts(counts))
    d = Drawing(382, "Rows done when replicas are switched on, and when everything restarts")
    for place, (words, mechanism, colour) in enumerate(
        (
            ("Pool: replicas are switched on and off", Pool(), GREEN),
            ("Restart: every change stops all for 5 s", Restart(5.0), RED),
        )
    ):
        engine = ReplicaEngine(
            interval_seconds=10,
            timeout_seconds=30,
            queue_limit=100_000,
            grouping=LeastLoaded(remembers=False),
            mechanism=mechanism,
            most_replicas=8,
        )
        run = simulate_replicas(tweets, load, PublishedPsps.knowing(tweets), engine)
        axes = Axes(d, (66, 56 + place * 150), (450, 100), (0, 300), (0, 2.5))
        axes.frame([0, 100, 200, 300] if place else [], [0, 1, 2])
        d.text(66, axes.top - 12, words, size=13, bold=True, anchor="start", colour=colour)
        seconds = range(0, 300, 2)
        into = run.timeline.rows_in[:300].reshape(-1, 2).mean(axis=1) / 1e3
        out = np.minimum(2.5, run.timeline.rows_done[:300].reshape(-1, 2).mean(axis=1) / 1e3)
        axes.fill(seconds, into.tolist(), FAINT)
        axes.curve(seconds, into.tolist(), FAINT, width=1.2)
        axes.curve(seconds, out.tolist(), colour, width=1.6)
        d.text(
            534, axes.top + 36, f"{100 * run.processed:.1f} % of rows done", size=13, anchor="start"
        )
        d.text(
            534, axes.top + 58, f"{run.mean_latency_seconds:.1f} s latency", size=13, anchor="start"
        )
        d.text(534, axes.top + 80, f"{run.changes} changes", size=13, anchor="start")
    d.note(516, 342, "seconds", anchor="end")
    d.key(66, 362, [("thousand rows a second that come", FAINT)], step=250)
    d.key(340, 362, [("done, pool", GREEN), ("done, restart", RED)], step=120)
    return d


FIGURES = {
    "simulation": simulation,
    "workloads": workloads,
    "topology-files": topology_files,
    "simulation-operator": simulation_operator,
    "simulation-replicas": simulation_replicas,
}
