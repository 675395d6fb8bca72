from __future__ import annotations

import errno
import json
import os
import select
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock import doctor
from penstock.doctor import (
    GET_JAVA,
    GIGABYTE,
    Environment,
    Finding,
    Ran,
    as_dicts,
    available_memory_bytes,
    bindable_address,
    examine,
    free_disk_bytes,
    pyspark_version,
    render,
    run_command,
    version_of,
)

LONG = 60.0
JAVA_17 = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17)\n'
MODULES = "java.base@17.0.15\njdk.incubator.vector@17.0.15\n"


def java(
    version: str = JAVA_17, modules: str = MODULES, code: int | None = 0
) -> Callable[[Sequence[str], float], Ran]:
    answers = {"-version": Ran(code, version), "--list-modules": Ran(0, modules)}
    return lambda command, limit_seconds: answers[command[-1]]


def installed(**versions: str) -> Callable[[str], str | None]:
    return {"pandas": "2.3.3", "pyarrow": "18.0.0", **versions}.get


def fails(error: Exception) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


HEALTHY = Environment(
    python=(3, 11, 7),
    variables={},
    hostname="mill",
    which=lambda name: f"/usr/bin/{name}",
    run=java(),
    version_of=installed(),
    pyspark_version=lambda: "4.3.0",
    memory_bytes=lambda: 4 * GIGABYTE,
    temp_directory=lambda: "/tmp",
    free_disk_bytes=lambda directory: 10 * GIGABYTE,
    bindable_address=lambda host: "10.0.0.7",
)


def finding(name: str, **changes: Any) -> Finding:
    """Examine a healthy machine with one change; everything else must still be well."""
    findings = examine(replace(HEALTHY, **changes))
    assert [f.name for f in findings if not f.ok and f.name != name] == []
    return next(f for f in findings if f.name == name)


def test_a_healthy_machine() -> None:
    assert render(examine(HEALTHY)).splitlines() == [
        "ok    python: 3.11.7",
        "ok    java: 17.0.15 at /usr/bin/java",
        "ok    spark: 4.3.0",
        "ok    classic: Spark Classic, not Connect",
        "ok    pandas: 2.3.3",
        "ok    pyarrow: 18.0.0",
        "ok    memory: 4.0 GB free",
        "ok    temp space: 10.0 GB free in /tmp",
        "ok    hostname: mill is 10.0.0.7",
    ]


@pytest.mark.parametrize(("version", "ok"), [((3, 10, 14), False), ((3, 11, 0), True)])
def test_python(version: tuple[int, ...], ok: bool) -> None:
    assert finding("python", python=version).ok is ok


def test_no_java() -> None:
    assert finding("java", which=lambda name: None) == Finding(
        "java", False, "there is none on the PATH and no JAVA_HOME", GET_JAVA
    )
    for command in (
        "apt-get install openjdk-17-jdk-headless",
        "brew install openjdk@17",
        "conda install openjdk=17",
    ):
        assert command in GET_JAVA


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ('java version "1.8.0_392"', "8"),
        ('openjdk version "11.0.2" 2019-01-15', "11"),
        ('openjdk version "18" 2022-03-22', "18"),
        ('openjdk version "25-ea" 2025-09-16', "25"),
    ],
)
def test_a_java_that_spark_does_not_run_on(told: str, version: str) -> None:
    assert finding("java", run=java(told)) == Finding(
        "java",
        False,
        f"/usr/bin/java is Java {version}, and Spark 4.3 runs on 17 or 21",
        GET_JAVA,
    )


@pytest.mark.parametrize(
    ("told", "detail"),
    [
        ('openjdk version "21" 2023-09-19', "21 at /usr/bin/java"),
        ('openjdk version "21.0.1" 2023-10-17', "21.0.1 at /usr/bin/java"),
        (f"Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n{JAVA_17}", "17.0.15 at /usr/bin/java"),
        ('java version "17.0.1-ea" 2021', "17.0.1-ea at /usr/bin/java"),
    ],
)
def test_a_java_that_spark_runs_on(told: str, detail: str) -> None:
    assert finding("java", run=java(told)) == Finding("java", True, detail)


