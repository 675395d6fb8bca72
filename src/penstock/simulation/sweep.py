"""A sweep: every policy with every combination of the settings that are tried."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from re import sub
from types import NoneType
from typing import Any, get_args, get_type_hints

from penstock.elasticity.policy_names import settings_of, with_setting
from penstock.errors import ConfigurationError
from penstock.simulation.load import Load
from penstock.simulation.micro_batch import MicroBatch
from penstock.simulation.scaled import scaled
from penstock.simulation.topology import SimulatedTopology
from penstock.simulation.trial import Cluster, Trial
from penstock.simulation.written_settings import check_names, number

MOST_TRIALS = 10_000
_EXAMPLE = "policy.margin=0.1,0.2,0.3"
_OWNERS = ("policy", "mechanism", "costs", "topology")

Swept = Mapping[str, tuple[str, ...]]
"""By ``owner.setting``, the values to try, as they were written."""


def read_swept(written: Sequence[str]) -> Swept:
    """Read what to sweep over.

    >>> read_swept(["policy.margin=0.1,0.2", "costs.fixed_seconds=0.3"])
    {'policy.margin': ('0.1', '0.2'), 'costs.fixed_seconds': ('0.3',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for each in written:
        name, equals, values = each.partition("=")
        owner, dot, setting = name.strip().partition(".")
        if not (equals and dot and setting) or owner not in _OWNERS:
            raise ConfigurationError(
                f"'{each}' can't be set. Write {_EXAMPLE}, for example; before the dot is one of "
                f"{', '.join(_OWNERS)}."
            )
        if name.strip() in found:
            raise ConfigurationError(f"'{name.strip()}' is set twice. Write all values once.")
        tried = tuple(dict.fromkeys(value.strip() for value in values.split(",")))
        if not all(tried):
            raise ConfigurationError(f"'{each}' has an empty value. Write {_EXAMPLE}, for example.")
        found[name.strip()] = tried
    return found


def trials_of(
    policies: Sequence[str],
    cluster: Cluster,
    topology: SimulatedTopology,
    load: Load,
    swept: Swept | None = None,
    *,
    seed: int = 0,
    journals: Path | None = None,
) -> tuple[Trial, ...]:
    """Combine policies and settings; a policy without a setting is tried once for all its values.

    ``journals`` is where every trial writes its journal, in a folder named by its label.
    """
    swept = swept or {}
    _check_policy_settings(policies, swept)
    trials: dict[str, Trial] = {}
    for policy in policies:
        for chosen in _combinations(policy, swept):
            trial = _trial(policy, chosen, cluster, topology, load, seed)
            # What is the same in all runs tells none of them apart.
            apart = [name for name in chosen if len(swept[name]) > 1]
            trial = replace(trial, label=_label(policy, {each: chosen[each] for each in apart}))
            if journals is not None:
                trial = replace(trial, journal=journals / folder_name(trial.label))
            trials.setdefault(trial.label, trial)
            if len(trials) > MOST_TRIALS:
                raise ConfigurationError(
                    f"this sweep has more than {MOST_TRIALS:,} runs. Try fewer values at once."
                )
    return tuple(trials.values())


def folder_name(label: str) -> str:
    """Return a label as the name of a folder.

    >>> folder_name("static:8, costs.fixed_seconds=0.2")
    'static-8-costs.fixed_seconds-0.2'
    """
    return sub(r"[^A-Za-z0-9._]+", "-", label).strip("-.") or "run"


def _check_policy_settings(policies: Sequence[str], swept: Swept) -> None:
    """Refuse a setting that none of the policies has: it would be swept over in vain."""
    for name in swept:
        owner, _, setting = name.partition(".")
        known = dict.fromkeys(each for policy in policies for each in _settings(policy))
        if owner == "policy" and setting not in known:
            check_names([setting], tuple(known), f"the policies {', '.join(policies)}")


def _settings(policy: str) -> tuple[str, ...]:
    return settings_of(policy.partition(":")[0])


def _combinations(policy: str, swept: Swept) -> Iterator[dict[str, str]]:
    names = [
        name
        for name in swept
        if not name.startswith("policy.") or name.partition(".")[2] in _settings(policy)
    ]
    for values in product(*(swept[name] for name in names)):
        yield dict(zip(names, values, strict=True))


def _trial(
    policy: str,
    chosen: Mapping[str, str],
    cluster: Cluster,
    topology: SimulatedTopology,
    load: Load,
    seed: int,
) -> Trial:
    for name, value in chosen.items():
        owner, _, setting = name.partition(".")
        if owner == "policy":
            policy = with_setting(policy, setting, value)
        elif owner == "mechanism":
            cluster = _with(cluster, setting, value, "the mechanism")
        elif owner == "costs":
            if not isinstance(cluster, MicroBatch):
                raise ConfigurationError(f"only micro-batches have costs; leave '{name}' out")
            cluster = replace(cluster, costs=_with(cluster.costs, setting, value, "the costs"))
        elif owner == "topology":
            check_names([setting], ("scale",), "a topology")
            topology = scaled(topology, number(value, name))
    return Trial(policy, policy, cluster, topology, load, seed, settings=dict(chosen))


def _label(policy: str, chosen: Mapping[str, str]) -> str:
    label = policy
    for name, value in chosen.items():
        if name.startswith("policy."):
            label = with_setting(label, name.partition(".")[2], value)
    others = [f"{name}={value}" for name, value in chosen.items() if "policy." not in name]
    return ", ".join([label, *others])


def _with(owner: Any, setting: str, value: str, where: str) -> Any:
    """Return a dataclass with one setting changed to what was written."""
    unwritten = ("costs", "mechanism", "grouping")
    names = [each.name for each in fields(owner) if each.name not in unwritten]
    check_names([setting], names, where)
    kinds = get_type_hints(type(owner))[setting]
    kept = _read(value, f"{where}: {setting}", set(get_args(kinds)) or {kinds})
    return replace(owner, **{setting: kept})


def _read(value: str, where: str, kinds: Collection[object]) -> object:
    """Read a value of one of these types; names are left to whoever knows them."""
    if value.lower() == "none" and NoneType in kinds:
        return None
    if bool in kinds:
        if value.lower() not in ("true", "false"):
            raise ConfigurationError(f"{where} is {value!r}; write true or false")
        return value.lower() == "true"
    if not {int, float} & set(kinds):
        return value
    found = number(value, where)
    if float in kinds:
        return found
    if found != int(found):
        raise ConfigurationError(f"{where} is {value!r}; write a whole number")
    return int(found)
