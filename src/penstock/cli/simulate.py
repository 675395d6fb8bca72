"""``penstock simulate``: policies compared on a trace, on a simulated cluster."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from penstock.cli.policy_names import USUAL
from penstock.cli.time_left import Shown
from penstock.errors import ConfigurationError
from penstock.reproduction.result import Reproduction
from penstock.reproduction.writing import make_folder, write_reproduction
from penstock.simulation.comparison import Simulation
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.replicas.engine import ReplicaEngine
from penstock.simulation.replicas.mechanisms import Pool, Restart
from penstock.simulation.report.figures import figures_of
from penstock.simulation.report.page import page
from penstock.simulation.simulating import simulate
from penstock.simulation.trial import PSPS, Cluster, Measures, Outcome

_SHORT = {
    "saved": "saved",
    "degradation": "degr.",
    "processed": "done",
    "mean_latency_seconds": "mean s",
    "p95_latency_seconds": "95 % s",
    "p99_latency_seconds": "99 % s",
    "slot_hours": "slot-h",
    "changes": "chg",
    "behind_seconds": "behind",
}


_POLICY_WIDTH, _NUMBER_WIDTH = 20, 6
# In this order they are left out where the terminal is narrow.
_DISPENSABLE = (
    "degradation",
    "p95_latency_seconds",
    "changes",
    "behind_seconds",
    "mean_latency_seconds",
    "processed",
    "slot_hours",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asks for; ``command`` is the words that were typed."""

    trace: str
    topology: str
    policies: Sequence[str] = ()
    mechanism: str = "micro-batch"
    trigger_seconds: float | None = 1.0
    least_slots: int = 1
    most_slots: int = 8
    executor_seconds: float = 15.0
    interval_seconds: float = 10.0
    downtime_seconds: float = 10.0
    settings: Sequence[str] = ()
    seed: int = 0
    workers: int | None = None
    out: Path | None = None
    journal: bool = False
    html: Path | None = None
    command: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Simulated:
    """What was found, and the files that were written."""

    asked: Asked
    simulation: Simulation
    files: tuple[Path, ...]


def run(asked: Asked, show: Shown) -> Simulated:
    """Simulate, and write what was asked for."""
    _check_files(asked)
    policies = tuple(asked.policies) or (
        (PSPS, "incremental") if asked.mechanism != "micro-batch" else ("static", *USUAL)
    )
    found = simulate(
        asked.trace,
        asked.topology,
        policies,
        cluster=cluster_of(asked),
        sweep=asked.settings,
        seed=asked.seed,
        workers=asked.workers or 0,
        journals=asked.out / "journal" if asked.journal and asked.out else None,
        on_progress=show,
    )
    return Simulated(asked, found, _written(asked, found))


def cluster_of(asked: Asked) -> Cluster:
    """Return the cluster that was asked for."""
    if asked.mechanism == "micro-batch":
        return MicroBatch(
            trigger_seconds=asked.trigger_seconds,
            least_slots=asked.least_slots,
            most_slots=asked.most_slots,
            executor_seconds=asked.executor_seconds,
        )
    restart = asked.mechanism == "restart"
    return ReplicaEngine(
        interval_seconds=asked.interval_seconds,
        most_replicas=asked.most_slots,
        mechanism=Restart(asked.downtime_seconds) if restart else Pool(),
    )


def _check_files(asked: Asked) -> None:
    """Refuse files that can't be written, before anything long begins."""
    if asked.journal and asked.out is None:
        raise ConfigurationError("--journal needs a folder to write to. Write --out DIR with it.")
    if asked.out is not None:
        make_folder(asked.out, "--out")
    if asked.html is not None:
        make_folder(asked.html.parent, "--html")
        if asked.html.is_dir():
            raise ConfigurationError(f"{asked.html} is a folder. Write --html report.html.")


def _written(asked: Asked, found: Simulation) -> tuple[Path, ...]:
    try:
        return _write(asked, found)
    except OSError as error:
        raise ConfigurationError(
            f"{error.filename} can't be written: {error.strerror}. Name another place."
        ) from error


