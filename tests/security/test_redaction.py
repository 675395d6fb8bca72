"""What counts as a secret in a text, and who hides it."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock import secrets
from penstock.elasticity.decision import Decision
from penstock.engine.commit_log import CommitRecord
from penstock.engine.letters import failure
from penstock.errors import ConfigurationError, OperatorError
from penstock.journal.events import FaultSeen, QueryStopped
from penstock.journal.lines import Event, from_json, to_json
from penstock.secrets import keep_secret, keep_secrets_of, logger, redacted

SECRET = 'Tr0ub4dor & "3"'


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget afterwards what was kept: a secret of one test is a plain word of another."""
    monkeypatch.setattr(secrets, "_known", secrets._Known())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=s3cr3t", "password=***"),
        ("PGPASSWORD: s3cr3t, user=me", "PGPASSWORD: ***, user=me"),
        ('{"sslpassword": "s3cr3t", "port": 1}', '{"sslpassword": ***, "port": 1}'),
        ('x required username="u" password="s3cr3t";', 'x required username="u" password=***;'),
        ("jdbc:postgresql://db/x?user=me&password=s3cr3t&a=1", "jdbc:postgresql://db/x?user=me&password=***&a=1"),
        ("jdbc:oracle:thin:me/s3cr3t@//db:1521/x", "jdbc:oracle:thin:***@//db:1521/x"),
        ("jdbc:oracle:thin:@//db:1521/x", "jdbc:oracle:thin:@//db:1521/x"),
        ("amqp://me:s3cr3t@mq:5672/v", "amqp://***@mq:5672/v"),
        ("Authorization: Bearer s3cr3ts3cr3t", "Authorization: Bearer ***"),
        ("fs.s3a.secret.key=s3cr3t", "fs.s3a.secret.key=***"),
        ("fs.s3a.access.key -> x access_key=s3cr3t", "fs.s3a.access.key -> x access_key=***"),
        ("--token=s3cr3t", "--token=***"),
        ("redis://:s3cr3t@cache:6379/0", "redis://***@cache:6379/0"),
        ("mongodb://me:s3@cr3t@db/x and me@example", "mongodb://***@db/x and me@example"),
        ("(password=s3(cr)3t, user=me)", "(password=***, user=me)"),
        ("password=s3,cr3t user=me", "password=*** user=me"),
        ("db.pwd=s3cr3t pass: s3cr3t", "db.pwd=*** pass: ***"),
        ("filter password == 's3cr3t' AND n > 1", "filter password == *** AND n > 1"),
        ("token != 's3cr3t'", "token != ***"),
        ("password <=> 's3cr3t' or n = 'x'", "password <=> *** or n = 'x'"),
        ("`api_key`<>'s3cr3t'", "`api_key`<>***"),
        ("password IN ('s3cr3t', 's3cr3t') AND n IN (1)", "password IN (***) AND n IN (1)"),
        ("password not in ('s3cr3t')", "password not in (***)"),
        ("token LIKE 's3cr3t%' AND n LIKE 'x'", "token LIKE *** AND n LIKE 'x'"),
        ("pwd between 's3cr3t' and 's3cr3t'", "pwd between ***"),
        ("Filter (password#12 = s3cr3t)", "Filter (password#12 = ***)"),
        ("Filter password#12 IN (s3cr3t,s3cr3t)", "Filter password#12 IN (***)"),
        ('{"password": "a\\"s3cr3t", "n": 1}', '{"password": ***, "n": 1}'),
        (r'{\"password\": \"a\\\"s3cr3t\", \"n\": 1}', r'{\"password\": ***, \"n\": 1}'),
        ("password='a''s3cr3t', n='x'", "password=***, n='x'"),
        ('password="a""s3cr3t", n="x"', 'password=***, n="x"'),
        ("{'password': 'it\\'s3cr3t', 'n': 1}", "{'password': ***, 'n': 1}"),
        ("Row(password=b's3cr3t', n=b'x')", "Row(password=***, n=b'x')"),
        ("password='cut off s3cr3t\nn=1", "password=***\nn=1"),
        ("password: '' and n", "password: *** and n"),
        ("https://s3cr3t@github.com/a", "https://***@github.com/a"),
        ("dbPass=s3cr3t oldPwd: s3cr3t", "dbPass=*** oldPwd: ***"),
        ("password_2=s3cr3t password10: s3cr3t", "password_2=*** password10: ***"),
        ("password=...s3cr3t token=***s3cr3t", "password=*** token=***"),
        ("-----BEGIN RSA PRIVATE KEY-----\ns3cr3t\n-----END RSA PRIVATE KEY-----", "***"),
    ],
)  # fmt: skip
def test_what_a_text_calls_a_secret_is_hidden(text: str, shown: str) -> None:
    assert redacted(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Write jdbc(url, ..., user=..., password=...) instead",
        "12 tokens=5 in tokenize: fast",
        "the token has 5 characters. Take 12 or more",
        "http://127.0.0.1:8080/metrics",
        "http://127.0.0.1:8080/ and me@example",
        "bypass=1 in passes: 3",
        "operator 'secret_santa' failed on the row",
        "basic statistics of 10,000,000 rows",
        "abfss://data@account.dfs.core.windows.net/in and https://example.com/?to=me@example",
        "the token in (brackets) is like 'others', a secret between you and me",
        "firstPassage=1, Passing: 2, password == ***, token IN (***)",
        "unexpected token 'FROM' at 12",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text or text.startswith("basic")


@pytest.mark.parametrize(
    ("part", "hidden"),
    [
        ("password='x' ", 1.0),
        (r"password=\'x ", 0.5),  # each ends where the next begins
        (r'password="\" ', 0.5),
        ("password='\n", 0.5),
        ("password=((((", 0.0),
        ("password IN ('x', 'y', ", 1.0),
        ("token     ", 0.0),
        ("password=...", 0.0),
        ("://a:b", 0.0),
        ("https://a", 0.0),
    ],
)
def test_a_long_text_of_somebody_elses_is_gone_through_once(part: str, hidden: float) -> None:
    times = 20_000  # with a look back for each look forward it would take hours
    told = redacted(part * times)
    assert abs(told.count("***") - hidden * times) <= 1
    assert len(told) <= len(part) * times


def test_no_repeat_is_within_another_that_gives_back() -> None:
    for pattern in (secrets._NAMED, secrets._SUSPECT, *(shape for shape, _ in secrets._SHAPES)):
        assert list(giving_back(re._parser.parse(pattern.pattern, pattern.flags))) == []


def giving_back(parsed: Any, inside: bool = False) -> Iterator[str]:
    """Find unbounded repeats in unbounded repeats, both of which may be tried in several ways."""
    for kind, rest in parsed:
        repeats = kind in (re._constants.MAX_REPEAT, re._constants.MIN_REPEAT)
        unbounded = repeats and rest[1] is re._constants.MAXREPEAT
        if unbounded and inside:
            yield str(rest)
        for each in rest if isinstance(rest, tuple | list) else (rest,):
            for inner in each if isinstance(each, list) else (each,):
                if isinstance(inner, re._parser.SubPattern):
                    yield from giving_back(inner, inside or unbounded)


@given(st.text(st.characters(exclude_characters=".* <>"), min_size=4))
def test_a_known_secret_is_hidden_in_every_form(secret: str) -> None:
    assume(secret.strip())
    keep_secret(secret)
    for told in (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1]):
        assert told not in redacted(f"<{told}>")


