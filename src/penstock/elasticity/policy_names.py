"""Policies by the names and settings that a person writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from penstock.elasticity.adapting import Adapting
from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.batch_time_ratio import BatchTimeRatio
from penstock.elasticity.decision import Policy
from penstock.elasticity.fuzzy import Fuzzy
from penstock.elasticity.incremental import Incremental
from penstock.elasticity.q_learning import QLearning
from penstock.elasticity.rails.guard_rails import GuardRails
from penstock.elasticity.replica_pool import ReplicaPool
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError
from penstock.windows.durations import typed_seconds

ADAPTING: Mapping[str, Callable[..., Adapting]] = {
    "incremental": Incremental,
    "auto-scale-plus": AutoScalePlus,
    "replica-pool": ReplicaPool,
    "fuzzy": Fuzzy,
    "batch-time-ratio": BatchTimeRatio,
    "q-learning": QLearning,
}
_EXAMPLE = "replica-pool:utilisation=0.8,interval=10s"
# These are no numbers and no lengths of time, and can't be written in a line.
_UNWRITTEN = ("rails", "first", "second", "excluded", "periods")


def policy_named(text: str, least: int, most: int | None) -> Policy:
    """Return a new policy; one that adapts stays between ``least`` and ``most`` slots.

    Where ``most`` is None, that is as many as there are.

    ``text`` is a name and, after a colon, settings: of the policy, or of its guard rails.
    ``static`` is as many slots as there are, ``static:3`` is three.

    >>> policy_named("static:3", 1, 8)
    Static(slots=3)
    >>> policy = policy_named("replica-pool:utilisation=0.8,max_latency=30s", 1, 8)
    >>> policy.utilisation, policy.rails.max_latency, policy.rails.max_slots
    (0.8, 30.0, 8)
    """
    name, colon, written = text.partition(":")
    if name == "static":
        return _static(text, colon, written)
    if name not in ADAPTING:
        near = get_close_matches(name, ADAPTING, n=1)
        meant = f"Did you mean '{near[0]}'? " if near else ""
        raise ConfigurationError(f"there is no policy '{text}'. {meant}Write one of: {_names()}.")
    own, of_rails = settings_of(name), _writable(GuardRails)
    given: dict[str, Any] = {"min_slots": least, "max_slots": most}
    rails: dict[str, Any] = {}
    for key, value in written_settings(text, written if colon else None).items():
        if key in own:
            given[key] = value
        elif key in of_rails:
            rails[key] = value
        else:
            raise ConfigurationError(_unknown(name, key, tuple(dict.fromkeys((*own, *of_rails)))))
    if rails:
        given["rails"] = GuardRails(**rails)
    try:
        return ADAPTING[name](**given)
    except TypeError as error:
        raise ConfigurationError(f"policy '{text}' can't be: {error}") from error


def settings_of(name: str) -> tuple[str, ...]:
    """Return the settings that can be written after the name of a policy.

    >>> "margin" in settings_of("auto-scale-plus"), settings_of("static")
    (True, ())
    """
    return _writable(ADAPTING[name]) if name in ADAPTING else ()


def with_setting(text: str, key: str, value: str) -> str:
    """Return a policy's text with one setting more.

    >>> with_setting("replica-pool", "interval", "5s")
    'replica-pool:interval=5s'
    """
    return f"{text}{',' if ':' in text else ':'}{key}={value}"


def written_settings(text: str, written: str | None) -> dict[str, Any]:
    """Read ``key=value,key=value``; ``text`` is the whole of what was written, for errors."""
    found: dict[str, Any] = {}
    for each in written.split(",") if written is not None else []:
        key, equals, value = (part.strip() for part in each.partition("="))
        if not (key and equals and value):
            raise ConfigurationError(
                f"'{each}' in policy '{text}' is no setting. Write settings as in {_EXAMPLE}."
            )
        if key in found:
            raise ConfigurationError(f"'{key}' is twice in policy '{text}'. Write it once.")
        found[key] = _value(value)
    return found


def _static(text: str, colon: str, written: str) -> Static:
    if not colon:
        return Static()
    if written.isdecimal() and int(written) >= 1:
        return Static(int(written))
    raise ConfigurationError(
        f"there is no policy '{text}'. Write one of: {_names()}; a fixed number of slots is 1 or "
        "more."
    )


def _names() -> str:
    return ", ".join(["static:4", "static", *ADAPTING])


def _writable(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.init and each.name not in _UNWRITTEN)


def _unknown(name: str, key: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(key, known, n=1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    return f"policy '{name}' has no setting '{key}'.{meant} It has: {', '.join(known)}."


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() == "none":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    try:
        return typed_seconds(text)
    except ConfigurationError:
        return text  # a word, or a mistake that the policy tells
