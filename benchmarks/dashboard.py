"""How long a day of one-second batches takes to open, and how much memory it takes to look at.

Reads a journal of 86,400 batches of 12 operators as the dashboard does, and beside that through
``penstock.journal.read``, which hands out every event whole; each in a process of its own, in
turns. Then starts ``penstock dashboard`` on it: seconds until its page answers, until a browser
shows numbers, and until all of the day is in; then its memory, and that after following a journal
that grows. The browser is Debian's Chromium, where Playwright is installed.

    python benchmarks/dashboard.py
    python benchmarks/dashboard.py --hours 1 --follow-minutes 0 --json
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dashboard_journal import DayWriter

WAYS = ("history", "read")
LIMIT_SECONDS, LIMIT_MB = 3.0, 500.0
_LONGEST_SECONDS = 120.0


def main() -> None:
    asked = arguments()
    if asked.child:
        print(json.dumps(read_by(asked.child, Path(asked.journal))))
        return
    batches = round(asked.hours * 3_600)
    with tempfile.TemporaryDirectory() as directory:
        journal = Path(directory) / "journal"
        day = DayWriter(journal, time.time() - batches)
        day.write(batches)
        megabytes = sum(each.stat().st_size for each in journal.iterdir()) / 1e6
        found: dict[str, Any] = {"batches": batches, "journal_mb": megabytes}
        found["reading"] = reading(journal, asked.repeat)
        found["dashboard"] = opening(journal, day, asked.follow_minutes)
        day.close()
    tell(found, asked.json)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--hours", type=float, default=24.0, help="how long the journal is")
    parser.add_argument("--repeat", type=int, default=3, help="how often each way reads it")
    parser.add_argument("--follow-minutes", type=float, default=2.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--journal", help=argparse.SUPPRESS)
    return parser.parse_args()


def read_by(way: str, journal: Path) -> dict[str, float]:
    """Read a journal and hold what a page needs of it; time and memory are this process's."""
    from penstock.history.journal_history import JournalHistory
    from penstock.journal.events import BatchFinished
    from penstock.journal.reader import read

    begun, processor = time.perf_counter(), time.process_time()
    if way == "history":
        history = JournalHistory(journal)
        history.refresh()
        count = history.queries[0].batch_count
    else:
        # What a page draws is in the batches; to draw any time of the day, all of them are kept.
        events = [event.body for event in read(journal)]
        count = sum(isinstance(body, BatchFinished) for body in events)
    return {
        "batches": count,
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - processor,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def reading(journal: Path, repeat: int) -> dict[str, Any]:
    """Let both ways read in turns; the middle of each."""
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(repeat):
        for way in WAYS:
            command = [sys.executable, __file__, "--child", way, "--journal", str(journal)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            runs[way].append(json.loads(done.stdout))
    found: dict[str, Any] = {
        way: {name: statistics.median(run[name] for run in done) for name in done[0]}
        for way, done in runs.items()
    }
    if len({found[way]["batches"] for way in WAYS}) != 1:
        raise RuntimeError(f"the ways read different batches: {found}")
    history, whole = (found[way] for way in WAYS)
    found["times_as_fast"] = whole["cpu_seconds"] / history["cpu_seconds"]
    found["times_the_memory"] = history["peak_mb"] / whole["peak_mb"]
    return found


def opening(journal: Path, day: DayWriter, follow_minutes: float) -> dict[str, Any]:
    """Start a dashboard and look at it, then let the journal grow."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    command = [sys.executable, "-m", "penstock", "dashboard", str(journal), "--port", str(port)]
    with browser() as pages:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            await_answer(address, process)
            found: dict[str, Any] = {"answers_seconds": time.perf_counter() - begun}
            if pages is not None:
                page = pages.new_page()
                page.goto(address, wait_until="commit")
                await_text(page, r"[\d,.]+ [kMG]?\s?rows/s")
                found["shows_numbers_seconds"] = time.perf_counter() - begun
                await_text(page, rf"{day.batches:,} batches")
                found["shows_all_seconds"] = time.perf_counter() - begun
            found["resident_mb"] = resident_mb(process.pid)
            if follow_minutes:
                found["followed_batches"] = follow(day, follow_minutes)
                if pages is not None:
                    await_text(page, rf"{day.batches:,} batches")
                found["resident_after_mb"] = resident_mb(process.pid)
            found["peak_mb"] = peak_mb(process.pid)
        finally:
            process.terminate()
            process.wait()
    return found


def follow(day: DayWriter, minutes: float) -> int:
    """Let the journal grow by ten batches a second."""
    until, before = time.monotonic() + 60 * minutes, day.batches
    while time.monotonic() < until:
        day.write(10)
        time.sleep(1.0)
    return day.batches - before


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium, beforehand: its own start is nobody's waiting for a page. None without it."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        yield None
        return
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            yield started
        finally:
            started.close()


def await_answer(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _LONGEST_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=_LONGEST_SECONDS) as answer:
                if answer.status == 200:
                    return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError("the dashboard ended") from None
            time.sleep(0.02)
    raise RuntimeError(f"nothing answers at {address}")


def await_text(page: Any, wanted: str) -> None:
    pattern, until = re.compile(wanted), time.monotonic() + _LONGEST_SECONDS
    while not pattern.search(page.inner_text("body")):
        if time.monotonic() > until:
            raise RuntimeError(f"the page never showed {wanted}")
        time.sleep(0.02)


def resident_mb(process: int) -> float:
    return _status_mb(process, "VmRSS")


def peak_mb(process: int) -> float:
    return _status_mb(process, "VmHWM")


def _status_mb(process: int, name: str) -> float:
    text = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else float("nan")


def tell(found: dict[str, Any], as_json: bool) -> None:
    seen = found["dashboard"]
    opened = seen.get("shows_numbers_seconds", seen["answers_seconds"])
    found["opens_in_time"] = opened < LIMIT_SECONDS
    found["stays_small"] = seen["peak_mb"] < LIMIT_MB
    if as_json:
        print(json.dumps(found, indent=1))
        return
    read = found["reading"]
    print(f"{found['batches']:,} batches, {found['journal_mb']:,.0f} MB")
    for way in WAYS:
        print(
            f"{way:>8}: {read[way]['cpu_seconds']:.2f} s of a core, {read[way]['peak_mb']:.0f} MB"
        )
    print(f"history is {read['times_as_fast']:.1f} times as fast as read, with "
          f"{read['times_the_memory']:.2f} of its memory")  # fmt: skip
    for name, value in seen.items():
        print(f"dashboard {name.replace('_', ' ')}: {value:,.4g}")
    print(
        f"opens in {opened:.2f} s (below {LIMIT_SECONDS:g}: {found['opens_in_time']}), "
        f"{seen['peak_mb']:.0f} MB at most (below {LIMIT_MB:g}: {found['stays_small']})"
    )


if __name__ == "__main__":
    main()
