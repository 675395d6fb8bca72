"""A look at a Kafka topic from the driver, and what Kafka's errors mean for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from penstock.errors import SinkError, first_line
from penstock.sinks.session_classes import session_classes

_ADMIN = "org.apache.kafka.clients.admin.Admin"
_ANSWER_SECONDS = 40
_PATIENCE = {"default.api.timeout.ms": "30000", "request.timeout.ms": "20000"}
# An exception of Kafka's and its first words, in whatever Spark makes of it.
_FAILURE = re.compile(
    r"org\.apache\.kafka\.(?:common|clients)\.[\w.$]*?(\w+(?:Exception|Error)): ([^\n]*)"
)
_NO_ANSWER = ("TimeoutException", "DisconnectException", "BrokerNotAvailableException")


def kafka_failure(error: BaseException) -> str | None:
    """Return the last thing that Kafka says in an error, which is its cause; None if nothing."""
    found = _FAILURE.findall(str(error))
    return f"{found[-1][0]}: {found[-1][1].strip()}" if found else None


def check_topic(spark: SparkSession, topic: str, settings: Mapping[str, str], name: str) -> None:
    """Raise ``SinkError`` unless a broker answers and has the topic.

    ``settings`` are those of a Kafka client, without Spark's prefix; ``name`` is the sink's.
    """
    jvm: Any = spark._jvm
    with session_classes(spark), _admin(spark, settings, name) as admin:
        answer = admin.describeTopics(jvm.java.util.Collections.singletonList(topic))
        try:
            answer.allTopicNames().get(_ANSWER_SECONDS, jvm.java.util.concurrent.TimeUnit.SECONDS)
        except Py4JJavaError as error:
            raise SinkError(explained(error, name, topic, settings["bootstrap.servers"])) from None


def explained(error: BaseException, name: str, topic: str, servers: str) -> str:
    """Say in a sentence what a failure of Kafka's means, and what to do."""
    said = kafka_failure(error) or _java_class(error)
    kind = said.partition(":")[0]
    if kind == "UnknownTopicOrPartitionException" or "not present in metadata" in said:
        return (
            f"{name}: there is no topic '{topic}', or no broker that has it answers. Make it "
            f"first: kafka-topics.sh --bootstrap-server {servers} --create --topic {topic} "
            f"--partitions N"
        )
    if kind in _NO_ANSWER:
        return (
            f"{name}: no broker answers at {servers}. Check the address, and that the broker runs "
            f"and can be reached from this machine"
        )
    if "Authentication" in kind:
        return (
            f"{name}: the broker refused the login ({said}). Check kafka.sasl.* or kafka.ssl.* in "
            f"options"
        )
    if "Authorization" in kind:
        return f"{name}: this user may not write to '{topic}' ({said}). Ask for the right to"
    return f"{name} failed: {said}"


@contextmanager
def _admin(spark: SparkSession, settings: Mapping[str, str], name: str) -> Iterator[Any]:
    jvm, gateway = _java(spark)
    properties = jvm.java.util.HashMap()
    patience = {} if any("timeout" in key for key in settings) else _PATIENCE
    for key, value in {**patience, **settings}.items():
        properties.put(key, value)
    try:
        admin_class = _session_loader(spark).loadClass(_ADMIN)
        kinds = gateway.new_array(jvm.java.lang.Class, 1)
        kinds[0] = jvm.java.lang.Class.forName("java.util.Map")
        given = gateway.new_array(jvm.java.lang.Object, 1)
        given[0] = properties
        admin = admin_class.getMethod("create", kinds).invoke(None, given)
    except Py4JJavaError as error:
        if "ClassNotFoundException" in str(error):
            raise SinkError(
                f"{name} needs Spark's Kafka connector, which this session does not have. Add it "
                f"where the session is made: SparkSession.builder.config('spark.jars.packages', "
                f"'{connector_coordinate(spark)}')"
            ) from None
        said = kafka_failure(error) or first_line(error)
        raise SinkError(f"{name}: Kafka does not take these options ({said})") from None
    try:
        yield admin
    finally:
        with suppress(Py4JError):
            admin.close(jvm.java.time.Duration.ZERO)


def connector_coordinate(spark: SparkSession) -> str:
    """The jar of Spark's Kafka source and writer, by its Maven coordinate."""
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}"


def _session_loader(spark: SparkSession) -> Any:
    return spark._jsparkSession.sharedState().jarClassLoader()


def _java(spark: SparkSession) -> tuple[Any, Any]:
    return spark._jvm, spark.sparkContext._gateway


def _java_class(error: BaseException) -> str:
    if not isinstance(error, Py4JJavaError):
        return first_line(error)
    return str(error.java_exception.getClass().getSimpleName()) + ": "
