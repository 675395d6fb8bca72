"""What automatic fusion is compared with: components grown from one operator after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from penstock.topology.fusion import Job, Members


def baseline(job: Job, seed: int, *, takes_components: bool = False) -> tuple[Members, ...]:
    """Return the components of a job as Enorm's baseline (section 7.6) grows them.

    The first operator takes in its readers and theirs, each time the one that leaves the most
    attributes, until none may be fused any more. Then it is the turn of a random operator that is
    in no component yet. It takes in only such operators too, or, with ``takes_components``, also
    what has grown before, as a whole. Conditions are those of ``fuse``, and so is the order.

    >>> from penstock.topology.fusion import PlainJob
    >>> sets = {"a": frozenset({1, 2, 3}), "b": frozenset({1}), "c": frozenset({2, 3})}
    >>> job = PlainJob(sets, {("a", "b"): 9.0, ("a", "c"): 1.0})
    >>> [sorted(members) for members in baseline(job, seed=0)]
    [['a', 'c'], ['b']]
    """
    random = Random(seed)
    readers: dict[str, list[str]] = {name: [] for name in job.operators}
    for i, j in job.rates:
        readers[i].append(j)
    home: dict[str, Members] = {name: frozenset({name}) for name in job.operators}
    free = list(job.operators)
    begin = free[0] if free else None
    while begin is not None:
        taken = home if takes_components else {name: home[name] for name in free}
        members = _grown(job, begin, readers, taken)
        home.update(dict.fromkeys(members, members))
        free = [name for name in free if name not in members]
        begin = random.choice(free) if free else None
    return tuple(dict.fromkeys(home.values()))


def _grown(
    job: Job, begin: str, readers: Mapping[str, Sequence[str]], taken: Mapping[str, Members]
) -> Members:
    """Return an operator with all that it takes in; ``taken`` says what comes with a reader."""
    members = news = frozenset({begin})
    beside: dict[Members, None] = {}
    while True:
        for name in (each for each in readers if each in news):
            beside |= {taken[reader]: None for reader in readers[name] if reader in taken}
        most, best = 0, None
        for other in beside:
            left = 0 if other <= members else len(job.attributes(members | other))
            if left > most and job.may_fuse(members, other):
                most, best = left, other
        if best is None:
            return members
        members, news = members | best, best
