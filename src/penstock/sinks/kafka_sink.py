"""Records in a Kafka topic, each with a header that names its query, batch and row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from penstock.arguments import shown
from penstock.errors import ConfigurationError, SinkError
from penstock.kafka_ids import ID_HEADER
from penstock.secrets import keep_secrets_of
from penstock.sinks.finished_rows import finished_rows
from penstock.sinks.kafka_records import RecordShape
from penstock.sinks.kafka_topic import check_topic, explained, kafka_failure
from penstock.sinks.session_classes import session_classes

_PREFIX = "kafka."


class KafkaSink:
    """Sends each row of a batch as one record, with one Spark job.

    Kafka knows no batches: what a try sent that failed or was killed stays in the topic, and the
    next try sends all of the batch again. Every record has a header ``penstock-id`` that is the
    same in every try and no other row's, so that a consumer that takes each id once has each row
    once.
    """

    reads_all = True

    def __init__(
        self,
        servers: str,
        topic: str,
        shape: RecordShape,
        options: Mapping[str, str] | None = None,
    ) -> None:
        _check_settings(servers, topic, shape, options or {})
        self._servers = servers
        self.topic = topic
        self._shape = shape
        self._options = {name: str(value) for name, value in (options or {}).items()}
        keep_secrets_of(self._options)
        self._options[f"{_PREFIX}bootstrap.servers"] = servers
        self._query_id: str | None = None

    def __repr__(self) -> str:
        return self.describe()

    def open(self, query_id: str) -> None:
        """Refuse a session without the connector, a broker that is silent, a topic that is not."""
        self._query_id = query_id
        settings = {
            name.removeprefix(_PREFIX): value
            for name, value in self._options.items()
            if name.startswith(_PREFIX)
        }
        check_topic(SparkSession.active(), self.topic, settings, self.describe())

    def write(self, df: DataFrame, batch_id: int) -> None:
        """Send one batch; returns when the broker has all of it."""
        if self._query_id is None:
            raise SinkError(f"{self.describe()} got batch {batch_id} before open(query_id)")
        self.check(df.columns)
        records = self._shape.records(df, f"{self._query_id}/{batch_id}")
        with session_classes(df.sparkSession), finished_rows(records) as finished:
            writer = finished.write.format("kafka").options(**self._options)
            try:
                writer.option("topic", self.topic).save()
            except Exception as error:
                if kafka_failure(error) is None:
                    raise  # of the rows, not of Kafka
                said = explained(error, self.describe(), self.topic, self._servers)
                raise SinkError(said) from None

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns of which two have one name, or that lack one that a record needs."""
        repeated = [name for name, times in Counter(columns).items() if times > 1]
        if repeated:
            raise SinkError(
                f"{self.describe()} got the column '{repeated[0]}' more than once. Rename one: "
                f"select(..., 'x AS other_name')"
            )
        shape = self._shape
        wanted = {
            "key": [shape.key] if shape.key is not None else [],
            "value": [shape.value] if shape.value is not None else [],
            "headers": shape.headers,
            "unique_by": shape.unique_by,
        }
        for argument, names in wanted.items():
            for name in names:
                if name not in columns:
                    raise SinkError(
                        f"{self.describe()} has {argument} column '{name}', which is not among "
                        f"the columns {', '.join(columns)}. Add it to the rows: "
                        f"select('*', '... AS {name}')"
                    )

    def describe(self) -> str:
        """Brokers and topic, without any option."""
        return f"kafka({self._servers}, {self.topic})"


def _check_settings(
    servers: str, topic: str, shape: RecordShape, options: Mapping[str, str]
) -> None:
    if not servers or not all(re.fullmatch(r"[^\s@,]+:\d+", each) for each in servers.split(",")):
        raise ConfigurationError(
            "the kafka sink got servers that are no addresses. Write host:port, several with "
            "commas: 'broker-1:9092,broker-2:9092'; logins go into options"
        )
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic):
        raise ConfigurationError(
            f"{shown(topic)} is no name of a topic. Kafka takes letters, digits, '.', '_' and '-'"
        )
    if ID_HEADER in shape.headers:
        raise ConfigurationError(
            f"the header '{ID_HEADER}' of the kafka sink is its own. Rename the column"
        )
    for name, value in options.items():
        if not name.startswith(_PREFIX) or name.lower() == f"{_PREFIX}bootstrap.servers":
            raise ConfigurationError(
                f"the option {shown(name)} is not one of a Kafka producer, or has an argument of "
                "its own. Write kafka(servers, topic, options={'kafka.compression.type': 'zstd'})"
            )
        if name.lower() == f"{_PREFIX}acks" and str(value) not in ("all", "-1"):
            raise ConfigurationError(
                f"kafka.acks={value} lets a broker that dies lose rows that the query takes for "
                f"written. Leave it out: it is 'all' unless said"
            )
