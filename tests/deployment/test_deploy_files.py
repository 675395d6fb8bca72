"""What deploy/ holds was not run on a cluster; that its parts fit together is checked here."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import kubernetes_validate
import pyarrow.parquet as pq
import pyspark
import pytest
import yaml
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
            *sources, target = words[1:]
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
    # The job keeps what it writes on that disk.
    assert container()["command"][-1] == mounts["data"]


def test_the_image_has_what_it_is_made_of_and_what_the_driver_runs() -> None:
    places = copied()
    assert all((ROOT / source).exists() for source in places)
    assert container()["command"][1] == places["deploy/job.py"]
    # The wheel is built from these, as pyproject.toml says.
    assert {"pyproject.toml", "README.md", "LICENSE", "src"} <= set(places)
    spark = {words[1] for words in dockerfile() if words[0] == "FROM"}
    assert spark == {f"apache/spark:{pyspark.__version__}-python3"}


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
