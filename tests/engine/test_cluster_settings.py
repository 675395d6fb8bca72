from __future__ import annotations

import pytest

from penstock.engine.cluster_settings import ClusterSettings
from penstock.errors import ConfigurationError


def standalone(**conf: str) -> ClusterSettings:
    named = {f"spark.{name.replace('_', '.')}": value for name, value in conf.items()}
    return ClusterSettings("spark://host:7077", named)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (ClusterSettings("local[4]", {}), r"master is local\[4\]\. Use LocalSlots here"),
        (
            ClusterSettings("yarn", {"spark.dynamicAllocation.enabled": "TRUE"}),
            "Start the session with .*'spark.dynamicAllocation.enabled', 'false'",
        ),
        (standalone(cores_max="3"), r"spark.cores.max is 3, and ExecutorSlots\(max=4\)"),
        (standalone(cores_max="7", task_cpus="2"), "spark.cores.max is 7"),
    ],
)
def test_where_executors_cannot_be_asked_for(settings: ClusterSettings, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        settings.check(most_slots=4)


@pytest.mark.parametrize(
    "settings",
    [
        standalone(cores_max="4"),
        standalone(cores_max="8", task_cpus="2"),
        ClusterSettings("local-cluster[1,4,1024]", {}),
        ClusterSettings("k8s://host", {"spark.dynamicAllocation.enabled": "false"}),
        ClusterSettings("yarn", {"spark.cores.max": "1"}),  # which means nothing there
    ],
)
def test_where_they_can(settings: ClusterSettings) -> None:
    settings.check(most_slots=4)


def test_the_slots_of_an_executor() -> None:
    assert standalone(executor_cores="4").slots_each(None) == 4
    assert standalone(executor_cores="4").slots_each(4) == 4
    assert standalone(executor_cores="5", task_cpus="2").slots_each(None) == 2
    assert standalone().slots_each(8) == 8
    assert ClusterSettings("yarn", {}).slots_each(None) == 1


def test_slots_that_nobody_knows_or_that_contradict() -> None:
    with pytest.raises(ConfigurationError, match=r"'spark.executor.cores', '1'"):
        standalone().slots_each(None)
    with pytest.raises(ConfigurationError, match="Leave cores_per_executor out"):
        standalone(executor_cores="4").slots_each(2)


def test_what_an_application_begins_with() -> None:
    assert ClusterSettings("yarn", {"spark.executor.instances": "5"}).initial_executors == 5
    assert ClusterSettings("yarn", {}).initial_executors == 2
    assert ClusterSettings("k8s://host", {}).initial_executors == 2
    assert standalone(executor_instances="5").initial_executors is None
