"""In which domains of the network places may be held for a job: it and its sub-groups have limits of their own
(`networkTopology` of the PodGroup and of each `subGroupPolicy`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.framework.topology.topology import WHOLE
from volcano_py.plugins.reservation.need import Need
from volcano_py.state.table.table import Rows
from volcano_py.state.topology.tree import ROOT

_TRIES: Final = 8
"""Domains that are looked at node by node; whether there is room is counted over all of them before."""


class Domains(msgspec.Struct, frozen=True, eq=False):
    """Those that a job, or one of its sub-groups, may use, the narrowest tier first: [D]."""

    ssn: Session
    numbers: Rows

    def with_room(self, needs: Sequence[Need], room_of: NDArray[np.int64]) -> Iterable[Sequence[Need]]:
        """The needs as they are inside of each domain in which so much [N, R] has room for them: of a tier, first where
        the least is left."""
        tree = self.ssn.topology.tree
        rooms = [tree.room(need.room(room_of))[self.numbers] for need in needs]
        enough = np.logical_and.reduce([room >= need.count for room, need in zip(rooms, needs, strict=True)])
        left = np.sum([np.minimum(room, np.iinfo(np.int32).max) for room in rooms], axis=0)
        found = np.flatnonzero(enough)
        found = found[np.lexsort((left[found], tree.tiers[self.numbers[found]]))]
        for domain in islice(self.numbers[found].tolist(), _TRIES):
            nodes = np.zeros(len(room_of), dtype=np.bool_)
            nodes[tree.nodes(domain)] = True
            yield [need.only_on(nodes) for need in needs]

    def hold(self, nodes: Rows) -> bool:
        """Whether one of them has all these nodes."""
        tree = self.ssn.topology.tree
        nearest = tree.nearest[nodes]
        return bool((nearest >= 0).all()) and tree.common(nearest) in self.numbers


class Bounds(msgspec.Struct, frozen=True, eq=False):
    """The domains of a job: sub-group (`WHOLE` for the job) → those that it may use; those that may be anywhere are
    left out."""

    domains: Mapping[int, Domains]

    def inside(self, group: int, needs: Sequence[Need], room_of: NDArray[np.int64]) -> Iterable[Sequence[Need]]:
        """The needs in each domain that has room for them (`Domains.with_room`), or as they are if any node will do."""
        domains = self.domains.get(group)
        return (needs,) if domains is None else domains.with_room(needs, room_of)

    def hold(self, nodes_of: Mapping[int, Rows]) -> bool:
        """Whether each may be on these nodes, by sub-group."""
        return all(domains.hold(nodes_of[group]) for group, domains in self.domains.items())


def bounds_of(ssn: Session, job: Job, needs: Sequence[Need] = ()) -> Bounds:
    """Of the job and of the sub-groups in its needs."""
    groups = {WHOLE, *(need.group for need in needs)}
    found = {group: _domains(ssn, job, group) for group in groups}
    return Bounds({group: domains for group, domains in found.items() if domains is not None})


def _domains(ssn: Session, job: Job, group: int) -> Domains | None:
    """None where any node will do."""
    topology = ssn.topology
    limit = topology.limit(job, group)
    if limit is None:
        return None
    chain = topology.chain(job, limit, group)
    numbers = np.flatnonzero(topology.eligible(limit)) if chain is None else np.array(chain, dtype=np.intp)
    if ROOT in numbers:
        return None
    return Domains(ssn, numbers[np.argsort(topology.tree.tiers[numbers], kind="stable")])