def _write(asked: Asked, found: Simulation) -> tuple[Path, ...]:
    files: list[Path] = []
    if asked.out is not None:
        files.append(_write_measures(asked.out / "simulation.csv", found.outcomes))
        drawn = Reproduction("simulation", found.topology.name, (), figures_of(found))
        files += write_reproduction(drawn, asked.out)
    if asked.journal and asked.out is not None:
        files.append(asked.out / "journal")
    if asked.html is not None:
        text = page(found, _about(asked, found), shlex.join(["penstock", *asked.command]))
        asked.html.write_text(text, "utf-8")
        files.append(asked.html)
    return tuple(files)


def _write_measures(path: Path, outcomes: Sequence[Outcome]) -> Path:
    names = [each.name for each in fields(Measures)]
    swept = list(dict.fromkeys(name for each in outcomes for name in each.trial.settings))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["policy", *swept, *names])
        for each in outcomes:
            numbers = asdict(each.measures)
            tried = [each.trial.settings.get(name, "") for name in swept]
            writer.writerow([each.label, *tried, *(numbers[name] for name in names)])
    return path


def _about(asked: Asked, found: Simulation) -> dict[str, str]:
    load = found.load
    seconds = load.duration_seconds
    about = {
        "trace": f"{asked.trace}: {load.rows:,} rows in {seconds:,.0f} s",
        "topology": f"{asked.topology}: {len(found.topology.operators)} operators, "
        f"{1e3 * found.topology.seconds_per_row():.4g} ms of a slot for each row",
        "cluster": str(found.outcomes[0].trial.cluster),
        "seed": str(asked.seed),
    }
    if asked.settings:
        about["swept over"] = "; ".join(asked.settings)
    return about


def as_dict(done: Simulated) -> dict[str, Any]:
    """Lay out all that was found, for programs."""
    found = done.simulation
    return {
        "trace": done.asked.trace,
        "rows": found.load.rows,
        "seconds": found.load.duration_seconds,
        "topology": found.topology.name,
        "mechanism": done.asked.mechanism,
        "seed": done.asked.seed,
        "runs": [_outcome_dict(each) for each in found.outcomes],
        "best": found.best.label,
        "advice": found.advice,
        "files": [str(file) for file in done.files],
    }


def _outcome_dict(outcome: Outcome) -> dict[str, Any]:
    run = outcome.run
    return {
        "label": outcome.label,
        "settings": dict(outcome.trial.settings),
        "most_slots": outcome.most_slots,
        **asdict(outcome.measures),
        "mean_slots": run.mean_slots,
        "failed": dict(run.failed),
        "journal": None if outcome.trial.journal is None else str(outcome.trial.journal),
    }


def as_screen(done: Simulated, width: int = 80) -> Group:
    """Lay out all that was found, for people; a narrow terminal gets fewer of the numbers."""
    found = done.simulation
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("policy", overflow="fold")
    names = _columns(width)
    for name in names:
        table.add_column(_SHORT[name], justify="right", no_wrap=True)
    for each in found.outcomes:
        numbers = asdict(each.measures)
        style = "bold" if each is found.best and len(found.outcomes) > 1 else ""
        cells = [_cell(name, numbers[name]) for name in names]
        table.add_row(Text(each.label), *cells, style=style)
    about = _about(done.asked, found)
    parts: list[Any] = [Text(f"{about['trace']}\n{about['topology']}"), table, Text(found.advice)]
    if done.files:
        parts.append(Text(f"Written: {', '.join(str(file) for file in done.files)}"))
    return Group(*parts)


def _columns(width: int) -> list[str]:
    """Return the numbers that leave room for the policies' names."""
    most = max(1, (width - _POLICY_WIDTH) // _NUMBER_WIDTH)
    left_out = _DISPENSABLE[: max(0, len(_SHORT) - most)]
    return [name for name in _SHORT if name not in left_out]


def _cell(name: str, value: float) -> str:
    if name in ("saved", "degradation", "processed"):
        return f"{value:.4f}" if name == "processed" else f"{value:.3f}"
    if name == "changes":
        return f"{value}"
    return f"{value:,.0f}" if value >= 1_000 or name == "behind_seconds" else f"{value:.2f}"