def test_a_java_that_does_not_run() -> None:
    stub = "The operation couldn't be completed.\nUnable to locate a Java Runtime.\n"
    assert finding("java", run=java(stub, code=1)) == Finding(
        "java", False, "/usr/bin/java does not run: Unable to locate a Java Runtime", GET_JAVA
    )


def test_java_home_goes_before_the_path_and_is_named_when_it_is_wrong(tmp_path: Path) -> None:
    asked: list[Sequence[str]] = []

    def run(command: Sequence[str], limit_seconds: float) -> Ran:
        asked.append(command)
        return java()(command, limit_seconds)

    assert finding("java", variables={"JAVA_HOME": "/opt/jdk"}, run=run).ok
    assert [command[0] for command in asked] == ["/opt/jdk/bin/java"] * 2
    absent = tmp_path / "absent"
    assert finding("java", variables={"JAVA_HOME": str(absent)}, run=run_command) == Finding(
        "java",
        False,
        f"{absent}/bin/java does not run: No such file or directory",
        f"Mend JAVA_HOME={absent} or unset it. {GET_JAVA}",
    )


def test_a_reduced_java_is_refused() -> None:
    assert finding("java", run=java(modules="java.base@17.0.15\n")) == Finding(
        "java",
        False,
        "/usr/bin/java is a reduced Java without the module jdk.incubator.vector, which Spark "
        "needs",
        GET_JAVA,
    )


@pytest.mark.parametrize(
    ("version", "detail"),
    [
        (None, "PySpark is not installed in this Python"),
        ("4.2.0", "this is PySpark 4.2.0, and Penstock runs on 4.3"),
        ("4.30.0", "this is PySpark 4.30.0, and Penstock runs on 4.3"),
    ],
)
def test_the_wrong_pyspark(version: str | None, detail: str) -> None:
    assert finding("spark", pyspark_version=lambda: version) == Finding(
        "spark", False, detail, "Write: pip install 'pyspark>=4.3,<4.4'."
    )


def test_spark_home_must_hold_the_same_version(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-4.1.0.jar").touch()
    variables = {"SPARK_HOME": str(tmp_path)}
    wrong = finding("spark", variables=variables)
    assert not wrong.ok
    assert str(tmp_path) in wrong.detail
    assert "SPARK_HOME" in wrong.remedy
    (tmp_path / "jars" / "spark-core_2.13-4.3.0.jar").touch()
    assert finding("spark", variables=variables).ok


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"SPARK_REMOTE": "sc://host"}, "SPARK_REMOTE"),
        ({"SPARK_CONNECT_MODE_ENABLED": ""}, "SPARK_CONNECT_MODE_ENABLED"),
        ({"SPARK_CONNECT_MODE": "1"}, "SPARK_CONNECT_MODE"),
        ({"SPARK_API_MODE": "Connect"}, "SPARK_API_MODE"),
        (
            {"SPARK_REMOTE": "local", "SPARK_CONNECT_MODE_ENABLED": "1"},
            "SPARK_REMOTE SPARK_CONNECT_MODE_ENABLED",
        ),
    ],
)
def test_variables_that_start_connect(variables: Mapping[str, str], names: str) -> None:
    found = finding("classic", variables=variables)
    assert not found.ok
    assert found.remedy == f"Write: unset {names}."


def test_variables_that_ask_for_classic_are_fine() -> None:
    variables = {"SPARK_CONNECT_MODE": "0", "SPARK_API_MODE": "classic"}
    assert finding("classic", variables=variables).ok


@pytest.mark.parametrize("package", ["pyspark-connect", "pyspark-client"])
def test_packages_that_make_connect_the_default(package: str) -> None:
    found = finding("classic", version_of=installed(**{package: "4.3.0"}))
    assert not found.ok
    assert package in found.detail
    assert f"pip uninstall {package}" in found.remedy