def test_a_poor_password_does_not_make_words_unreadable() -> None:
    keep_secret("test")
    assert redacted("the latest test: 'test'") == "the latest ***: '***'"


def test_secrets_are_found_in_options_by_their_names() -> None:
    jaas = 'org.example.PlainLoginModule required username="me" password="hidden one";'
    keep_secrets_of({"kafka.sasl.jaas.config": jaas, "url": "x://me:hidden-two@h/", "topic": "t"})
    told = redacted(f"{jaas} | hidden one | hidden-two | topic t")
    assert "hidden" not in told
    assert told.endswith("topic t")


def test_names_of_options_that_end_as_one() -> None:
    keep_secrets_of({"dbPass": "hidden one", "db.pwd": "hidden two", "env.PWD": "/home", "a": "x"})
    told = redacted("hidden one, hidden two, /home")
    assert told == "***, ***, /home"


def test_what_only_tells_of_a_secret_is_none() -> None:
    keep_secrets_of(
        {
            "spark.security.credentials.hive.enabled": "false",
            "fs.s3a.aws.credentials.provider": "org.example.Provider",
            "kafka.ssl.keystore.key": "hidden one",
        }
    )
    told = redacted("flag = false, no class org.example.Provider, hidden one")
    assert told == "flag = false, no class org.example.Provider, ***"


