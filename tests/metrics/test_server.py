"""Metrics over HTTP."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Iterator
from http.client import parse_headers
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

import pytest

from metrics.written import batch, parsed, started, value, write
from penstock.errors import ConfigurationError
from penstock.metrics import server as server_module
from penstock.metrics.beside import metrics_of
from penstock.metrics.collector import JournalCollector
from penstock.metrics.server import MetricsServer


def get(address: str, **headers: str) -> tuple[str, str]:
    with urllib.request.urlopen(
        urllib.request.Request(address, headers=headers), timeout=30
    ) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    server = MetricsServer(0)
    yield server
    server.close()


def test_metrics_are_served_as_of_now(tmp_path: Path, server: MetricsServer) -> None:
    write(tmp_path, [started(), batch(0)])
    server.serve(JournalCollector([tmp_path]))
    text, kind = get(server.address)
    assert kind.startswith("text/plain; version=")
    assert value(parsed(text), "penstock_batches_total") == 1
    write(tmp_path, [batch(1)])
    text, _ = get(server.address)
    assert value(parsed(text), "penstock_batches_total") == 2


def test_prometheus_gets_the_format_it_asks_for(tmp_path: Path, server: MetricsServer) -> None:
    server.serve(JournalCollector([write(tmp_path, [started()])]))
    text, kind = get(server.address, Accept="application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")


def test_it_listens_on_this_machine_only_unless_told(server: MetricsServer) -> None:
    assert server.address.startswith("http://127.0.0.1:")
    everywhere = MetricsServer(0, "0.0.0.0")
    assert everywhere.address.startswith("http://0.0.0.0:")
    everywhere.close()


def test_other_addresses_say_where_metrics_are(tmp_path: Path, server: MetricsServer) -> None:
    server.serve(JournalCollector([tmp_path]))
    home = server.address.removesuffix("/metrics")
    assert "/metrics" in get(home + "/")[0]
    with pytest.raises(HTTPError, match="404"):
        get(home + "/etc/passwd")
    assert "penstock_journal_lines_total" in get(server.address + "?x=1")[0]


def answer_to(method: str, address: str, body: bytes = b"") -> tuple[int, Any, bytes]:
    """Ask as ``http.client`` can't: read all that comes, also after an answer to HEAD."""
    where = urlsplit(address)
    asked = f"{method} {where.path} HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((where.hostname, where.port), timeout=30) as connection:
        connection.sendall(asked.encode() + body)
        with connection.makefile("rb") as answer:
            status = int(answer.readline().split()[1])
            return status, parse_headers(answer), answer.read()


