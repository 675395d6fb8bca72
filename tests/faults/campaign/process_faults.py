"""Faults of whole processes: the driver with its JVM, executors and Python workers of a cluster."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from pathlib import Path

from killing import kills, run_job

from campaign.job import Job, write_batch
from campaign.outcomes import Outcome
from penstock.engine.steps import Step

_FAULTS = Path(__file__).parents[1]
# Without the one that this job does not come to.
STEPS = [step for step in Step if step is not Step.SHARE]
DRIVER, EXECUTOR, WORKER = "driver killed", "executor killed", "Python worker killed on a cluster"


def driver_kills(job: Job, count: int, seed: int) -> list[Outcome]:
    """Kill the driver and its JVM, each time at another step or moment, then let it end."""
    where = job.where / "driver-kills"
    (where / "in").mkdir(parents=True)
    for number in range(count + 2):
        write_batch(where / "in", number)
    script = _FAULTS / "killed_campaign_job.py"
    outcomes = []
    for kill in kills(count, seed, STEPS):
        code = run_job(where, job=script, **kill)  # type: ignore[arg-type]
        died = code == -signal.SIGKILL
        outcomes.append(
            Outcome(DRIVER, str(kill), "stopped" if died else "wrong", f"exit code {code}")
        )
    last = run_job(where, job=script)
    problem = replace(job, source=where / "in", where=where).differences()
    if last or problem:
        seen = f"exit code {last} at the end; {problem}"
        return [replace(each, verdict="wrong", seen=seen) for each in outcomes]
    return outcomes


def cluster_kills(job: Job, executors: int, workers: int) -> list[Outcome]:
    """Kill executors and Python workers of a cluster, one in a micro-batch; Spark tries again."""
    sys.path.append(str(_FAULTS.parent / "cluster"))
    from jobs import Jobs
    from standalone import cluster

    where = job.where / "cluster"
    where.mkdir(parents=True)
    kinds = ["executor"] * executors + ["worker"] * workers
    with cluster(where / "daemons") as master:
        jobs = Jobs(master, Path(sys.executable), where, disk=None)
        program = _FAULTS / "executor_kills_job.py"
        told = jobs.run_alone(program, where, ",".join(kinds), within_seconds=1_500)
    outcomes = []
    for each in told["told"]:
        problem = each["problem"] or told["differences"]
        kind = EXECUTOR if each["kind"] == "executor" else WORKER
        fault = "SIGKILL in a micro-batch"
        outcomes.append(Outcome(kind, fault, "wrong" if problem else "exact", problem))
    return outcomes
