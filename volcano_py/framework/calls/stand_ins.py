"""Asks the plugin that chooses devices which nodes have some that stand in for extended resources."""

from __future__ import annotations

from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.plugin import Plugin


def stand_in(cluster: ClusterCopy, dispatch: Dispatch) -> None:
    """Let nodes have the resources for which they have devices."""
    offered = cluster.snapshot.devices.offered
    asks = {dim: offered[name] for dim, name in enumerate(cluster.axis.names) if name in offered}
    if not asks:
        return
    for plugin in dispatch.plugins:

        def let_stand_in(plugin: Plugin = plugin) -> None:
            if plugin.chooses_devices():
                cluster.let_stand_in(plugin.stand_ins(cluster, asks))

        dispatch.guard(plugin, "stand_ins", let_stand_in, otherwise=None)