@pytest.mark.parametrize(
    ("version", "detail"),
    [(None, "it is not installed"), ("3.0.1", "PySpark does not know pandas 3.0.1")],
)
def test_the_wrong_pandas(version: str | None, detail: str) -> None:
    versions = {"pandas": version, "pyarrow": "18.0.0"}
    assert finding("pandas", version_of=versions.get) == Finding(
        "pandas", False, detail, "Write: pip install 'pandas>=2.2,<3'."
    )


def test_no_pyarrow() -> None:
    assert finding("pyarrow", version_of={"pandas": "2.3.3"}.get) == Finding(
        "pyarrow", False, "it is not installed", "Write: pip install 'pyarrow>=18'."
    )


@pytest.mark.parametrize(
    ("free", "ok", "detail"),
    [
        (2 * GIGABYTE, True, "2.0 GB free"),
        (GIGABYTE // 2, False, "only 0.5 GB free"),
        (None, True, "unknown, this system does not tell; 2 GB should be free"),
    ],
)
def test_memory(free: int | None, ok: bool, detail: str) -> None:
    found = finding("memory", memory_bytes=lambda: free)
    assert (found.ok, found.detail) == (ok, detail)


def test_too_little_temp_space() -> None:
    found = finding("temp space", free_disk_bytes=lambda directory: GIGABYTE)
    assert not found.ok
    assert found.detail == "/tmp has only 1.0 GB free"
    assert "SPARK_LOCAL_DIRS" in found.remedy


def test_every_local_directory_is_looked_at() -> None:
    room = {"/tmp": 3 * GIGABYTE, "/a": 4 * GIGABYTE, "/b": GIGABYTE}
    changes: dict[str, Any] = {
        "variables": {"SPARK_LOCAL_DIRS": "/a, /tmp,"},
        "free_disk_bytes": room.__getitem__,
    }
    assert finding("temp space", **changes).detail == "3.0 GB free in /tmp, 4.0 GB free in /a"
    changes["variables"] = {"SPARK_LOCAL_DIRS": "/a,/b"}
    assert finding("temp space", **changes).detail == "/b has only 1.0 GB free"


def test_temp_space_that_cannot_be_written() -> None:
    error = PermissionError(errno.EACCES, "Permission denied")
    found = finding("temp space", free_disk_bytes=fails(error))
    assert (found.ok, found.detail) == (False, "/tmp cannot be written: Permission denied")
    nowhere = finding("temp space", temp_directory=fails(FileNotFoundError("none usable")))
    assert (nowhere.ok, nowhere.detail) == (False, "there is no temporary directory: none usable")


def test_a_hostname_that_does_not_resolve() -> None:
    error = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert finding("hostname", bindable_address=fails(error)) == Finding(
        "hostname",
        False,
        "mill cannot be resolved (Name or service not known), so Spark would not start",
        "Write: export SPARK_LOCAL_IP=127.0.0.1, or add '127.0.0.1 mill' to /etc/hosts.",
    )


def test_a_chosen_address_that_is_not_this_machines() -> None:
    error = OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
    found = finding(
        "hostname", variables={"SPARK_LOCAL_IP": "8.8.8.8"}, bindable_address=fails(error)
    )
    assert found == Finding(
        "hostname",
        False,
        "8.8.8.8 cannot be listened on (Cannot assign requested address), so Spark would not start",
        "Write: export SPARK_LOCAL_IP=127.0.0.1",
    )


def test_findings_are_one_line_each_and_json() -> None:
    everything_wrong = Environment(
        python=(3, 9, 0),
        variables={"SPARK_REMOTE": ""},
        which=lambda name: None,
        version_of=lambda package: None,
        pyspark_version=lambda: None,
        memory_bytes=lambda: 0,
        free_disk_bytes=lambda directory: 0,
        bindable_address=fails(OSError("no")),
    )
    findings = examine(everything_wrong)
    assert not any(f.ok for f in findings)
    assert all(f.remedy for f in findings)
    assert len(render(findings).splitlines()) == len(findings)
    assert [Finding(**found) for found in json.loads(json.dumps(as_dicts(findings)))] == list(
        findings
    )


def job(ran: Ran) -> Finding:
    def run(command: Sequence[str], limit_seconds: float) -> Ran:
        return ran if command[0] == sys.executable else java()(command, limit_seconds)

    return examine(replace(HEALTHY, run=run), start_spark=True)[-1]


def test_the_job_must_give_the_right_answer() -> None:
    assert job(Ran(0, "WARN noise\npenstock-doctor: 10 5\n")).ok
    assert not job(Ran(0, "penstock-doctor: 10 4\n")).ok
    assert not job(Ran(1, "penstock-doctor: 10 5\n")).ok


def test_a_job_that_fails_says_why_in_one_line() -> None:
    output = "Traceback\npyspark.errors.PySparkRuntimeError: gateway exited.\nmore noise\n"
    assert job(Ran(1, output)).detail == (
        "Spark did not run a job: pyspark.errors.PySparkRuntimeError: gateway exited"
    )
    assert job(Ran(3, "")).detail == ("Spark did not run a job: it ended with code 3 and no word")


def test_a_job_is_not_tried_where_something_is_wrong() -> None:
    environment = replace(HEALTHY, python=(3, 9), run=java())
    assert examine(environment, start_spark=True)[-1] == Finding(
        "job", False, "it was not tried", "Mend what is wrong above first."
    )


def test_a_command_that_takes_too_long_ends_with_all_it_started(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    listening = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        script = 'exec 3>"$1"; echo started >&3; sleep 100 & wait'
        ran = run_command(["sh", "-c", script, "sh", str(fifo)], limit_seconds=1.0)
        assert ran == Ran(None, "it did not end within 1 seconds")
        assert os.read(listening, 100) == b"started\n"
        # The pipe reads as ended only once the grandchild is gone too.
        assert select.select([listening], [], [], 20.0)[0] == [listening]
        assert os.read(listening, 100) == b""
    finally:
        os.close(listening)


def test_a_command_gives_its_code_and_all_it_printed() -> None:
    script = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    assert run_command([sys.executable, "-c", script], LONG) == Ran(3, "out\nerr\n")


def test_versions_are_found_without_importing() -> None:
    assert version_of("no-such-package") is None
    assert version_of("pytest") == pytest.__version__
    # Run by its path, as the package itself may import PySpark.
    script = (
        "import runpy, sys; doctor = runpy.run_path(sys.argv[1], run_name='doctor'); "
        "print(doctor['pyspark_version'](), 'pyspark' in sys.modules, 'pandas' in sys.modules)"
    )
    ran = run_command([sys.executable, "-c", script, doctor.__file__], LONG)
    assert ran.output == "4.3.0 False False\n"


def test_a_pyspark_without_package_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert pyspark_version() is None
    (tmp_path / "pyspark" / "version.py").write_text('__version__: str = "4.3.2"\n')
    assert pyspark_version() == "4.3.2"


def test_free_space_of_this_machine(tmp_path: Path) -> None:
    assert free_disk_bytes(str(tmp_path)) > 0
    assert free_disk_bytes(str(tmp_path / "not" / "yet")) > 0
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="Not a directory"):
        free_disk_bytes(str(tmp_path / "file"))


def test_memory_of_this_machine() -> None:
    free = available_memory_bytes()
    assert free is None or free > 0


def test_addresses_of_this_machine() -> None:
    assert bindable_address("127.0.0.1") == "127.0.0.1"
    with pytest.raises(socket.gaierror):
        bindable_address("no.such.host.invalid")
    with pytest.raises(socket.gaierror, match="not a host's name"):
        bindable_address("x" * 300)
    # An address set aside for documents, which no machine has.
    with pytest.raises(OSError, match="assign"):
        bindable_address("192.0.2.1")


@pytest.mark.slow
def test_a_real_job_on_this_machine() -> None:
    environment = replace(HEALTHY, run=run_command, which=Environment().which)
    found = examine(environment, start_spark=True)[-1]
    assert found == Finding("job", True, "Spark started and ran a job")
