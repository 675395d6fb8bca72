"""Keeps out who is not meant to see a dashboard: wrong hosts, wrong tokens, other sites' pages."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from penstock.arguments import shown
from penstock.dashboard.markup import Safe, element, joined
from penstock.dashboard.markup import text as as_text
from penstock.dashboard.plain_page import plain_page
from penstock.errors import ConfigurationError

# It names a variable of the environment, and is no password.
TOKEN_VARIABLE = "PENSTOCK_DASHBOARD_TOKEN"  # nosec B105
COOKIE = "penstock_token"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SHORTEST_TOKEN = 12
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_])?")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def check_address(host: str, token: str | None, *, control: bool) -> None:
    """Refuse to be reachable from elsewhere, or to change anything, without a token."""
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise ConfigurationError(
            f"the token has {len(token)} characters. Take {SHORTEST_TOKEN} or more, such as those "
            f"of: python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    if token is None and host not in LOOPBACK:
        raise ConfigurationError(
            f"--host {host} lets other machines see this dashboard, which needs a token. Set "
            f"{TOKEN_VARIABLE}, or leave --host out."
        )
    if token is None and control:
        raise ConfigurationError(
            "--control lets people change a running query, which needs a token. Set "
            f"{TOKEN_VARIABLE}, or leave --control out."
        )


def browsers_name(given: str) -> str:
    """Return a host name as browsers ask for it, in small letters and without what is around it.

    >>> browsers_name(" Dash.Example "), browsers_name("[::1]"), browsers_name("bücher.example")
    ('dash.example', '::1', 'xn--bcher-kva.example')
    """
    name = given.strip().lower()
    with suppress(ValueError):
        return str(ip_address(name.removeprefix("[").removesuffix("]")))
    with suppress(UnicodeError):
        name = name.encode("idna").decode()
    if _NAME.fullmatch(name):
        return name
    without_port, _, port = name.rpartition(":")
    instead = "Write it as in an address, without http:// and port, such as --name dash.example"
    if port.isdigit() and _NAME.fullmatch(without_port):
        instead = f"Leave the port out: --name {without_port}"
    raise ConfigurationError(f"--name '{shown(given)}' is no name of a host. {instead}")


class Guard:
    """Lets a request through, or a web socket, or answers it itself.

    The name in ``Host`` must be one the dashboard was given, or a page of another site could have
    its own name point to this machine and read along. What a page asks for, it must be a page of
    the dashboard's own; another site may link to it, and no more. The token comes once, as
    ``?token=``, and then a cookie stands for it that scripts can't read, that other sites can't
    send but by a link, and that is worth nothing once this process has ended.
    """

    def __init__(self, app: App, hosts: tuple[str, ...], token: str | None) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._token = token
        # Other servers of a machine get the cookie, too: it must say nothing of the token.
        self._pass = secrets.token_urlsafe()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        host = _name_of(headers.get(b"host", b"").decode("latin-1"))
        if "*" not in self._hosts and host not in self._hosts:
            await _refuse(scope, receive, send, 421, b"This dashboard has another name.")
            return
        if not self._is_own_page(headers):
            await _refuse(scope, receive, send, 403, b"Only pages of this dashboard may ask.")
            return
        if self._token is None:
            await self._app(scope, receive, _with_headers(send))
            return
        asked = parse_qsl(scope.get("query_string", b"").decode("latin-1"))
        given = next((value for name, value in asked if name == "token"), "")
        others = [each for each in asked if each[0] != "token"]
        if scope["type"] == "http" and self._is_token(given):
            await self._let_in(scope, _cookie_of(headers), others, send)
        elif self._has_cookie(headers):
            await self._app(scope, receive, _with_headers(send))
        else:
            said = "That was not the right one." if given else "Whoever started it has the token."
            await _refuse(scope, receive, send, 401, _enter(said, others))

    async def _let_in(
        self, scope: Scope, name: str, asked: Sequence[tuple[str, str]], send: Send
    ) -> None:
        # Lax: who follows a link in a chat need not enter the token again. All that a link could
        # do is show a page; whatever changes something comes through a socket, which has an origin.
        cookie = f"{name}={self._pass}; Path=/; HttpOnly; SameSite=Lax"
        # On the same page, without the token: an address is remembered, and read by others.
        where = quote(scope.get("path", "/") or "/")
        where = where if where.startswith("/") and not where.startswith("//") else "/"
        where = f"{where}?{urlencode(asked)}" if asked else where
        reply = [(b"set-cookie", cookie.encode()), (b"location", where.encode())]
        await _reply(send, 303, b"", reply)

    def _is_token(self, given: str) -> bool:
        assert self._token is not None
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _has_cookie(self, headers: dict[bytes, bytes]) -> bool:
        # Parted by hand: the cookies of other servers of a machine may break all rules, or have
        # the name of ours.
        own = _cookie_of(headers).encode()
        cookies = (each.strip() for each in headers.get(b"cookie", b"").split(b";"))
        found = (
            value for name, _, value in (each.partition(b"=") for each in cookies) if name == own
        )
        return any(secrets.compare_digest(value, self._pass.encode()) for value in found)

    def _is_own_page(self, headers: dict[bytes, bytes]) -> bool:
        how = headers.get(b"sec-fetch-mode"), headers.get(b"sec-fetch-dest")
        # Another port of this host is the same site to a browser, and another's page all the same.
        is_others = headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none")
        if is_others and how != (b"navigate", b"document"):
            return False
        origin = headers.get(b"origin")
        if origin is None:  # no browser: nobody's page
            return True
        own = headers.get(b"host", b"").decode("latin-1")
        _, _, place = origin.decode("latin-1").partition("://")
        return place == own


def _enter(said: str, asked: Sequence[tuple[str, str]]) -> bytes:
    """Ask for the token, and come back to what was asked for with it."""
    kept = [
        Safe(f'<input type="hidden" name="{as_text(name)}" value="{as_text(value)}">')
        for name, value in asked
    ]
    # Without an action a form goes to the address that it stands at, whatever that is.
    form = (
        Safe('<form method="get">'),
        *kept,
        Safe(
            '<label for="token">Token</label> '
            '<input id="token" name="token" type="password" required autofocus> '
            "<button>Open</button></form>"
        ),
    )
    heading = element("h1", "This dashboard needs a token")
    return plain_page("Penstock: token", heading, element("p", said), joined(form)).encode()


def _cookie_of(headers: dict[bytes, bytes]) -> str:
    """Name the cookie by the port: two dashboards of a host must not take each other's place."""
    _, _, port = headers.get(b"host", b"").decode("latin-1").rpartition(":")
    return f"{COOKIE}_{port}" if port.isascii() and port.isdigit() else COOKIE


def _name_of(host: str) -> str:
    """Return the host of a ``Host`` header without its port.

    >>> _name_of("localhost:8080"), _name_of("[::1]:8080"), _name_of("box")
    ('localhost', '::1', 'box')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _with_headers(send: Send) -> Send:
    """Tell browsers to load nothing from elsewhere, whatever a page might say."""
    policy = (
        b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
        b"style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
        b"connect-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
    )

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *message.get("headers", ()),
                (b"content-security-policy", policy),
                (b"x-content-type-options", b"nosniff"),
                (b"referrer-policy", b"no-referrer"),
            ]
        await send(message)

    return sending


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, text: bytes) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await _reply(send, status, text, [(b"cache-control", b"no-store")])


async def _reply(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    kind = (b"content-type", b"text/html; charset=utf-8")
    length = (b"content-length", str(len(body)).encode())
    await send(
        {"type": "http.response.start", "status": status, "headers": [kind, length, *headers]}
    )
    await send({"type": "http.response.body", "body": body})
