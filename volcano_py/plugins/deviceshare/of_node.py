"""The GPUs of one node that pods may share, for people."""

from __future__ import annotations

import msgspec
import numpy as np

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.plugins.deviceshare.node_cards import NodeCards, cards_of
from volcano_py.plugins.deviceshare.use import CardUse
from volcano_py.state.cards.asked import Sharing


class GpuInUse(msgspec.Struct, frozen=True):
    """`memory` in MB, `cores` in percent: what `users` pods or containers have of it."""

    name: str
    kind: str
    total: int
    memory: int
    cores: int
    users: int


def gpus_of_node(cluster: ClusterCopy, row: int) -> list[GpuInUse]:
    """As of now, in the order of the node. HAMi's device plugin names them by UUID, Volcano's older one by number."""
    info, found = cluster.snapshot.nodes[row], list[GpuInUse]()
    for sharing in (Sharing.VGPU, Sharing.GPU_MEMORY):
        if there := cards_of(info, sharing):
            cards = NodeCards(cluster, sharing)
            used = np.stack(CardUse(cluster, cards).on_node(row))
            found += [
                GpuInUse(there[at].uuid, there[at].kind, there[at].memory, *used[:, at].tolist())
                for at in np.flatnonzero(cards.exists[row]).tolist()
            ]
    return found
