"""The tree of HyperNodes over the nodes of one snapshot, as columns.

Domains are numbered depth-first, so what is below a domain is a range of numbers, and nodes sorted by their nearest
domain are a range for every domain. What all domains have room for is then one cumulative sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.effects import ObjectRef
from volcano_py.api.wording.summarize import counted, summarize
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.table.table import NOWHERE, Rows
from volcano_py.state.topology.hyper_nodes import Fault, FaultReason, HyperNodeInfo
from volcano_py.state.topology.links import parents_of
from volcano_py.state.topology.members import Members, Selected

ROOT_NAME: Final = "<cluster-top-hypernode>"
"""Volcano's name of the domain above all others."""
ROOT: Final = 0
"""Its number."""
_NOT_THERE: Final = "nodes that do not exist are among its members"
_ROOT_INFO: Final = HyperNodeInfo(ObjectRef("HyperNode", "", ROOT_NAME, ""), tier=0, tier_name="")


class Tree(msgspec.Struct, frozen=True, eq=False):
    """H domains, the first of which is the root: it holds every node, also those in no HyperNode, and its tier is one
    above the highest.

    Attributes:
        names: [H]
        tiers: [H] the lower, the nearer.
        tier_names: [H] what the tier is called by the HyperNode; "" for nothing.
        parent: [H] the domain above; -1 for the root.
        end: [H] the domains below a domain, and itself, are those from its own number to before this one.
        nearest: [N] the lowest domain that a node is in; -1 for nodes that do not exist.
        order: [M] rows of the nodes that exist, depth-first, and in a domain by name.
        place: [N] the place of each node in `order`; M for nodes that do not exist.
        starts: [H + 1] the nodes of a domain are `order[starts[d]:starts[end[d]]]`.
        faults: what is wrong with HyperNodes, sorted.
    """

    names: tuple[str, ...]
    tiers: NDArray[np.int64]
    tier_names: tuple[str, ...]
    parent: NDArray[np.intp]
    end: NDArray[np.intp]
    nearest: NDArray[np.intp]
    order: Rows
    place: Rows
    starts: NDArray[np.intp]
    faults: tuple[Fault, ...]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def has_hyper_nodes(self) -> bool:
        return len(self) > 1

    def nodes(self, domain: int) -> Rows:
        """[K] rows of its nodes, depth-first."""
        return self.order[self.starts[domain] : self.starts[self.end[domain]]]

    def sums(self, per_node: NDArray[Any]) -> NDArray[Any]:
        """[H, …] the sum over the nodes of each domain; `per_node` [N, …] are integers."""
        total = np.zeros((len(self.order) + 1, *per_node.shape[1:]), dtype=np.int64)
        np.cumsum(per_node[self.order], axis=0, out=total[1:])
        sums: NDArray[Any] = total[self.starts[self.end]] - total[self.starts[:-1]]
        return sums

    def room(self, per_node: NDArray[np.int64]) -> NDArray[np.int64]:
        """[H] the sums for how many tasks the nodes of each domain have room. A node without a limit [N] counts as so
        much that twice the sum over all nodes can still be held."""
        most = np.iinfo(np.int64).max // max(len(per_node), 1) // 2
        return self.sums(np.minimum(per_node, most))

    def common(self, domains: NDArray[np.intp]) -> int:
        """The lowest domain that all of these, at least one, are in."""
        first, last = int(domains.min()), int(domains.max())
        while self.end[first] <= last:
            first = int(self.parent[first])
        return first

    def ancestors(self, domain: int) -> list[int]:
        """The domain itself, then those above it."""
        found = [domain]
        while (domain := int(self.parent[domain])) >= ROOT:
            found.append(domain)
        return found

    def holds(self, domain: int, others: NDArray[np.intp]) -> NDArray[np.bool_]:
        """[K] which of the domains are the domain or below it."""
        held: NDArray[np.bool_] = (others >= domain) & (others < self.end[domain])
        return held

    def common_tiers(self, domain: int) -> NDArray[np.int64]:
        """[H] the tier of the lowest domain that each domain shares with this one."""
        tiers = np.empty(len(self), dtype=np.int64)
        for above in reversed(self.ancestors(domain)):
            tiers[above : self.end[above]] = self.tiers[above]
        return tiers

    def tier_of_name(self) -> dict[str, int]:
        """Tier name → tier. A name that several tiers have is the highest of them, so that nothing is kept out that one
        of them allows."""
        found: dict[str, int] = {}
        for name, tier in zip(self.tier_names, self.tiers.tolist(), strict=True):
            if name:
                found[name] = max(tier, found.get(name, tier))
        return found

    def described(self, domain: int) -> str:
        """For messages: `rack-7 (rack, tier 1)`."""
        if domain == ROOT:
            return "the whole cluster"
        name = self.tier_names[domain]
        return (
            f"{self.names[domain]} ({name}, tier {self.tiers[domain]})"
            if name
            else (f"{self.names[domain]} (tier {self.tiers[domain]})")
        )


