"""How long a day of one-second batches takes to open, and how much memory it takes to look at.

Reads a journal of 86,400 batches of 12 operators as the dashboard does, and beside that through
``penstock.journal.read``, which hands out every event whole; each in a process of its own, in
turns. Then starts ``penstock dashboard`` on it: how long until its first page with numbers is
there, and until all of the day is in, by the clock and of a core; then its memory, and that after
following a journal that grows. Where Playwright and Chromium are, also until a browser shows
numbers. The exit code is 1 if the first page takes longer than 3 s, or more than 500 MB are taken.

    python benchmarks/dashboard.py
    python benchmarks/dashboard.py --hours 1 --follow-minutes 0 --json
"""

from __future__ import annotations

import argparse
import json
import os
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dashboard_journal import DayWriter
from rich.console import Console
from rich.table import Table

WAYS = ("history", "read")
LIMIT_SECONDS, LIMIT_MB = 3.0, 500.0
_LONGEST_SECONDS = 120.0


def main() -> None:
    asked = arguments()
    if asked.child:
        print(json.dumps(read_by(asked.child, Path(asked.journal))))
        return
    found = measured(asked)
    tell(found, asked.json)
    sys.exit(not (found["opens_in_time"] and found["stays_small"]))


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """Write a day and look at it in every way."""
    batches = round(asked.hours * 3_600)
    with tempfile.TemporaryDirectory() as directory:
        journal = Path(directory) / "journal"
        day = DayWriter(journal, time.time() - batches)
        day.write(batches)
        megabytes = sum(each.stat().st_size for each in journal.iterdir()) / 1e6
        found: dict[str, Any] = {"batches": batches, "journal_mb": megabytes}
        found["reading"] = reading(journal, asked.repeat)
        # How busy the machine is with other work: times by the clock say little without it.
        found["load_average"] = os.getloadavg()[0]
        turns = [opening(journal, day, 0.0) for _ in range(asked.repeat - 1)]
        turns.append(opening(journal, day, asked.follow_minutes))
        found["dashboard"] = middle(turns)
        day.close()
    return found | judged(turns)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--hours", type=float, default=24.0, help="how long the journal is")
    parser.add_argument("--repeat", type=int, default=3, help="how often each is measured")
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


def opening(journal: Path, day: DayWriter, follow_minutes: float) -> dict[str, dict[str, float]]:
    """Start a dashboard and look at it, then let the journal grow; by moment, what it took."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    command = [sys.executable, "-m", "penstock", "dashboard", str(journal), "--port", str(port)]
    found: dict[str, dict[str, float]] = {}
    with browser() as pages:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def note(moment: str) -> None:
            found[moment] = {"seconds": time.perf_counter() - begun} | taken_by(process.pid)

        try:
            await_page(address, r"\d batches", process, every_seconds=0.02)
            note("first page")
            if pages is not None:
                page = pages.new_page()
                page.goto(address, wait_until="commit")
                await_text(page, r"[\d,.]+ [kMG]?\s?rows/s")
                note("shown by a browser")
            await_page(address, rf"\b{day.batches:,} batches", process, every_seconds=0.5)
            note("all read")
            if follow_minutes:
                before = day.batches
                follow(day, follow_minutes)
                await_page(address, rf"\b{day.batches:,} batches", process, every_seconds=0.5)
                note(f"{day.batches - before} batches later")
        finally:
            process.terminate()
            process.wait()
    return found


def middle(turns: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the middle of each number at each moment; the last turn went on for longest."""
    return {
        moment: {
            name: statistics.median(turn[moment][name] for turn in turns if moment in turn)
            for name in numbers
        }
        for moment, numbers in turns[-1].items()
    }


def judged(turns: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, bool]:
    """Say whether the first page mostly came in time, and whether memory always stayed small."""
    first = statistics.median(turn["first page"]["seconds"] for turn in turns)
    most = max(each["peak_mb"] for turn in turns for each in turn.values())
    return {"opens_in_time": first <= LIMIT_SECONDS, "stays_small": most <= LIMIT_MB}


def follow(day: DayWriter, minutes: float) -> None:
    """Let the journal grow by ten batches a second."""
    until = time.monotonic() + 60 * minutes
    while time.monotonic() < until:
        day.write(10)
        time.sleep(1.0)


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


def await_page(
    address: str, wanted: str, process: subprocess.Popen[bytes], every_seconds: float
) -> None:
    """Ask for a page until it says what is wanted."""
    until = time.monotonic() + _LONGEST_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=_LONGEST_SECONDS) as answer:
                if re.search(wanted, answer.read().decode()):
                    return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError("the dashboard ended") from None
        time.sleep(every_seconds)
    raise RuntimeError(f"the page at {address} never said {wanted}")


def await_text(page: Any, wanted: str) -> None:
    pattern, until = re.compile(wanted), time.monotonic() + _LONGEST_SECONDS
    while not pattern.search(page.inner_text("body")):
        if time.monotonic() > until:
            raise RuntimeError(f"the page never showed {wanted}")
        time.sleep(0.02)


def taken_by(process: int) -> dict[str, float]:
    """Return what a process has taken so far: seconds of a core, and its memory at most and now."""
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    status = Path(f"/proc/{process}/status").read_text()
    most, now = (int(re.findall(rf"{name}:\s+(\d+) kB", status)[0]) for name in ("VmHWM", "VmRSS"))
    cpu_seconds = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return {"cpu_seconds": cpu_seconds, "peak_mb": most / 1024, "resident_mb": now / 1024}


def tell(found: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(found, indent=1))
        return
    read, moments = found["reading"], found["dashboard"]
    print(f"{found['batches']:,} batches, {found['journal_mb']:,.0f} MB")
    show("reading", {way: read[way] for way in WAYS}, ("seconds", "cpu_seconds", "peak_mb"))
    print(f"history is {read['times_as_fast']:.1f} times as fast as read, with "
          f"{read['times_the_memory']:.2f} of its memory")  # fmt: skip
    show("dashboard", moments, ("seconds", "cpu_seconds", "peak_mb", "resident_mb"))
    print(f"load average of the machine: {found['load_average']:.1f}")
    for what, limit in (("opens_in_time", f"{LIMIT_SECONDS:g} s"),
                        ("stays_small", f"{LIMIT_MB:g} MB")):  # fmt: skip
        print(f"{what.replace('_', ' ')} ({limit} at most): {'yes' if found[what] else 'NO'}")


def show(title: str, rows: Mapping[str, Mapping[str, float]], columns: Sequence[str]) -> None:
    table = Table(title, *(each.replace("_", " ") for each in columns))
    for name, numbers in rows.items():
        table.add_row(name, *(f"{numbers[each]:,.4g}" for each in columns))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
