"""Hours of bursts and faults: does memory grow, do files, do batches get slower, is a row lost?

The demo's topology, with keyed state, runs on a standalone cluster on this machine. While it runs,
Python workers, executors and the driver are killed and a sink fails. In the end every sink is
compared with what Spark makes of the same rows in one batch, and lines are laid through what was
measured. Needs a JDK, for jcmd and jstat.

    python benchmarks/soak.py                          # two hours
    python benchmarks/soak.py --minutes 10 --out out/soak
    python benchmarks/soak.py --draw out/soak          # the curves of a run, also of one under way

The exit code is 1 when something grew or was hardly seen, or a sink does not hold what it should; 3
when something may have grown, in a run that is long enough to show that nothing does (an hour).
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import soak_record
from measuring import show
from soak_job import SLOTS
from soak_judging import Finding, findings, judgement
from soak_topology import SoakLoad
from soak_watch import Soak

# The cluster is that of the tests.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "cluster"))
from standalone import cluster

PICTURE = "curves.png"


def soak(load: SoakLoad, out: Path) -> list[Finding]:
    """Run it, compare the sinks, judge, and draw; what was found is in ``out`` too."""
    out.mkdir(parents=True, exist_ok=True)
    if (out / soak_record.FILE).exists():
        raise SystemExit(f"{out} holds a soak already; give another directory as --out")
    with cluster(out / "cluster", workers=1, cores=SLOTS[1], memory="3g") as master:
        Soak(master, load, out).run()
    shutil.rmtree(out / "cluster", ignore_errors=True)
    from soak_check import compare

    found = findings(soak_record.read(out)) + compare(load, out)
    summary = judgement(found, load.seconds).sentence
    told = {"load": asdict(load), "findings": [asdict(each) for each in found], "summary": summary}
    (out / "findings.json").write_text(json.dumps(told, indent=1))
    draw(out)
    return found


def draw(out: Path) -> None:
    from soak_plot import draw_curves

    draw_curves(soak_record.read(out), out / PICTURE)
    print(f"drawn: {out / PICTURE}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120, help="how long rows come")
    parser.add_argument("--rate", type=float, default=60, help="rows a second on average")
    parser.add_argument("--trigger", type=float, default=5, help="seconds between micro-batches")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--out", type=Path, help="keep all that is written there")
    parser.add_argument(
        "--draw", type=Path, metavar="DIR", help="only draw and judge a run's record"
    )
    chosen = parser.parse_args()
    if chosen.draw:
        draw(chosen.draw)
        found = findings(soak_record.read(chosen.draw))
        seconds = json.loads((chosen.draw / "load.json").read_text())["seconds"]
    else:
        load = SoakLoad(round(60 * chosen.minutes), chosen.rate, chosen.trigger, chosen.seed)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave no process behind
        out = chosen.out or Path(tempfile.mkdtemp(prefix="penstock-soak-"))
        found, seconds = soak(load, out.resolve()), load.seconds
    judged = judgement(found, seconds)
    show([asdict(each) for each in found], "soak", chosen.json, judged.sentence)
    sys.exit(judged.exit_code)


if __name__ == "__main__":
    main()