class TreeBuilder:
    """Builds one tree after the other, and remembers what nodes HyperNodes select and how they hang together: a node
    that comes, goes or is renamed costs what it touches, and a pass over the arrays."""

    def __init__(self) -> None:
        self._members = Members()
        self._infos: tuple[HyperNodeInfo, ...] = ()
        self._links = _linked(())

    def build(self, infos: Sequence[HyperNodeInfo], index: NodeIndex, present: NDArray[np.bool_]) -> Tree:
        """The tree of these HyperNodes, sorted by name. `present` [N] are the nodes that exist."""
        if not _are_same(infos, self._infos):
            self._infos, self._links = tuple(infos), _linked(infos)
        links = self._links
        selected = self._members.follow(infos, index, present)
        nearest, faults = _claimed(links, selected, index)
        nearest[present & (nearest < 0)] = ROOT
        rows = np.flatnonzero(present)
        rows = rows[np.lexsort((index.name_rank[rows], nearest[rows]))]
        place = np.full(len(present), len(rows), dtype=np.intp)
        place[rows] = np.arange(len(rows))
        return Tree(
            names=links.names,
            tiers=links.tiers,
            tier_names=links.tier_names,
            parent=links.parent,
            end=links.end,
            nearest=nearest,
            order=rows,
            place=place,
            starts=np.searchsorted(nearest[rows], np.arange(len(links.names) + 1)),
            faults=tuple(sorted(links.faults.union(faults))),
        )


def build(infos: Sequence[HyperNodeInfo], index: NodeIndex, present: NDArray[np.bool_]) -> Tree:
    """The tree of these HyperNodes, as `TreeBuilder.build`, for one that is asked for once."""
    return TreeBuilder().build(infos, index, present)


def _are_same(some: Sequence[HyperNodeInfo], others: Sequence[HyperNodeInfo]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


class _Links(msgspec.Struct, frozen=True, eq=False):
    """What of a tree follows from HyperNodes alone; as in `Tree`.

    Attributes:
        order: [H - 1] the HyperNodes in the order of their tiers and names, by number: the first that selects a node
            has it.
    """

    names: tuple[str, ...]
    tiers: NDArray[np.int64]
    tier_names: tuple[str, ...]
    parent: NDArray[np.intp]
    end: NDArray[np.intp]
    order: Rows
    faults: frozenset[Fault]


def _linked(infos: Sequence[HyperNodeInfo]) -> _Links:
    parents, faults = parents_of(infos)
    found, parent, end = _numbered(infos, parents)
    tiers = [info.tier for info in found[1:]]
    order = sorted(range(1, len(found)), key=lambda at: (found[at].tier, found[at].name))
    return _Links(
        names=(ROOT_NAME, *(info.name for info in found[1:])),
        tiers=np.array([max(tiers, default=0) + 1, *tiers], dtype=np.int64),
        tier_names=("", *(info.tier_name for info in found[1:])),
        parent=parent,
        end=end,
        order=np.array(order, dtype=np.intp),
        faults=frozenset((*faults, *(fault for info in infos for fault in info.faults))),
    )


def _numbered(
    infos: Sequence[HyperNodeInfo], parents: Mapping[str, str]
) -> tuple[list[HyperNodeInfo], NDArray[np.intp], NDArray[np.intp]]:
    """HyperNodes depth-first, siblings by name, after a place for the root; parent and end of each."""
    below: defaultdict[str, list[HyperNodeInfo]] = defaultdict(list)
    for info in infos:
        below[parents.get(info.name, "")].append(info)
    order: list[HyperNodeInfo] = [_ROOT_INFO]
    number_of = {"": ROOT}
    left = below[""][::-1]
    while left:
        info = left.pop()
        number_of[info.name] = len(order)
        order.append(info)
        left.extend(reversed(below[info.name]))
    parent = np.array([NOWHERE, *(number_of[parents.get(info.name, "")] for info in order[1:])], dtype=np.intp)
    end = np.arange(1, len(order) + 1)
    for number in range(len(order) - 1, ROOT, -1):
        end[parent[number]] = max(end[parent[number]], end[number])
    return order, parent, end


def _claimed(links: _Links, selected: Mapping[str, Selected], index: NodeIndex) -> tuple[NDArray[np.intp], list[Fault]]:
    """[N] the domain that has each node, -1 for none, and what is wrong. The first in the order has it; a node that is
    in a domain is in those above it already, and one that is elsewhere stays there."""
    nearest = np.full(len(index.nodes), NOWHERE, dtype=np.intp)
    mine = [selected[links.names[number]] for number in links.order.tolist()]
    faults = [
        Fault(each.info.name, FaultReason.UNKNOWN_MEMBER, f"{_NOT_THERE}: {summarize(each.unknown)}")
        for each in mine
        if each.unknown
    ]
    if not mine:
        return nearest, faults
    rows = np.concatenate([each.rows for each in mine])
    claimants = np.repeat(links.order, [len(each.rows) for each in mine])
    once, first = np.unique(rows, return_index=True)
    nearest[once] = claimants[first]
    holders = nearest[rows]
    elsewhere = np.flatnonzero((holders < claimants) | (holders >= links.end[claimants]))
    shared: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for row, number, holder in zip(
        rows[elsewhere].tolist(), claimants[elsewhere].tolist(), holders[elsewhere].tolist(), strict=True
    ):
        shared[number, holder].append(index.nodes[row].name)
    for (number, holder), names in shared.items():
        kept, other = links.names[holder], links.names[number]
        verb = "is a member" if len(names) == 1 else "are members"
        text = f"{counted(len(names), 'node')} {verb} of {kept} and of {other} ({summarize(names)}); used in {kept}"
        faults += [Fault(name, FaultReason.SHARED_NODE, text) for name in (kept, other)]
    return nearest, faults
