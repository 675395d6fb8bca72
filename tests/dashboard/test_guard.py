from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import pytest

from penstock.dashboard import guard as guard_module
from penstock.dashboard.guard import COOKIE, LOOPBACK, Guard, check_address
from penstock.errors import ConfigurationError

TOKEN = "a-token-of-some-length"
ODD_TOKEN = 'spaces; "quotes", ünïcode + & = \u20ac'


@dataclass
class Answer:
    """What came back, and whether the site behind the guard was asked at all."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    went_through: bool = False

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    def header(self, name: str) -> str | None:
        found = [v for k, v in self.messages[0]["headers"] if k == name.encode()]
        return found[0].decode() if found else None

    @property
    def body(self) -> str:
        return b"".join(each.get("body", b"") for each in self.messages).decode()


_guards: dict[tuple[str | None, tuple[str, ...]], Guard] = {}


@pytest.fixture(autouse=True)
def restarted() -> None:
    """Begin each test with dashboards that have let nobody in."""
    _guards.clear()


async def _site(scope: Any, receive: Any, send: Any) -> None:
    """A site that says 200 to everything."""
    scope["answer"].went_through = True
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"the site"})


def guard(token: str | None, hosts: tuple[str, ...]) -> Guard:
    """Return the one guard with this token; cookies are of a guard."""
    return _guards.setdefault((token, hosts), Guard(_site, hosts, token))


def ask(
    token: str | None = None,
    *,
    kind: str = "http",
    hosts: tuple[str, ...] = LOOPBACK,
    host: str | None = "127.0.0.1:8765",
    query: bytes = b"",
    path: str = "/",
    **headers: str,
) -> Answer:
    """Send one request to a guard before a site that says 200 to everything."""
    answer = Answer()

    async def receive() -> dict[str, Any]:
        return {"type": f"{kind}.connect"}

    async def send(message: Any) -> None:
        answer.messages.append(message)

    sent = {**headers, **({"host": host} if host is not None else {})}
    scope = {
        "type": kind,
        "answer": answer,
        "path": path,
        "query_string": query,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
    }
    asyncio.run(guard(token, hosts)(scope, receive, send))
    return answer


def cookie_of(token: str, host: str = "127.0.0.1:8765") -> str:
    """Go in with a token, and return the cookie as a browser would send it back."""
    came = ask(token, query=f"token={quote(token)}".encode(), host=host).header("set-cookie")
    assert came is not None
    return came.partition(";")[0]


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765", "127.0.0.1"]
)
def test_this_machine_by_its_own_names_is_let_through(host: str) -> None:
    assert ask(host=host).went_through


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", None, "[", "localhost.",
     "127.0.0.1 evil", "evil.example#127.0.0.1"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_another_name_is_refused(host: str | None, kind: str) -> None:
    answer = ask(host=host, kind=kind)
    assert not answer.went_through
    if kind == "http":
        assert answer.status == 421
    else:
        assert answer.messages == [{"type": "websocket.close", "code": 1008}]


def test_further_names_and_any_name() -> None:
    assert ask(host="box:80", hosts=(*LOOPBACK, "box")).went_through
    assert ask(host="whatever", hosts=("*",)).went_through


def test_without_a_token_one_is_asked_for() -> None:
    answer = ask(TOKEN)
    assert (answer.status, answer.went_through) == (401, False)
    assert '<input id="token" name="token" type="password"' in answer.body
    assert answer.header("cache-control") == "no-store"
    assert TOKEN not in answer.body


@pytest.mark.parametrize("given", ["wrong", "a-token-of-some-lengt", "%3Cimg%20src=x%3E", "%FF"])
def test_a_wrong_token_is_refused_and_not_repeated(given: str) -> None:
    answer = ask(TOKEN, query=f"token={given}".encode())
    assert (answer.status, answer.went_through) == (401, False)
    assert "That was not the right one." in answer.body
    assert "<img" not in answer.body
    assert answer.header("set-cookie") is None


@pytest.mark.parametrize("path", ["/", "/windows", "//evil.example", "/odd\r\nset-cookie: x"])
def test_the_right_token_becomes_a_cookie_and_leaves_the_address(path: str) -> None:
    answer = ask(TOKEN, query=f"token={TOKEN}&journal=1".encode(), path=path)
    assert (answer.status, answer.went_through) == (303, False)
    where, cookie = answer.header("location"), answer.header("set-cookie")
    assert where is not None
    assert cookie is not None
    assert where.startswith("/")
    assert not where.startswith("//")
    assert "\n" not in where
    assert TOKEN not in where
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("journal=1&token=T&range=6h", "/windows?journal=1&range=6h"),
        ("token=T&journal=1&token=T", "/windows?journal=1"),
        ("%74oken=T&range=1h", "/windows?range=1h"),
        ("token=T&x=%0d%0aset-cookie:%20y", "/windows?x=%0D%0Aset-cookie%3A+y"),
        ("token=T", "/windows"),
    ],
)
def test_what_else_an_address_says_is_kept_when_the_token_leaves_it(query: str, where: str) -> None:
    answer = ask(TOKEN, query=query.replace("T", TOKEN).encode(), path="/windows")
    assert answer.status == 303
    assert answer.header("location") == where


@pytest.mark.parametrize("token", [TOKEN, ODD_TOKEN, "b" * 500])
def test_the_cookie_opens_pages_and_sockets(token: str) -> None:
    cookie = cookie_of(token)
    assert ask(token, cookie=cookie).went_through
    assert ask(token, cookie=f"other=1; {cookie}").went_through
    # Cookies of other servers of this machine come along, and may break all rules.
    for other in ('x={"a":1, "b":2}', "flag", "\xe9=1", "x[1]=a b", 'q="', "expires=x"):
        assert ask(token, cookie=f"{other}; {cookie}; {other}").went_through
    assert ask(token, kind="websocket", cookie=cookie).went_through


@pytest.mark.parametrize("cookie", [f"{COOKIE}={TOKEN}", f"{COOKIE}=", "x=y", '=;"', "\xff=\xff"])
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_another_cookie_does_not(cookie: str, kind: str) -> None:
    assert not ask(TOKEN, kind=kind, cookie=cookie).went_through


def test_two_dashboards_of_one_machine_keep_their_cookies_apart() -> None:
    one = cookie_of(TOKEN, "127.0.0.1:8765")
    other = cookie_of("another-token-of-a-length", "127.0.0.1:9000")
    assert one.partition("=")[0] != other.partition("=")[0]
    assert ask(TOKEN, host="127.0.0.1:8765", cookie=f"{other}; {one}").went_through
    # Behind a proxy there need be no port.
    assert ask(TOKEN, host="localhost", cookie=cookie_of(TOKEN, "localhost")).went_through


def test_a_cookie_of_the_same_name_does_not_lock_anybody_out() -> None:
    cookie = cookie_of(TOKEN)
    name = cookie.partition("=")[0]
    assert ask(TOKEN, cookie=f"{name}=of another; {cookie}; {name}=").went_through
    assert not ask(TOKEN, cookie=f"{name}=of another; {name}=").went_through


def test_a_cookie_is_of_one_start_and_says_nothing_of_the_token() -> None:
    first = cookie_of(TOKEN)
    _guards.clear()
    second = cookie_of(TOKEN)
    assert first != second
    assert not ask(TOKEN, cookie=first).went_through
    assert ask(TOKEN, cookie=second).went_through
    _, _, value = second.partition("=")
    assert len(value) >= 43
    for made in (TOKEN, f"penstock dashboard {TOKEN}"):
        assert hashlib.sha256(made.encode()).hexdigest() not in second
        assert hmac.new(TOKEN.encode(), made.encode(), "sha256").hexdigest() not in second


@pytest.mark.parametrize(
    "asked",
    [
        [("journal", "1"), ("range", "6h")],
        [("x", '"><script>alert(1)</script>'), ("<b>", "\u00fc & co")],
        [("range", "1h"), ("range", "//evil.example")],
    ],
)
@pytest.mark.parametrize("given", [[], [("token", "wrong")]])
def test_who_enters_the_token_comes_where_the_link_leads(
    asked: list[tuple[str, str]], given: list[tuple[str, str]]
) -> None:
    query = urlencode([*given, *asked]).encode()
    for path in ("/windows", "//evil.example/"):
        body = ask(TOKEN, query=query, path=path).body
        # It goes to the address that it stands at; no other can be written into it.
        assert "action" not in body
        assert "<script" not in body
        assert "wrong" not in body.replace("wrong one", "")
    kept = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', body)
    assert [(unescape(name), unescape(value)) for name, value in kept] == asked
    sent = urlencode([*asked, ("token", TOKEN)]).encode()
    where = ask(TOKEN, query=sent, path="/windows").header("location")
    assert where is not None
    path, _, rest = where.partition("?")
    assert (path, parse_qsl(rest)) == ("/windows", asked)


def test_a_socket_is_not_opened_by_a_token_in_its_address() -> None:
    answer = ask(TOKEN, kind="websocket", query=f"token={TOKEN}".encode())
    assert answer.messages == [{"type": "websocket.close", "code": 1008}]


def test_who_has_a_cookie_already_gets_rid_of_a_token_in_the_address() -> None:
    query = f"token={TOKEN}".encode()
    assert ask(TOKEN, query=query, cookie=cookie_of(TOKEN)).status == 303


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1:1", "null", "", "http://[", "127.0.0.1"]
)
def test_pages_of_other_sites_may_not_ask(kind: str, origin: str) -> None:
    answer = ask(TOKEN, kind=kind, origin=origin, cookie=cookie_of(TOKEN))
    assert not answer.went_through
    assert kind == "websocket" or answer.status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "of-tomorrow"])
@pytest.mark.parametrize(
    ("mode", "dest"),
    [("no-cors", "image"), ("no-cors", "script"), ("navigate", "iframe"), ("cors", "empty"),
     ("websocket", "websocket"), ("", "")],
)  # fmt: skip
def test_what_other_sites_pages_load_is_refused_though_it_has_no_origin(
    mode: str, dest: str, site: str
) -> None:
    told = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    answer = ask(TOKEN, cookie=cookie_of(TOKEN), **told)
    assert (answer.status, answer.went_through) == (403, False)
    assert ask(**told).status == 403
    assert not ask(kind="websocket", **told).went_through
    for own in ("same-origin", "none"):
        assert ask(**(told | {"sec-fetch-site": own})).went_through


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_on_another_site_may_lead_here(site: str) -> None:
    told = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert ask(**told, **{"sec-fetch-dest": "document"}).went_through


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_pages_of_its_own_may_ask_also_behind_tls(kind: str) -> None:
    for origin in ("http://127.0.0.1:8765", "https://127.0.0.1:8765"):
        assert ask(kind=kind, origin=origin).went_through


def test_tokens_are_compared_in_a_time_that_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = cookie_of(TOKEN)
    compared = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return False

    monkeypatch.setattr(guard_module.secrets, "compare_digest", compare)
    # Were tokens or cookies compared in any other way, these would be let in.
    assert ask(TOKEN, query=f"token={TOKEN}".encode()).status == 401
    assert ask(TOKEN, cookie=cookie).status == 401
    assert (TOKEN.encode(), TOKEN.encode()) in compared
    assert secrets is guard_module.secrets


def test_browsers_are_told_to_load_nothing_from_elsewhere() -> None:
    answer = ask()
    policy = answer.header("content-security-policy") or ""
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("referrer-policy") == "no-referrer"


def test_what_is_neither_a_request_nor_a_socket_is_handed_on() -> None:
    assert ask(TOKEN, kind="lifespan", host=None).went_through


@pytest.mark.parametrize(
    ("host", "token", "control", "says"),
    [
        ("0.0.0.0", None, False, "--host 0.0.0.0 lets other machines see this dashboard"),
        ("::", None, False, "needs a token"),
        ("127.0.0.1", None, True, "--control lets people change a running query"),
        ("127.0.0.1", "short", False, "the token has 5 characters. Take 12 or more"),
        ("127.0.0.1", "", False, "the token has 0 characters"),
    ],
)
def test_a_dashboard_that_anybody_could_use_is_refused(
    host: str, token: str | None, control: bool, says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        check_address(host, token, control=control)


def test_a_safe_dashboard_is_not_refused() -> None:
    check_address("127.0.0.1", None, control=False)
    check_address("0.0.0.0", TOKEN, control=True)
