"""What deploy/ holds was not run on a cluster; that its parts fit together is checked here."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import kubernetes_validate
import pyarrow.parquet as pq
import pyspark
import pytest
import yaml
from packaging.specifiers import SpecifierSet
from pyspark.sql import SparkSession

import penstock as ps
from penstock.version import __version__

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
KUBERNETES = "1.32"


def documents() -> list[dict[str, Any]]:
    return [each for path in MANIFESTS for each in yaml.safe_load_all(path.read_text())]


def the(kind: str) -> Any:
    (found,) = [each for each in documents() if each["kind"] == kind]
    return found


def pod() -> Any:
    return the("StatefulSet")["spec"]["template"]["spec"]


def container() -> Any:
    (only,) = pod()["containers"]
    return only


def settings() -> dict[str, str]:
    lines = the("ConfigMap")["data"]["spark-defaults.conf"].splitlines()
    return dict(line.split() for line in lines)  # type: ignore[misc]


def dockerfile() -> list[list[str]]:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


def copied() -> dict[str, str]:
    """Return where the image has each file that is copied into it."""
    places = {}
    for words in dockerfile():
        if words[0] == "COPY":
            *sources, target = (word for word in words[1:] if not word.startswith("--"))
            for source in sources:
                places[source] = target + source if target.endswith("/") else target
    return places


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_is_what_kubernetes_asks_for(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)


def test_everything_is_in_one_namespace() -> None:
    spaces = {each["metadata"]["namespace"] for each in documents()}
    assert spaces == {settings()["spark.kubernetes.namespace"]}


def test_the_driver_may_do_what_its_role_says() -> None:
    binding, account = the("RoleBinding"), the("ServiceAccount")["metadata"]
    (subject,) = binding["subjects"]
    assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])
    assert binding["roleRef"]["name"] == the("Role")["metadata"]["name"]
    assert pod()["serviceAccountName"] == account["name"]


def test_executors_find_the_driver() -> None:
    driver, service, conf = the("StatefulSet"), the("Service"), settings()
    first = f"{driver['metadata']['name']}-0"
    name, space = service["metadata"]["name"], service["metadata"]["namespace"]
    assert driver["spec"]["replicas"] == 1
    assert driver["spec"]["serviceName"] == name
    assert service["spec"]["selector"] == driver["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == driver["spec"]["selector"]["matchLabels"]
    assert conf["spark.kubernetes.driver.pod.name"] == first
    assert conf["spark.driver.host"] == f"{first}.{name}.{space}.svc"
    ports = {int(conf["spark.driver.port"]), int(conf["spark.driver.blockManager.port"])}
    assert {each["port"] for each in service["spec"]["ports"]} == ports
    assert {each["containerPort"] for each in container()["ports"]} == ports


def test_driver_and_executors_have_one_image_and_see_one_disk() -> None:
    conf, claim = settings(), the("PersistentVolumeClaim")
    image = container()["image"]
    assert conf["spark.kubernetes.container.image"] == image
    assert image.endswith(f":{__version__}")
    assert f"-t {image} " in (DEPLOY / "Dockerfile").read_text()
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    volumes = {each["name"]: each for each in pod()["volumes"]}
    mounts = {each["name"]: each["mountPath"] for each in container()["volumeMounts"]}
    name = claim["metadata"]["name"]
    assert volumes["data"]["persistentVolumeClaim"]["claimName"] == name
    at = "spark.kubernetes.executor.volumes.persistentVolumeClaim.data"
    assert conf[f"{at}.options.claimName"] == name
    assert conf[f"{at}.mount.path"] == mounts["data"]
    assert volumes["spark"]["configMap"]["name"] == the("ConfigMap")["metadata"]["name"]
    (variable,) = container()["env"]
    assert variable == {"name": "SPARK_CONF_DIR", "value": mounts["spark"]}
    page = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text()
    for who in ("driver", "executor"):
        at = f"--conf spark.kubernetes.{who}.volumes.persistentVolumeClaim.data"
        assert f"{at}.options.claimName={name} {at}.mount.path={mounts['data']} " in page
    # The job keeps what it writes on that disk.
    assert container()["command"][-1] == mounts["data"]


def test_the_image_has_what_it_is_made_of_and_what_the_driver_runs() -> None:
    places = copied()
    assert all((ROOT / source).exists() for source in places)
    assert container()["command"][1] == places["deploy/job.py"]
    # The wheel is built from these, as pyproject.toml says.
    assert {"pyproject.toml", "README.md", "LICENSE", "src"} <= set(places)
    assert container()["command"][0] == "/opt/spark/bin/spark-submit"
    assert (Path(pyspark.__file__).parent / "bin" / "spark-submit").exists()


def test_the_image_begins_with_a_python_that_penstock_runs_on_and_brings_java() -> None:
    ((_, base),) = [words for words in dockerfile() if words[0] == "FROM"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = re.fullmatch(r"python:(\d+\.\d+)-slim-bookworm", base)
    assert version is not None
    assert version[1] in SpecifierSet(project["requires-python"])
    installed = {word for words in dockerfile() if words[0] == "RUN" for word in words}
    assert "openjdk-17-jre-headless" in installed


def test_who_runs_in_the_image_may_write_to_the_disk() -> None:
    ((_, user),) = [words for words in dockerfile() if words[0] == "USER"]
    context = pod()["securityContext"]
    assert user == f"{context['runAsUser']}:{context['runAsGroup']}"
    assert context["fsGroup"] == context["runAsGroup"]
    (made,) = [words for words in dockerfile() if "useradd" in words]
    assert made[made.index("--uid") + 1] == str(context["runAsUser"])
    assert made[made.index("--gid") + 1] == str(context["runAsGroup"])


def entered(tmp_path: Path, *words: str) -> list[str]:
    """What a container's first script runs, with a tini that only says how it was called."""
    (tini := tmp_path / "tini").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    tini.chmod(0o755)
    named = ["DRIVER_BIND_ADDRESS", "DRIVER_URL", "APPLICATION_ID", "RESOURCE_PROFILE_ID"]
    named += [f"EXECUTOR_{name}" for name in ("ID", "CORES", "POD_IP", "POD_NAME")]
    told = {f"SPARK_{name}": name.lower() for name in named}
    options = {f"SPARK_JAVA_OPT_{n}": f"-Dn={n} and more" for n in (10, 2, 0)}
    homes = {"JAVA_HOME": "/java", "SPARK_HOME": "/spark", "SPARK_EXECUTOR_MEMORY": "4g"}
    done = subprocess.run(
        [str(DEPLOY / "entrypoint.sh"), *words],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", **told, **options, **homes},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_an_executor_is_started_as_spark_says(tmp_path: Path) -> None:
    ran = entered(tmp_path, "executor")
    assert ran[:3] == ["-s", "--", "/java/bin/java"]
    assert ran[3:8] == [*(f"-Dn={n} and more" for n in (0, 2, 10)), "-Xms4g", "-Xmx4g"]
    assert "/spark/jars/*" in ran[ran.index("-cp") + 1].split(":")
    assert ran[10] == "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
    given = dict(zip(ran[11::2], ran[12::2], strict=True))
    assert given["--driver-url"] == "driver_url"
    assert given["--hostname"] == "executor_pod_ip"
    assert given["--resourceProfileId"] == "resource_profile_id"


def test_a_driver_of_cluster_mode_is_submitted(tmp_path: Path) -> None:
    ran = entered(tmp_path, "driver", "--class", "a.B")
    assert ran[2] == "/spark/bin/spark-submit"
    assert ran[4] == "spark.driver.bindAddress=driver_bind_address"
    assert ran[5:] == ["--deploy-mode", "client", "--class", "a.B"]


def test_what_is_no_executor_is_a_command(tmp_path: Path) -> None:
    assert entered(tmp_path, "ls", "a b") == ["-s", "--", "ls", "a b"]


def test_pyspark_has_what_an_executor_runs(spark: SparkSession) -> None:
    """So that an image needs no Spark beside it."""
    jvm: Any = spark._jvm
    name = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
    assert jvm.java.lang.Class.forName(name).getName() == name


def test_executors_are_asked_for_by_penstock_alone() -> None:
    assert settings()["spark.dynamicAllocation.enabled"] == "false"


def test_the_script_for_yarn_refuses_what_can_not_work() -> None:
    script = str(DEPLOY / "yarn" / "submit.sh")
    none = subprocess.run([script], capture_output=True, text=True, check=False)
    assert (none.returncode, none.stderr.split()[0]) == (2, "usage:")
    plain = [script, "job.py", "/tmp/job"]
    local = subprocess.run(plain, capture_output=True, text=True, check=False)
    assert local.returncode == 2
    assert "/tmp/job is not on HDFS" in local.stderr


def test_the_script_for_yarn_hands_all_to_spark_submit(tmp_path: Path) -> None:
    """With a spark-submit that only says how it was called: there is no YARN here."""
    submit = tmp_path / "spark-submit"
    submit.write_text('#!/bin/sh\necho "$PYSPARK_PYTHON" "$@"\n')
    submit.chmod(0o755)
    (tmp_path / "env.tar.gz").touch()
    shell = shutil.which("bash")
    assert shell is not None
    done = subprocess.run(
        [shell, str(DEPLOY / "yarn" / "submit.sh"), "job.py", "hdfs:///job", "--more"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "ENVIRONMENT": str(tmp_path / "env.tar.gz")},
        capture_output=True,
        text=True,
        check=True,
    )
    words = done.stdout.split()
    assert words[0] == "./env/bin/python"
    assert f"{tmp_path}/env.tar.gz#env" in words
    assert "spark.dynamicAllocation.enabled=false" in words
    assert words[-3:] == ["job.py", "hdfs:///job", "--more"]


def test_the_page_on_yarn_sets_and_names_what_the_script_does() -> None:
    """Above all the Python of the driver, which has no ./env where it runs."""
    page = (ROOT / "docs" / "how-to" / "yarn.md").read_text()
    script = (DEPLOY / "yarn" / "submit.sh").read_text()
    for program in ("spark-submit", "venv-pack"):
        assert told_to(page, program) == told_to(script, program) != set(), program


def told_to(text: str, program: str) -> set[str]:
    """Return the variables and options that the one line of a program gives it."""
    lines = re.sub(r"\\\n *", "", text).splitlines()
    (line,) = [each for each in lines if re.search(rf'{program}"? --', each)]
    return set(re.findall(r"\b[A-Z_]+(?==)|(?<= )--[a-z-]+", line))


def test_the_job_counts_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("deployed_job", DEPLOY / "job.py")
    assert spec is not None
    assert spec.loader is not None
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    where = str(tmp_path)
    counts = job.build(spark, where, seconds=30)
    query = ps.run(counts, checkpoint=f"{where}/checkpoint", available_now=True)
    query.await_termination(120)
    rows: Counter[datetime] = Counter()
    for row in pq.read_table(tmp_path / "counts").to_pylist():
        rows[row["window"]["start"]] += row["n"]
    # The first window may have begun before the rows did.
    _, *whole = sorted(rows)
    assert [rows[start] for start in whole] == [2_000] * len(whole)
    assert whole
