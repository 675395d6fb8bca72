"""Policies by the names that the command line knows them by."""

from __future__ import annotations

from penstock.cli.run_job import POLICIES
from penstock.elasticity.decision import Policy
from penstock.errors import ConfigurationError

ADAPTING = tuple(name for name in POLICIES if name != "static")


def policy_named(name: str, least: int, most: int) -> Policy:
    """Return a new policy; one that adapts stays between ``least`` and ``most`` slots.

    ``static`` is as many slots as there are.

    >>> policy_named("static:3", 1, 8)
    Static(slots=3)
    """
    from penstock import catalogue

    kind, _, number = name.partition(":")
    if name == "static":
        return catalogue.Static()
    if kind == "static" and number.isdigit() and int(number) >= 1:
        return catalogue.Static(int(number))
    if name in ADAPTING:
        policy: Policy = getattr(catalogue, POLICIES[name])(min_slots=least, max_slots=most)
        return policy
    raise ConfigurationError(
        f"there is no policy '{name}'. Write one of: {', '.join(['static:4', *POLICIES])}."
    )