def test_a_value_in_a_list_of_settings_is_known_by_itself_too() -> None:
    keep_secrets_of({"extra": "password=hidden,one,user=me", "address": "redis://:hidden-two@h"})
    assert "hidden" not in redacted("password=hidden,one,user=me | hidden | hidden-two")


def test_a_value_is_known_without_the_marks_it_was_escaped_with() -> None:
    keep_secrets_of({"extra": r'password="hid\"den one";', "conninfo": "password='hid''den two'"})
    assert redacted("hid\"den one | hid'den two") == "*** | ***"


def test_what_is_no_text_is_hidden_as_it_is_written() -> None:
    keep_secret(271828, None, b"")
    assert redacted("PIN 271828") == "PIN ***"


def test_an_error_never_holds_one() -> None:
    keep_secret(SECRET)
    error = ConfigurationError(f"no login with {SECRET}, token=abcd")
    assert SECRET not in str(error) + repr(error)
    assert "abcd" not in str(error)
    of_row = OperatorError("op", '{"x": 1}', "ValueError", SECRET, f"File ... {SECRET}")
    told = f"{of_row} {of_row!r} {of_row.reason} {of_row.user_traceback}"
    assert SECRET not in told


def test_a_journal_line_never_holds_one_and_reads_back() -> None:
    keep_secret(SECRET)
    body = FaultSeen(3, "policy failed", f'login {SECRET} and password=abc"d, next', 1)
    line = to_json(Event(1, 2.0, body))
    assert json.dumps(SECRET)[1:-1] not in line
    read = from_json(line).body
    assert isinstance(read, FaultSeen)
    assert "***" in read.detail
    assert "abc" not in read.detail
    plain = QueryStopped("failed", "no disk")
    assert from_json(to_json(Event(2, 3.0, plain))).body == plain


def test_a_commit_record_never_holds_one() -> None:
    keep_secret(SECRET)
    record = CommitRecord("q", 0, 0.0, Decision(1, f"as {SECRET} said", {}))
    assert json.dumps(SECRET)[1:-1] not in record.to_json()


def test_a_dead_letter_never_holds_what_its_error_calls_one() -> None:
    def connect() -> None:
        raise RuntimeError("refused: password=s3cr3t")

    try:
        connect()
    except RuntimeError as error:
        letter = failure("op", "{}", error)
    assert "s3cr3t" not in letter["message"]
    assert "s3cr3t" not in letter["traceback"].rpartition("RuntimeError")[2]


def test_a_log_never_holds_one(caplog: pytest.LogCaptureFixture) -> None:
    keep_secret(SECRET)
    log = logger("penstock.test")
    with caplog.at_level(logging.DEBUG):
        try:
            raise ValueError(SECRET)
        except ValueError:
            log.warning("no login with %s", SECRET, exc_info=True)
    assert "no login with ***" in caplog.text
    assert SECRET not in caplog.text
