"""In which domains of the network places may be held for a job that has to stay together (`spec.networkTopology`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.plugins.reservation.need import Need
from volcano_py.state.table.table import Rows
from volcano_py.state.topology.tree import ROOT

_TRIES: Final = 8
"""Domains that are looked at node by node; whether there is room is counted over all of them before."""


class Domains(msgspec.Struct, frozen=True, eq=False):
    """Those that a job may use, the narrowest tier first: [D]."""

    ssn: Session
    numbers: Rows

    def with_room(self, needs: Sequence[Need], room_of: NDArray[np.int64]) -> Iterator[list[Need]]:
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


def domains_of(ssn: Session, job: Job) -> Domains | None:
    """None for a job that may be anywhere."""
    topology = ssn.topology
    limit = topology.limit(job)
    if limit is None:
        return None
    chain = topology.chain(job, limit)
    numbers = np.flatnonzero(topology.eligible(limit)) if chain is None else np.array(chain, dtype=np.intp)
    if ROOT in numbers:
        return None
    return Domains(ssn, numbers[np.argsort(topology.tree.tiers[numbers], kind="stable")])
