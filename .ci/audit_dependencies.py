"""Looks up known vulnerabilities of what Penstock needs to run, in the versions that are installed.

pip-audit asks a vulnerability service. Where that can't be reached, or knows none of the packages
(a mirror of the package index need not have it), nothing was audited: that is said, and is no
failure. A vulnerability that is found is one, and so is all else that keeps pip-audit from
answering: that it is not installed, or breaks.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "penstock"
PATIENCE_SECONDS = 300
FAILED = 1
_SILENT = f"no answer within {PATIENCE_SECONDS} seconds"
# How pip-audit says that it could not reach the service, in its last lines.
_UNREACHED = re.compile(
    rf"Could not connect to .* vulnerability feed|{_SILENT}|"
    r"^requests\.exceptions\.(ConnectionError|ProxyError|ConnectTimeout|ReadTimeout): .*",
    re.MULTILINE,
)
# A vulnerability that can't be mended yet, by its id, with the reason why it does no harm here.
ACCEPTED: dict[str, str] = {}


def needed(root: str) -> dict[str, str]:
    """Return the versions of all packages that one needs at run time, however far down."""
    found: dict[str, str] = {}
    waiting = [root]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # needed on another platform, or an extra that nobody asked for
        found[name] = package.version
        for text in package.requires or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                waiting.append(wanted.name)
    del found[canonicalize_name(root)]
    return dict(sorted(found.items()))


def ask(versions: dict[str, str]) -> tuple[str, str]:
    """Run pip-audit over exactly these versions; return its JSON and what it complained of."""
    with tempfile.TemporaryDirectory() as directory:
        pinned = Path(directory) / "requirements.txt"
        pinned.write_text("".join(f"{name}=={has}\n" for name, has in versions.items()))
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(pinned), "--no-deps"]
        command += ["--disable-pip", "--format", "json", "--progress-spinner", "off"]
        try:
            asked = subprocess.run(
                command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return "", _SILENT
    return asked.stdout, asked.stderr


def judge(report: str, complaint: str, count: int) -> tuple[int, list[str]]:
    """Return the exit code, and the lines to print."""
    try:
        packages = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        if unreached := _UNREACHED.search(complaint):
            why = unreached.group()[:200]
            return 0, [f"NOT AUDITED: the vulnerability service can't be reached ({why})."]
        why = next(iter(reversed(complaint.strip().splitlines())), "it said nothing")
        return FAILED, [f"FAILED, nothing was audited: {why[:200]}"]
    skipped = [each["name"] for each in packages if "skip_reason" in each]
    audited = len(packages) - len(skipped)
    if len(packages) != count:
        return FAILED, [f"FAILED: it was asked for {count} packages and told of {len(packages)}."]
    lines = [
        f"{audited} of {count} packages were known to the vulnerability service, "
        f"{len(skipped)} were not."
    ]
    code = 0
    for each in packages:
        for known in each.get("vulns", ()):
            mended = ", ".join(known.get("fix_versions", ())) or "no version yet"
            accepted = ACCEPTED.get(known["id"])
            code = code if accepted else FAILED
            end = f"accepted: {accepted}" if accepted else f"mended in {mended}"
            lines.append(f"{each['name']} {each['version']}: {known['id']}, {end}")
    if not audited:
        lines.append("NOT AUDITED: nothing is known of any of them, so this says nothing.")
    elif skipped:
        lines.append(f"NOT AUDITED: {', '.join(skipped)}.")
    if audited and len(lines) == 1 + bool(skipped):
        lines.append(f"{audited} packages that Penstock runs with have no known vulnerability.")
    return code, lines


def main() -> int:
    """Audit what is installed, and say what came of it."""
    versions = needed(ROOT)
    code, lines = judge(*ask(versions), len(versions))
    sys.stdout.write("".join(f"pip-audit: {line}\n" for line in lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
