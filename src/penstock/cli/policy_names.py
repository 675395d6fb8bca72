"""The policies that commands try where nobody says which."""

from __future__ import annotations

from penstock.elasticity.policy_names import ADAPTING

# What it has learnt is most of q-learning, and it begins with nothing.
USUAL = tuple(name for name in ADAPTING if name != "q-learning")
