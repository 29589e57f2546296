"""Which CPUs are free on each node, kept up to date within a cycle: as of now, and once terminating pods are gone.

Of pods that have their CPUs, the node's Numatopology says which these are. Other pods that are bound are about to get
theirs from the kubelet: until the object shows them, they count as having those that they would get one after the
other, in the order in which they were scheduled. That follows from the cluster alone, so a restart forgets nothing.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.plugins.numa_aware.hints import Counts, choose_anyhow
from volcano_py.plugins.numa_aware.nodes import NumaNodes
from volcano_py.state.numa.asked import POLICIES
from volcano_py.state.numa.info import NumaInfo
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.table import NOWHERE, Rows

_NOW = ON_NODE_STATUSES.copy()
_THEN = _NOW.copy()
"""[statuses] with which a pod has its CPUs, now, and once terminating pods are gone and promised places are taken."""
_THEN[TaskStatus.RELEASING], _THEN[TaskStatus.PIPELINED] = False, True


class CpuUse:
    """Sets of CPUs are whole numbers. What is free is worked out again from all pods of a node whenever one of them
    comes or goes, so that what is undone leaves no trace.

    Attributes:
        counts: [N, W] CPUs that are free on each NUMA node, now and then. `counts_then`: then.
    """

    def __init__(self, cluster: ClusterCopy, nodes: NumaNodes, silent: Set[str] = frozenset()) -> None:
        """`silent`: see `Departures`."""
        self._cluster, self._nodes, self._silent = cluster, nodes, silent
        self._held: dict[int, dict[int, int]] = {}
        """Node row → task row → its CPUs."""
        self._now: dict[int, int] = {}
        self._then: dict[int, int] = {}
        """Node row → what is free, of nodes with pods that have CPUs, or have had them."""
        kept = np.flatnonzero(nodes.is_kept).tolist()
        shape = len(nodes.infos), nodes.width
        self.counts: Counts = np.zeros(shape, dtype=np.int64)
        for row in kept:
            info = self._info(row)
            self._write(self.counts, row, info.free)
        self.counts_then: Counts = self.counts.copy()
        self._take_shown(kept)
        self._take_others()

    def free(self, row: int, *, released: bool) -> int:
        """The CPUs of a node that are free then (`released`), or now and then."""
        unused = self._info(row).free
        then = self._then.get(row, unused)
        return then if released else then & self._now.get(row, unused)

    def counts_of(self, rows: Rows, *, released: bool) -> Counts:
        """[K, W] how many these are on each NUMA node."""
        counts: Counts = (self.counts_then if released else self.counts)[rows]
        return counts

    def has(self, node: int, row: int) -> bool:
        """Whether the task has CPUs there."""
        return row in self._held.get(node, ())

    def give(self, node: int, row: int, cpus: int) -> None:
        """The task has these CPUs from now on."""
        self._held.setdefault(node, {})[row] = cpus
        self.follow(node)

    def take_back(self, node: int, row: int) -> None:
        """The task has none any more."""
        self._held.get(node, {}).pop(row, None)
        self.follow(node)

    def follow(self, node: int) -> None:
        """Pods of the node have other statuses, or other CPUs."""
        info, status = self._info(node), self._cluster.ledger.tasks.status
        held = self._held.get(node, {})
        now, then = info.free, self._free_then(node)
        for row, cpus in held.items():
            now &= ~cpus if _NOW[status[row]] else -1
            then &= ~cpus if _THEN[status[row]] else -1
        self._now[node], self._then[node] = now, then
        self._write(self.counts_then, node, then)
        self._write(self.counts, node, now & then)

    def _free_then(self, node: int) -> int:
        """With the CPUs of all pods that the object shows, if it is expected to follow when they leave."""
        info, found = self._info(node), self._info(node).listed
        if info.ref.name in self._silent:
            return info.free
        for each in info.shown:
            found |= each.cpus
        return found & ~self._nodes.layout(node).reserved

    def _holders(self, info: NumaInfo) -> tuple[int, ...]:
        """Rows of the tasks that the object shows."""
        return self._cluster.snapshot.numa.holders.get(info.ref.name, ())

    def _write(self, counts: Counts, row: int, cpus: int) -> None:
        found = self._nodes.layout(row).counts(cpus)
        counts[row, : len(found)] = found

    def _info(self, row: int) -> NumaInfo:
        info = self._nodes.infos[row]
        assert info is not None, "a node without an object"
        return info

    def _take_shown(self, kept: list[int]) -> None:
        """The CPUs of pods that objects show."""
        for node in kept if self._cluster.snapshot.numa.holders else ():
            info = self._info(node)
            if not info.shown:
                continue
            held = self._held.setdefault(node, {})
            for row, each in zip(self._holders(info), info.shown, strict=True):
                if row != NOWHERE:
                    held[row] = held.get(row, 0) | each.cpus
            self.follow(node)

    def _take_others(self) -> None:
        """The CPUs that pods are about to get."""
        cluster, nodes = self._cluster, self._nodes
        for row in _in_order(cluster, nodes):
            node = int(cluster.ledger.tasks.node[row])
            cpus = cluster.task_class(row).cpus
            if cpus is not None and not self.has(node, row):
                self.give(node, row, self._likely(node, cpus.cores))

    def _likely(self, node: int, cores: tuple[int, ...]) -> int:
        """The CPUs that the kubelet will give; where its policy refuses the pod, what is free, until it has failed."""
        info, policy = self._info(node), POLICIES[int(self._nodes.policy[node])]
        assert info.layout is not None, "no layout"
        return choose_anyhow(info.layout, self._now.get(node, info.free), cores, policy)


def free_by_numa_node(cluster: ClusterCopy, row: int) -> list[tuple[int, int, int]]:
    """Of one node: id, free CPUs and all CPUs of each NUMA node; empty if that is not followed there."""
    nodes = NumaNodes(cluster)
    if not nodes.is_kept[row]:
        return []
    layout = nodes.layout(row)
    counts = layout.counts(CpuUse(cluster, nodes).free(row, released=False))
    return list(zip(layout.ids, counts, layout.sizes, strict=True))


def _in_order(cluster: ClusterCopy, nodes: NumaNodes) -> list[int]:
    """Rows of tasks that have CPUs of their own on nodes that are kept, and that their objects may not show yet, in the
    order in which they were scheduled.

    Where an object does not say which pods have CPUs, those are left out that came first and have as many CPUs as
    are given."""
    asks = np.array(
        [each is not None and each.cpus is not None and bool(each.cpus.cores) for each in cluster.snapshot.classes]
    )
    tasks = cluster.ledger.tasks
    there = np.flatnonzero((tasks.node != NOWHERE) & _NOW[tasks.status])
    rows = there[nodes.is_kept[tasks.node[there]]]
    rows = rows[asks[tasks.task_class[rows]]] if len(rows) else rows
    at = tasks.scheduled_at[rows]
    rows = rows[np.lexsort((tasks.tiebreak[rows], tasks.suffix[rows], tasks.created[rows], at, at == 0.0))]
    left: dict[int, int] = {}
    found = list[int]()
    for row in rows.tolist():
        node = int(tasks.node[row])
        info, cpus = nodes.infos[node], cluster.task_class(row).cpus
        assert info is not None, "a node without an object"
        assert cpus is not None, "a task without CPUs"
        if not info.shown and sum(cpus.cores) <= left.setdefault(node, info.given):
            left[node] -= sum(cpus.cores)
        else:
            found.append(row)
    return found
