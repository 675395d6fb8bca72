"""Serves metrics over HTTP to Prometheus, from threads that no query waits for."""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from penstock.errors import ConfigurationError
from penstock.metrics.collector import JournalCollector, registry_of
from penstock.secrets import logger

DEFAULT_PORT = 9108
DEFAULT_HOST = "127.0.0.1"
_READ_EVERY_SECONDS = 1.0
_LINES_AT_ONCE = 500
_WAIT_FOR_BEGINNING_SECONDS = 2.0
_ANSWER_WITHIN_SECONDS = 10.0
_END_WITHIN_SECONDS = 1.0
_ALLOWED = "GET, HEAD"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PLAIN = "text/plain; charset=utf-8"

_log = logger("penstock.metrics")


class MetricsServer:
    """Holds a port from the moment it is made, and serves a collector's metrics from ``serve`` on.

    ``rest`` is how long it rests from reading a long journal for the first time, as a multiple of
    how long it reads: beside a query it should not take a core for itself.
    """

    def __init__(self, port: int, host: str = DEFAULT_HOST, *, rest: float = 0.0) -> None:
        check_port(port)
        check_host(host)
        self._http = _listen(host, port)
        self._rest = rest
        self._ending = threading.Event()
        self._collector: JournalCollector | None = None
        self._threads: list[threading.Thread] = []

    @property
    def address(self) -> str:
        """Where metrics are, for Prometheus and for browsers."""
        host, port = self._http.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/metrics"

    def serve(self, collector: JournalCollector) -> None:
        """Begin to answer; returns at once."""
        self._collector = collector
        self._http.collector = collector
        self._http.registry = registry_of(collector)
        for name, work in (("read", self._read), ("serve", self._answer)):
            thread = threading.Thread(target=work, name=f"penstock-metrics-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """Stop answering and give the port back; a disk that hangs is not waited for."""
        self._ending.set()
        if self._threads:
            self._http.shutdown()
        self._http.server_close()
        for thread in self._threads:
            thread.join(_END_WITHIN_SECONDS)
        if self._collector is not None:
            self._collector.close(_END_WITHIN_SECONDS)

    def _answer(self) -> None:
        self._http.serve_forever(poll_interval=0.05)

    def _read(self) -> None:
        """Read on also while nobody asks, so that no answer has much to read."""
        assert self._collector is not None
        rest_seconds = 0.0
        while not self._ending.wait(rest_seconds):
            began = time.perf_counter()
            try:
                is_all = self._collector.read_on(_LINES_AT_ONCE)
            except Exception as error:
                _log.warning("reading the journal failed: %s", error)
                is_all = True
            took = time.perf_counter() - began
            rest_seconds = _READ_EVERY_SECONDS if is_all else took * self._rest


def check_port(port: object, setting: str = "metrics_port") -> None:
    """Refuse what is no port.

    >>> check_port(70_000)
    Traceback (most recent call last):
        ...
    penstock.errors.ConfigurationError: metrics_port=70000 is no port. Write a whole number up \
to 65535, such as 9108, or 0 to have a free one chosen.
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65_535:
        raise ConfigurationError(
            f"{setting}={port!r} is no port. Write a whole number up to 65535, such as "
            f"{DEFAULT_PORT}, or 0 to have a free one chosen."
        )


def check_host(host: object, setting: str = "metrics_host") -> None:
    """Refuse what is no address of a machine."""
    if not isinstance(host, str) or not host.strip():
        raise ConfigurationError(
            f"{setting}={host!r} is no address. Write for example {setting}='0.0.0.0' to be "
            "reached from other machines."
        )


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    collector: JournalCollector
    registry: CollectorRegistry

    def server_bind(self) -> None:
        # That of HTTPServer asks the network for the name of this machine, which can take long.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep out of the query's terminal that Prometheus hung up."""
        _log.debug("an answer to %s was broken off", client_address, exc_info=True)


class _Http6(_Http):
    address_family = socket.AF_INET6


def _listen(host: str, port: int) -> _Http:
    try:
        return (_Http6 if ":" in host else _Http)((host, port), _Handler)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError(
            f"metrics can't be served on {host}:{port}: {reason}. Choose another port, 0 to have a "
            "free one chosen, or an address of this machine."
        ) from None


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD of /metrics, and nothing else."""

    server: _Http
    server_version = "penstock"
    sys_version = ""
    timeout = _ANSWER_WITHIN_SECONDS

    def __getattr__(self, name: str) -> Callable[[], None]:
        # The base class looks for a method of the request's name, and answers 501 without one.
        if name.startswith("do_"):
            return self._refuse_method
        raise AttributeError(name)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if not self._is_asked_by_name():
            self._send(421, b"metrics of this machine are asked for as localhost or 127.0.0.1\n")
            return
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._metrics()
        elif path == "/":
            self._send(200, b"Penstock's metrics for Prometheus are at /metrics\n")
        else:
            self._send(404, b"there is nothing here; metrics are at /metrics\n")

    def _is_asked_by_name(self) -> bool:
        """Whether whoever asks knows that this is the machine itself, where only that may ask.

        The page of a web site could have the site's own name point to this machine, and read along.
        """
        if self.server.server_address[0] not in _LOOPBACK:
            return True
        try:
            asked = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        except ValueError:
            return False
        # HTTP/1.0 has no names, and browsers do not speak it.
        return asked in _LOOPBACK or (asked is None and self.request_version == "HTTP/1.0")

    def _metrics(self) -> None:
        if not self.server.collector.wait_caught_up(_WAIT_FOR_BEGINNING_SECONDS):
            self._send(503, b"the journal is still being read for the first time\n")
            return
        encode, content_type = choose_encoder(self.headers.get("Accept", ""))
        try:
            text = encode(self.server.registry)
        except Exception as error:
            _log.warning("metrics can't be told: %s: %s", type(error).__name__, error)
            self._send(500, b"metrics can't be told now; the log of penstock.metrics says why\n")
            return
        self._send(200, text, content_type)

    def _refuse_method(self) -> None:
        text = f"{self.command} can't be answered; metrics are read with GET or HEAD\n"
        self._send(405, text.encode(), Allow=_ALLOWED)

    def _send(self, status: int, body: bytes, content_type: str = _PLAIN, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Keep scrapes out of the terminal."""
        _log.debug(format, *arguments)
