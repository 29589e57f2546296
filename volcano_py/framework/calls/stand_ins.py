"""Asks the plugin that chooses devices which nodes have some that stand in for extended resources."""

from __future__ import annotations

from collections.abc import Mapping

from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.devices.stand_ins import StandIns
from volcano_py.framework.plugin import Plugin


def stand_in(cluster: ClusterCopy, dispatch: Dispatch) -> None:
    """Let nodes have the resources for which they have devices."""
    offered = cluster.snapshot.devices.offered
    asks = {dim: offered[name] for dim, name in enumerate(cluster.axis.names) if name in offered}
    if not asks:
        return
    nothing: Mapping[int, StandIns] = {}
    for plugin in dispatch.plugins:

        def found(plugin: Plugin = plugin) -> Mapping[int, StandIns]:
            return plugin.stand_ins(cluster, asks) if plugin.chooses_devices() else nothing

        cluster.let_stand_in(dispatch.guard(plugin, "stand_ins", found, otherwise=nothing))
