"""A real Kafka broker on free ports of this machine, for tests marked ``kafka``."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

HOST = "127.0.0.1"
USER, PASSWORD = "ann", "open-sesame-91"
START_SECONDS = 120
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
JAAS = f'{_LOGIN} required username="{USER}" password="{PASSWORD}";'


@dataclass
class KafkaBroker:
    """A broker that can be stopped and started again on the same ports with the same data.

    ``servers`` takes everybody, ``guarded_servers`` asks for a user and a password. Topics are
    made, filled and read with a client that shares no code with Spark's.
    """

    home: Path
    java: Sequence[str]
    ports: tuple[int, int, int]
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def servers(self) -> str:
        return f"{HOST}:{self.ports[0]}"

    @property
    def guarded_servers(self) -> str:
        return f"{HOST}:{self.ports[1]}"

    def start(self) -> None:
        """Start the process and wait until it answers."""
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.java, "kafka.Kafka", str(self.home / "server.properties")],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no broker:\n{(self.home / 'log').read_text()[-4_000:]}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop the process, in its own time or at once, and wait until it is gone."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, how)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def make_topic(self, name: str, partitions: int = 2, exact: bool = False) -> str:
        """Make a topic and return its name, which nobody else has unless it is to be exact."""
        topic = name if exact else f"{name}-{uuid.uuid4().hex[:8]}"
        admin = self._admin()  # its futures live only as long as it does
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)
        return topic

    def delete_topic(self, topic: str) -> None:
        admin = self._admin()
        admin.delete_topics([topic])[topic].result(60)

    def set_partitions(self, topic: str, count: int) -> None:
        admin = self._admin()
        admin.create_partitions([NewPartitions(topic, count)])[topic].result(60)

    def send(
        self,
        topic: str,
        values: Iterable[bytes | str | None],
        partition: int | None = None,
        at_seconds: float | None = None,
    ) -> None:
        """Send one record for each value, in turn to all partitions unless one is named.

        Their time is now unless ``at_seconds`` (epoch) is given.
        """
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5})
        failed: list[object] = []
        count = self.partitions(topic)
        for number, value in enumerate(values):
            producer.produce(
                topic,
                value=value,
                partition=number % count if partition is None else partition,
                timestamp=0 if at_seconds is None else int(at_seconds * 1_000),
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
            producer.poll(0)
        assert producer.flush(60) == 0
        assert not failed, failed

    def partitions(self, topic: str) -> int:
        return len(self._admin().list_topics(topic, timeout=60).topics[topic].partitions)

    def end_offsets(self, topic: str) -> Mapping[int, int]:
        """The offset after the last record of every partition."""
        with self._consumer() as consumer:
            return {
                number: _end_offset(consumer, TopicPartition(topic, number))
                for number in range(self.partitions(topic))
            }

    def records(self, topic: str) -> list[Message]:
        """All records that the topic holds now."""
        ends = self.end_offsets(topic)
        left = {number for number, end in ends.items() if end > 0}
        found: list[Message] = []
        with self._consumer() as consumer:
            consumer.assign([TopicPartition(topic, number, 0) for number in left])
            deadline = time.monotonic() + 60
            while left:
                assert time.monotonic() < deadline, f"partitions {left} gave nothing"
                for record in consumer.consume(1_000, timeout=1):
                    assert record.error() is None, record.error()
                    found.append(record)
                    if record.offset() + 1 >= ends[record.partition()]:
                        left.discard(record.partition())
        return found

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.ports[0]), timeout=1):
                return bool(self._admin().list_topics(timeout=5).brokers)
        except Exception:
            return False

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "tests",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        try:
            yield consumer
        finally:
            consumer.close()


def _end_offset(consumer: Consumer, partition: TopicPartition) -> int:
    """Ask until there is an answer: a broker that has just started does not lead at once."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return int(consumer.get_watermark_offsets(partition, timeout=60)[1])
        except KafkaException:
            if time.monotonic() > deadline:
                raise


@contextmanager
def running_broker(jars: Sequence[str]) -> Iterator[KafkaBroker]:
    """Format storage, start a broker that is its own controller, and stop it whatever happens."""
    home = Path(tempfile.mkdtemp(prefix="penstock-kafka-"))
    java = [
        *("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-cp", os.pathsep.join([str(home), *jars])),
    ]
    broker = KafkaBroker(home, java, _free_ports())
    try:
        (home / "server.properties").write_text(_settings(home, broker.ports))
        (home / "log4j2.properties").write_text(_LOGGING)
        # Its first letter is an A: one that began with a dash would pass for an option.
        identity = urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
        made = subprocess.run(
            [
                *(*java, "kafka.tools.StorageTool", "format", "-t", identity),
                *("-c", str(home / "server.properties")),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stdout + made.stderr
        broker.start()
        yield broker
    finally:
        broker.stop(signal.SIGKILL)
        shutil.rmtree(home, ignore_errors=True)


_LOGGING = """rootLogger.level = WARN
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c %m%n
"""


def _settings(home: Path, ports: tuple[int, int, int]) -> str:
    open_port, guarded_port, controller_port = ports
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "listeners": f"OPEN://{HOST}:{open_port},GUARDED://{HOST}:{guarded_port},"
        f"CONTROLLER://{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "OPEN",
        "listener.security.protocol.map": (
            "OPEN:PLAINTEXT,GUARDED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.guarded.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.guarded.plain.sasl.jaas.config": (
            f'{_LOGIN} required user_{USER}="{PASSWORD}";'
        ),
        "log.dirs": home / "data",
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 1,
        "num.io.threads": 2,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _free_ports() -> tuple[int, int, int]:
    probes = [socket.socket() for _ in range(3)]
    try:
        for probe in probes:
            probe.bind((HOST, 0))
        first, second, third = (int(probe.getsockname()[1]) for probe in probes)
    finally:
        for probe in probes:
            probe.close()
    return first, second, third
