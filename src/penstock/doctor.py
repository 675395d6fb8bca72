"""Says whether this machine can run Penstock and, where it can't, how to mend it.

Spark's own failures at the start are hard to read. These checks look at what usually lies behind
them, without importing PySpark or starting a JVM for longer than to ask for its version.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

GIGABYTE = 1024**3
NEEDED_BYTES = 2 * GIGABYTE
NEEDED_PYTHON = (3, 11)
NEEDED_SPARK = "4.3"
NEEDED_JAVA = (17, 21)
VECTOR_MODULE = "jdk.incubator.vector"
ASK_SECONDS = 30.0

GET_JAVA = (
    "Install Java 17: apt-get install openjdk-17-jdk-headless, or brew install openjdk@17, or "
    "conda install openjdk=17; then set JAVA_HOME to it."
)

# A job of both kinds: rows counted in the JVM, and rows that cross to a Python worker and back.
TINY_JOB = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.range(10).count()
total = spark.sparkContext.parallelize([1, 2], 1).map(lambda x: x + 1).sum()
spark.stop()
print("penstock-doctor:", rows, total)
"""
TINY_JOB_ANSWER = "penstock-doctor: 10 5"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; ``remedy`` is empty where nothing needs mending."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended; ``code`` is None where it could not start or did not end in time."""

    code: int | None
    output: str


