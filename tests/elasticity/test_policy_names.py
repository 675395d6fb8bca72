"""Policies as people write them."""

from __future__ import annotations

import pytest

from penstock.elasticity.autoscale_plus import AutoScalePlus
from penstock.elasticity.policy_names import ADAPTING, policy_named, settings_of, with_setting
from penstock.elasticity.static import Static
from penstock.errors import ConfigurationError


def test_settings_are_those_of_the_policy_and_of_its_rails() -> None:
    policy = policy_named("auto-scale-plus:margin=0.1,horizon=1 minute,scale_in_after=1", 2, 9)
    assert isinstance(policy, AutoScalePlus)
    assert (policy.margin, policy.horizon, policy.rails.scale_in_after) == (0.1, 60.0, 1)
    assert (policy.rails.min_slots, policy.rails.max_slots) == (2, 9)


def test_bounds_can_be_written_too() -> None:
    policy = policy_named("fuzzy:max_slots=5", 1, 9)
    assert policy.rails.max_slots == 5  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ADAPTING)
def test_every_policy_needs_no_more_than_its_name(name: str) -> None:
    assert policy_named(name, 1, 4).rails.max_slots == 4  # type: ignore[attr-defined]
    assert "interval" in settings_of(name)


def test_a_setting_more() -> None:
    text = with_setting(with_setting("incremental", "low", "0.4"), "step", "2")
    policy = policy_named(text, 1, 4)
    assert (policy.low, policy.step) == (0.4, 2)  # type: ignore[attr-defined]
    assert policy_named("static", 1, 4) == Static()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("autoscale-plus", r"Did you mean 'auto-scale-plus'\? Write one of: static:4, static, "),
        ("static:many", "there is no policy 'static:many'"),
        ("replica-pool:utilization=0.8", r"no setting 'utilization'. Did you mean 'utilisation'\?"),
        (
            "replica-pool:utilisation",
            r"'utilisation' in policy .* is no setting. Write settings as",
        ),
        ("replica-pool:", "'' in policy 'replica-pool:' is no setting"),
        ("replica-pool:interval=5s,interval=6s", "'interval' is twice"),
        ("replica-pool:utilisation=7", r"utilisation=7\) can't work"),
        ("fuzzy:rails=1", "policy 'fuzzy' has no setting 'rails'"),
        ("fuzzy:rails=1", r"It has: (?!.*\bmin_slots\b.*\bmin_slots\b)"),
        ("auto-scale-plus:horizon=soon", r"AutoScalePlus\(horizon='soon'\)"),
    ],
)
def test_mistakes_are_told(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        policy_named(text, 1, 8)
