"""A Spark session of which the terminal shows nothing: all that the JVM says goes to a file.

A log4j file would not do: the JVM's own warnings, the launcher's and what user functions print in
workers never pass through log4j. All of it passes through the JVM's stdout and stderr.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from penstock import doctor
from penstock.engine.checkpoint_lock import PATIENCE_SECONDS, running_on
from penstock.errors import ConfigurationError, first_line
from penstock.regular_files import open_regular
from penstock.secrets import keep_secrets_of, redacted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_END_WITHIN_SECONDS = 20.0
_LOOK_EVERY_SECONDS = 0.05

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
}
LOCAL_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@contextlib.contextmanager
def quiet_spark(
    name: str,
    master: str,
    settings: Mapping[str, str] | None = None,
    *,
    log: Path | None = None,
    import_from: Sequence[Path] = (),
) -> Iterator[SparkSession]:
    """Start Spark, hand out its session, and end it with every process that it started.

    ``log`` takes what Spark says; without it, a file that is deleted afterwards. Workers find
    modules in the directories ``import_from``.
    """
    _prepare_environment(master, import_from)
    keep_secrets_of(settings or {})
    chosen = {**SETTINGS, **(LOCAL_SETTINGS if is_local(master) else {}), **(settings or {})}
    before = signal.getsignal(signal.SIGINT)
    chosen["spark.master"] = master
    with _open_log(log) as file, _logging_to(file), _gateway(chosen, file):
        session = _session(name, file)
        # Spark's own answer to Ctrl-C is to cancel all jobs: it would fail the running micro-batch.
        signal.signal(signal.SIGINT, before)
        yield session


def is_local(master: str) -> bool:
    """Whether Spark runs in one process of this machine.

    >>> is_local("local[8]"), is_local("local"), is_local("local-cluster[2,1,1024]")
    (True, True, False)
    """
    return master == "local" or master.startswith("local[")


def _prepare_environment(master: str, import_from: Sequence[Path]) -> None:
    # Spark would start its workers with the first python3 on the PATH, which need not be this one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [*map(str, import_from), *filter(None, known)]
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))


@contextlib.contextmanager
def _open_log(log: Path | None) -> Iterator[BinaryIO]:
    if log is None:
        with tempfile.TemporaryFile(prefix="penstock-") as nameless:
            yield nameless
        return
    with contextlib.ExitStack() as opened:
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            opened.callback(os.close, _claim(log))
            file = opened.enter_context(os.fdopen(_opened(log), "w+b"))
        except OSError as error:
            why = "it is a link" if error.errno == errno.ELOOP else error.strerror
            raise ConfigurationError(
                f"{log} cannot be written: {why}. Name another directory."
            ) from error
        try:
            yield file
        finally:
            _hide_secrets(file)


def _claim(log: Path) -> int:
    """Empty a log that no other run writes to, and see to it that none does meanwhile.

    Whoever has the file open holds the lock with it, so it is opened once more for that: the JVM
    of a driver that was killed may live on for a while with the log that it writes to.
    """
    own = _opened(log)
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _is_free(own):
            if time.monotonic() >= deadline:
                raise running_on(str(log.parent))
            time.sleep(_LOOK_EVERY_SECONDS)
        # For nobody else: until it is looked through at the end, it holds what Spark says as is.
        os.fchmod(own, 0o600)
        os.ftruncate(own, 0)
    except BaseException:
        os.close(own)
        raise
    return own


def _opened(log: Path) -> int:
    return open_regular(log, os.O_RDWR | os.O_CREAT, 0o600, follow_links=False)


def _is_free(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # this file system has no locks
        return True
    return True


def _hide_secrets(log: BinaryIO) -> None:
    """Hide in a log what Spark, a driver or a user function said of secrets."""
    log.seek(0)
    with tempfile.TemporaryFile() as cleaned:
        is_clean = True
        for line in log:
            text = line.decode(errors="surrogateescape")
            hidden = redacted(text)
            is_clean = is_clean and hidden == text
            cleaned.write(hidden.encode(errors="surrogateescape"))
        if is_clean:
            return
        cleaned.seek(0)
        log.seek(0)
        log.truncate()
        shutil.copyfileobj(cleaned, log)


@contextlib.contextmanager
def _logging_to(log: BinaryIO) -> Iterator[None]:
    """Let what Python's loggers say, Py4J's among them, go where the JVM's words go."""
    with os.fdopen(os.dup(log.fileno()), "w", buffering=1) as text:
        handler = logging.StreamHandler(text)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.getLogger().addHandler(handler)
        try:
            yield
        except KeyboardInterrupt:
            # Threads that were talking to the JVM may find out later, and are not heard any more.
            logging.getLogger().addHandler(logging.NullHandler())
            raise
        finally:
            logging.getLogger().removeHandler(handler)


@contextlib.contextmanager
def _gateway(settings: Mapping[str, str], log: BinaryIO) -> Iterator[None]:
    """Launch the JVM with its output in ``log``, and see that it is gone at the end."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with _told_by_doctor(log):
        output = {"stdout": log, "stderr": log}
        gateway: Any = launch_gateway(conf, output)  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    try:
        yield
    except KeyboardInterrupt:
        # The connection may have been cut in the middle of an answer: the JVM can't be asked.
        # Threads that were talking to it tell of its end on stderr, which is no news.
        if process is not None:
            _hush_accumulators()
            with contextlib.redirect_stderr(io.StringIO()):
                process.terminate()
                _end(process)
        raise
    except BaseException:
        _stop_spark(gateway)
        raise
    else:
        _stop_spark(gateway)
    finally:
        if process is not None:
            _end(process)


def _hush_accumulators() -> None:
    """Keep quiet the thread that takes in what tasks report: it may notice the end later."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, client_address: None


def _stop_spark(gateway: Any) -> None:
    from pyspark import SparkContext

    # A JVM that is already gone can't be asked to stop, and need not be.
    with contextlib.suppress(Exception):
        if SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
        gateway.shutdown()


def _session(name: str, log: BinaryIO) -> SparkSession:
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    # PySpark writes every failed analysis to stderr with its Java stack, besides raising it.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    with _told_by_doctor(log):
        return SparkSession.builder.appName(name).getOrCreate()


@contextlib.contextmanager
def _told_by_doctor(log: BinaryIO) -> Iterator[None]:
    """Say why Spark does not start: what the doctor finds or, if nothing, what Spark said."""
    try:
        yield
    except Exception as error:
        found = next((finding for finding in doctor.examine() if not finding.ok), None)
        if found is not None:
            reason = f"{found.name}: {found.detail}. {found.remedy}"
        else:
            said = _complaint_in(log) or first_line(error)
            reason = f"{said}. Check --master and --conf, or write: penstock doctor --start-spark"
        raise ConfigurationError(f"Spark did not start: {reason}") from error


def _complaint_in(log: BinaryIO) -> str:
    """Find the first complaint: what comes after it are mostly its consequences."""
    # The JVM and the logging write where the file's position is; reading must not move it.
    size = os.fstat(log.fileno()).st_size
    lines = os.pread(log.fileno(), size, 0).decode(errors="replace").splitlines()
    found = next((line for line in lines if re.search(r"Exception|rror:|Invalid", line)), "")
    return found.removeprefix('Exception in thread "main" ').strip()[:300].rstrip(".")


def _end(process: subprocess.Popen[bytes]) -> None:
    # The JVM ends when its standard input does.
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_END_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
