"""Injects faults by the hundred and prints what became of them.

``python tests/faults/run_campaign.py --faults 300 --seed 1`` runs a campaign; ``--json`` prints
counts as one line of JSON. The exit code is 1 where a fault ended in wrong or missing rows, in a
hang, or in a stop that says nothing clear.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from campaign.outcomes import Outcome, as_json, as_table
from campaign.plan import Campaign, now
from killed_session import session


def main() -> int:
    """Run the campaign that the arguments ask for."""
    asked = argparse.ArgumentParser(description="Inject faults, and compare with Spark.")
    asked.add_argument("--faults", type=int, default=300, help="faults within one Spark session")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--driver-kills", type=int, default=12, help="kills of a driver's process")
    asked.add_argument("--executor-kills", type=int, default=4, help="kills on a cluster")
    asked.add_argument("--worker-kills", type=int, default=4, help="of Python workers on a cluster")
    asked.add_argument("--json", action="store_true", help="print counts as JSON")
    given = asked.parse_args()
    campaign = Campaign(
        given.faults, given.seed, given.driver_kills, given.executor_kills, given.worker_kills
    )
    started = now()

    def tell(outcome: Outcome) -> None:
        line = f"{now() - started:7.1f} {outcome.verdict:8}{outcome.kind}: {outcome.fault}"
        shown = f" -- {outcome.seen}" if outcome.verdict == "wrong" else ""
        print(line + shown, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="penstock-faults-") as where:
        outcomes = campaign.run(session(), Path(where), tell)
    seconds = now() - started
    print(as_json(outcomes, given.seed, seconds) if given.json else as_table(outcomes))
    return int(any(outcome.verdict == "wrong" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