def run_command(command: Sequence[str], limit_seconds: float) -> Ran:
    """Run a command and all that it starts, for at most so long."""
    try:
        # The commands of this module alone, and no shell.
        process = subprocess.Popen(  # nosec B603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Ran(None, error.strerror or str(error))
    with process:
        try:
            output, _ = process.communicate(timeout=limit_seconds)
        except subprocess.TimeoutExpired:
            # The whole group: a JVM would outlive the Python that started it.
            os.killpg(process.pid, signal.SIGKILL)
            return Ran(None, f"it did not end within {limit_seconds:g} seconds")
    return Ran(process.returncode, output)


def version_of(package: str) -> str | None:
    """Find the version of an installed package without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def pyspark_version() -> str | None:
    """Read the version of the PySpark that an import would find.

    Spark's own distributions put PySpark on the path with no package metadata.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    try:
        text = Path(found.origin).with_name("version.py").read_text()
    except OSError:
        return None
    version = re.search(r"__version__.*=\s*['\"]([^'\"]+)", text)
    return version[1] if version else None


def available_memory_bytes() -> int | None:
    """Ask the system for memory that a new process can have, None where it does not tell."""
    amounts = []
    try:
        told = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
        amounts += [int(told[1]) * 1024] if told else []
        # A container may have less than its host.
        amounts += [int(Path("/sys/fs/cgroup/memory.max").read_text())]
    except (OSError, ValueError):
        pass
    if not amounts:
        try:
            amounts = [os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
        except (OSError, ValueError):
            return None
    return min(amounts)


def free_disk_bytes(directory: str) -> int:
    """Write a file in a directory, then say how much room is left; OSError where one can't.

    A directory that does not exist is made by Spark, so the nearest one above it is looked at.
    """
    place = Path(directory).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    with tempfile.TemporaryFile(dir=place) as file:
        file.write(b"penstock")
    return shutil.disk_usage(place).free


def bindable_address(host: str) -> str:
    """Resolve a host and listen on it for a moment; OSError where one can't."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "it is not a host's name") from None
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.bind(address)
    return str(address[0])


@dataclass(frozen=True)
class Environment:
    """Everything the checks ask about the machine; by default this machine answers."""

    python: tuple[int, ...] = sys.version_info[:3]
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    hostname: str = field(default_factory=socket.gethostname)
    which: Callable[[str], str | None] = shutil.which
    run: Callable[[Sequence[str], float], Ran] = run_command
    version_of: Callable[[str], str | None] = version_of
    pyspark_version: Callable[[], str | None] = pyspark_version
    memory_bytes: Callable[[], int | None] = available_memory_bytes
    temp_directory: Callable[[], str] = tempfile.gettempdir
    free_disk_bytes: Callable[[str], int] = free_disk_bytes
    bindable_address: Callable[[str], str] = bindable_address


def examine(
    environment: Environment | None = None,
    *,
    start_spark: bool = False,
    limit_seconds: float = 120.0,
) -> tuple[Finding, ...]:
    """Look at everything; with ``start_spark``, also run one tiny job in another process.

    The job is not tried where something else is already wrong: it would only say so less clearly.
    """
    environment = environment or Environment()
    checks = (_python, _java, _spark, _classic, _pandas, _pyarrow, _memory, _temp_space, _hostname)
    findings = tuple(check(environment) for check in checks)
    if not start_spark:
        return findings
    if all(finding.ok for finding in findings):
        return (*findings, _tiny_job(environment, limit_seconds))
    return (*findings, Finding("job", False, "it was not tried", "Mend what is wrong above first."))


def render(findings: Sequence[Finding]) -> str:
    """Write one line for each finding.

    >>> print(render([Finding("spark", True, "4.3.0"), Finding("java", False, "none", "Get it.")]))
    ok    spark: 4.3.0
    FAIL  java: none. Get it.
    """
    return "\n".join(
        f"ok    {finding.name}: {finding.detail}"
        if finding.ok
        else f"FAIL  {finding.name}: {finding.detail}. {finding.remedy}"
        for finding in findings
    )


def as_dicts(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """Give findings as JSON takes them."""
    return [asdict(finding) for finding in findings]


def _python(environment: Environment) -> Finding:
    version = ".".join(map(str, environment.python))
    if environment.python >= NEEDED_PYTHON:
        return Finding("python", True, version)
    return Finding(
        "python",
        False,
        f"this is Python {version}",
        "Penstock needs 3.11 or newer: make a virtual environment with one and install it there.",
    )


def _java(environment: Environment) -> Finding:
    """Find Java as Spark's launcher does: JAVA_HOME if it is set, and only else the path."""
    home = environment.variables.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else environment.which("java")
    if java is None:
        return Finding("java", False, "there is none on the PATH and no JAVA_HOME", GET_JAVA)
    told = environment.run([java, "-version"], ASK_SECONDS)
    version = re.search(r'version "(?:1\.)?(\d+)([^"]*)"', told.output)
    if told.code != 0 or version is None:
        remedy = f"Mend JAVA_HOME={home} or unset it. {GET_JAVA}" if home else GET_JAVA
        return Finding("java", False, f"{java} does not run: {_gist(told)}", remedy)
    if int(version[1]) not in NEEDED_JAVA:
        detail = f"{java} is Java {version[1]}, and Spark {NEEDED_SPARK} runs on 17 or 21"
        return Finding("java", False, detail, GET_JAVA)
    modules = environment.run([java, "--list-modules"], ASK_SECONDS)
    if VECTOR_MODULE not in modules.output:
        detail = f"{java} is a reduced Java without the module {VECTOR_MODULE}, which Spark needs"
        return Finding("java", False, detail, GET_JAVA)
    return Finding("java", True, f"{version[1]}{version[2]} at {java}")


def _spark(environment: Environment) -> Finding:
    install = f"Write: pip install 'pyspark>={NEEDED_SPARK},<4.4'"
    version = environment.pyspark_version()
    if version is None:
        return Finding("spark", False, "PySpark is not installed in this Python", f"{install}.")
    if not version.startswith(f"{NEEDED_SPARK}."):
        detail = f"this is PySpark {version}, and Penstock runs on {NEEDED_SPARK}"
        return Finding("spark", False, detail, f"{install}.")
    home = environment.variables.get("SPARK_HOME")
    if home and not list(Path(home, "jars").glob(f"spark-core_*-{version}*.jar")):
        detail = f"PySpark is {version}, but SPARK_HOME={home} holds another Spark, or none"
        return Finding("spark", False, detail, "Unset SPARK_HOME, or point it to that version.")
    return Finding("spark", True, version)


def _classic(environment: Environment) -> Finding:
    variables = environment.variables
    # PySpark asks of the first two only whether they are set.
    wrong = [name for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED") if name in variables]
    wrong += ["SPARK_CONNECT_MODE"] if variables.get("SPARK_CONNECT_MODE") == "1" else []
    wrong += ["SPARK_API_MODE"] if variables.get("SPARK_API_MODE", "").lower() == "connect" else []
    if wrong:
        detail = f"{' and '.join(wrong)} would start Spark Connect, which Penstock cannot drive"
        return Finding("classic", False, detail, f"Write: unset {' '.join(wrong)}.")
    for package in ("pyspark-connect", "pyspark-client"):
        if environment.version_of(package) is not None:
            detail = f"the package {package} makes Spark Connect the default"
            remedy = f"Write: pip uninstall {package}, then pip install --force-reinstall pyspark."
            return Finding("classic", False, detail, remedy)
    return Finding("classic", True, "Spark Classic, not Connect")


def _pandas(environment: Environment) -> Finding:
    version = environment.version_of("pandas")
    if version is not None and int(version.split(".")[0]) < 3:
        return Finding("pandas", True, version)
    detail = "it is not installed" if version is None else f"PySpark does not know pandas {version}"
    return Finding("pandas", False, detail, "Write: pip install 'pandas>=2.2,<3'.")


def _pyarrow(environment: Environment) -> Finding:
    version = environment.version_of("pyarrow")
    if version is not None:
        return Finding("pyarrow", True, version)
    return Finding("pyarrow", False, "it is not installed", "Write: pip install 'pyarrow>=18'.")


def _memory(environment: Environment) -> Finding:
    free = environment.memory_bytes()
    if free is None:
        return Finding("memory", True, "unknown, this system does not tell; 2 GB should be free")
    detail = f"{free / GIGABYTE:.1f} GB free"
    if free >= NEEDED_BYTES:
        return Finding("memory", True, detail)
    remedy = "Spark wants 2 GB: end other programs, or give the container or machine more."
    return Finding("memory", False, f"only {detail}", remedy)


def _temp_space(environment: Environment) -> Finding:
    remedy = "Set SPARK_LOCAL_DIRS and TMPDIR to a directory you may write to, with 2 GB free."
    try:
        directories = [environment.temp_directory()]
    except OSError as error:
        return Finding("temp space", False, f"there is no temporary directory: {error}", remedy)
    local = environment.variables.get("SPARK_LOCAL_DIRS", "").split(",")
    directories += [name.strip() for name in local if name.strip()]
    room = []
    for directory in dict.fromkeys(directories):
        try:
            free = environment.free_disk_bytes(directory)
        except OSError as error:
            detail = f"{directory} cannot be written: {error.strerror or error}"
            return Finding("temp space", False, detail, remedy)
        if free < NEEDED_BYTES:
            detail = f"{directory} has only {free / GIGABYTE:.1f} GB free"
            return Finding("temp space", False, detail, remedy)
        room.append(f"{free / GIGABYTE:.1f} GB free in {directory}")
    return Finding("temp space", True, ", ".join(room))


def _hostname(environment: Environment) -> Finding:
    chosen = environment.variables.get("SPARK_LOCAL_IP")
    host = chosen or environment.hostname
    try:
        return Finding("hostname", True, f"{host} is {environment.bindable_address(host)}")
    except OSError as error:
        problem = "resolved" if isinstance(error, socket.gaierror) else "listened on"
        detail = f"{host} cannot be {problem} ({error.strerror or error}), so Spark would not start"
    if chosen:
        return Finding("hostname", False, detail, "Write: export SPARK_LOCAL_IP=127.0.0.1")
    remedy = f"Write: export SPARK_LOCAL_IP=127.0.0.1, or add '127.0.0.1 {host}' to /etc/hosts."
    return Finding("hostname", False, detail, remedy)


def _tiny_job(environment: Environment, limit_seconds: float) -> Finding:
    ran = environment.run([sys.executable, "-c", TINY_JOB], limit_seconds)
    if ran.code == 0 and TINY_JOB_ANSWER in ran.output:
        return Finding("job", True, "Spark started and ran a job")
    remedy = "Run a PySpark shell with 'pyspark --master local[1]' to see all that Spark says."
    return Finding("job", False, f"Spark did not run a job: {_gist(ran)}", remedy)


def _gist(ran: Ran) -> str:
    """Pick the line that says what went wrong: the last one that names an error, or the last."""
    lines = [line.strip() for line in ran.output.splitlines() if line.strip()]
    named = [line for line in lines if re.search(r"(Error|Exception)\b", line)]
    said = (named or lines or [f"it ended with code {ran.code} and no word"])[-1]
    return said[:300].rstrip(".")