def test_head_is_answered_as_get_without_the_text(tmp_path: Path, server: MetricsServer) -> None:
    server.serve(JournalCollector([write(tmp_path, [started(), batch(0)])]))
    _, from_get, text = answer_to("GET", server.address)
    status, headers, none = answer_to("HEAD", server.address)
    assert (status, none) == (200, b"")
    assert headers["Content-Type"] == from_get["Content-Type"]
    assert abs(int(headers["Content-Length"]) - len(text)) < len(text) / 10
    assert answer_to("HEAD", server.address + "x")[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FROB"])
def test_other_methods_are_refused_with_those_there_are(
    tmp_path: Path, server: MetricsServer, method: str
) -> None:
    server.serve(JournalCollector([tmp_path]))
    status, headers, text = answer_to(method, server.address, b"penstock_batches_total 7")
    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    assert text.decode() == f"{method} can't be answered; metrics are read with GET or HEAD\n"
    assert "penstock_journal_lines_total" in get(server.address)[0]


def test_a_long_journal_is_not_shown_before_it_was_read(
    tmp_path: Path, server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_WAIT_FOR_BEGINNING_SECONDS", 0.01)
    may_read = threading.Event()

    class Slow(JournalCollector):
        def read_on(self, most_lines: int | None = None) -> bool:
            may_read.wait()
            return super().read_on(most_lines)

    server.serve(Slow([write(tmp_path, [started(), batch(0)])]))
    with pytest.raises(HTTPError, match="503"):
        get(server.address)
    may_read.set()
    monkeypatch.setattr(server_module, "_WAIT_FOR_BEGINNING_SECONDS", 60.0)
    assert value(parsed(get(server.address)[0]), "penstock_batches_total") == 1


def test_it_reads_on_while_nobody_asks(tmp_path: Path, server: MetricsServer) -> None:
    write(tmp_path, [started(), *(batch(n) for n in range(1_000))])
    collector = JournalCollector([tmp_path])
    server.serve(collector)
    assert collector.wait_caught_up(60.0)
    assert collector.share_read() == 1.0


def test_a_failure_is_told_and_the_next_answer_is_right(
    tmp_path: Path, server: MetricsServer, caplog: pytest.LogCaptureFixture
) -> None:
    class Fails(JournalCollector):
        times = 0

        def collect(self) -> Iterator[Any]:
            self.times += 1
            if self.times == 1:
                raise ZeroDivisionError("once")
            return super().collect()

    server.serve(Fails([write(tmp_path, [started(), batch(0)])]))
    with pytest.raises(HTTPError, match="500"):
        get(server.address)
    assert "ZeroDivisionError: once" in caplog.text
    assert value(parsed(get(server.address)[0]), "penstock_batches_total") == 1


def test_a_disk_that_hangs_does_not_keep_a_query_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "_END_WITHIN_SECONDS", 0.01)
    hangs, may_go_on = threading.Event(), threading.Event()

    class Hangs(JournalCollector):
        def read_on(self, most_lines: int | None = None) -> bool:
            with self._lock:
                hangs.set()
                may_go_on.wait()
            return True

    server = MetricsServer(0)
    server.serve(Hangs([tmp_path]))
    hangs.wait()
    server.close()
    with pytest.raises(URLError):
        get(server.address)
    may_go_on.set()


def test_it_gives_its_port_back(tmp_path: Path) -> None:
    server = MetricsServer(0)
    server.serve(JournalCollector([tmp_path]))
    get(server.address)
    server.close()
    with pytest.raises(URLError):
        get(server.address)
    again = MetricsServer(int(server.address.split(":")[2].split("/")[0]))
    again.close()
    names = {thread.name for thread in threading.enumerate()}
    assert not {name for name in names if name.startswith("penstock-metrics")}


def test_a_port_that_is_taken_is_said_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"127.0.0.1:{port}: Address already in use"):
            MetricsServer(port)


@pytest.mark.parametrize("port", [-1, 65_536, True, "9108", 9108.0])
def test_what_is_no_port_is_refused(port: Any) -> None:
    with pytest.raises(ConfigurationError, match="is no port"):
        MetricsServer(port)


@pytest.mark.parametrize("host", ["", " ", 7, None])
def test_what_is_no_address_is_refused(host: Any) -> None:
    with pytest.raises(ConfigurationError, match="is no address"):
        MetricsServer(0, host)


@pytest.mark.parametrize("host", ["no such host", "300.1.1.1", "x" * 300])
def test_an_address_that_is_none_of_this_machine_is_said(host: str) -> None:
    with pytest.raises(ConfigurationError, match="metrics can't be served on"):
        MetricsServer(0, host)


class _Query:
    """What ``metrics_of`` needs to know of a query."""

    metrics_address: str | None = None

    def __init__(self) -> None:
        self.at_end: list[Any] = []

    def when_ended(self, then: Any) -> None:
        self.at_end.append(then)


def test_metrics_of_a_query_end_with_it(tmp_path: Path) -> None:
    with metrics_of(0, None) as with_metrics:
        query = with_metrics(_Query(), str(write(tmp_path, [started(), batch(0)])))
    assert query.metrics_address is not None
    assert value(parsed(get(query.metrics_address)[0]), "penstock_batches_total") == 1
    for then in query.at_end:
        then()
    with pytest.raises(URLError):
        get(query.metrics_address)


def test_a_query_that_does_not_start_gives_the_port_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    with pytest.raises(ZeroDivisionError), metrics_of(port, None):
        raise ZeroDivisionError
    MetricsServer(port).close()


def test_without_a_port_nothing_is_served() -> None:
    with metrics_of(None, None) as with_metrics:
        query = with_metrics(_Query(), "nowhere")
    assert (query.metrics_address, query.at_end) == (None, [])
    with (
        pytest.raises(ConfigurationError, match="Write metrics_port=9108 too"),
        metrics_of(None, "0.0.0.0"),
    ):
        pass
