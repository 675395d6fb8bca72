"""Why components are not one, and how windows share the work of forming them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.topology.components import Components
from penstock.topology.operators import Compute, Join, Source, Union
from penstock.windows.durations import in_words
from penstock.windows.specs import WindowSpec


@dataclass(frozen=True, slots=True)
class Border:
    """Two components of which one reads the other, and why they are not one."""

    upstream: str
    downstream: str
    reason: str


@dataclass(frozen=True, slots=True)
class SharedWindows:
    """The windows of one operator, and how the partials are made from which they are formed."""

    operator: str
    pane: str
    windows: tuple[str, ...]
    is_shared: bool
    partials: str

    def panes(self, most: int | None = None) -> str:
        """Say whose panes they are, naming at most so many windows.

        >>> SharedWindows("sums", "1 minute", ("1 hour", "1 day"), True, "").panes()
        'panes of 1 minute, shared by windows of 1 hour and 1 day'
        """
        names = list(self.windows[:most])
        if len(names) < len(self.windows):
            names.append(f"{len(self.windows) - len(names)} more")
        listed = " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])
        return (
            f"panes of {self.pane}, {'shared by' if self.is_shared else 'for'} windows of {listed}"
        )


def borders(components: Components) -> tuple[Border, ...]:
    """Return the borders over which rows go, each once, in the order of the topology."""
    homes = components.grouping.homes
    pairs = {(homes[one], homes[other]): other for one, other in components.job.rates}
    return tuple(
        Border(upstream, downstream, _reason(components, upstream, downstream, entered))
        for (upstream, downstream), entered in pairs.items()
        if upstream != downstream
    )


def shared_windows(components: Components) -> tuple[SharedWindows, ...]:
    """Return what is to be told of every windowed operator."""
    return tuple(_shared(components, compute) for compute in components.topology.computes)


def _reason(components: Components, upstream: str, downstream: str, entered: str) -> str:
    if isinstance(components.topology[entered], Source | Union | Join):
        return f"the rows of '{entered}' come as they come"
    job = components.job
    both = frozenset(
        operator.name
        for component in (upstream, downstream)
        for operator in components.leading(component)
    )
    if problem := job.problem(both):
        return problem
    if not job.attributes(both):
        return "they share no attribute to partition on"
    return "fusing them was not worth it"


def _shared(components: Components, compute: Compute) -> SharedWindows:
    panes = compute.panes
    return SharedWindows(
        components.job.windows_of(compute.name),
        in_words(panes.micros),
        tuple(_window(each.spec) for each in panes.specs),
        len(panes.specs) > 1 or any(each.length > each.slide for each in panes.specs),
        _partials(components, compute),
    )


def _window(spec: WindowSpec) -> str:
    said = spec.describe()
    return said if spec.name == said else f"{said} ({spec.name})"


def _partials(components: Components, compute: Compute) -> str:
    if compute.moves_rows:
        return "split by pane: a pane has as many tasks as it needs"
    if components.is_complete(compute):
        return "complete: all rows of a key are where its partials are made"
    if components.is_split(compute):
        return "split: partials of one key may be made in several tasks"
    return "combined: partials of one key are brought together first"
