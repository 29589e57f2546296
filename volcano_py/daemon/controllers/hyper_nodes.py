"""The controllers of HyperNodes, put together: their statuses, and their discovery with its configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import ApiObject
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.cluster.kubernetes.watching.kinds import ConfigMap
from volcano_py.cluster.protocol import Sink
from volcano_py.daemon.controllers.context import ControllerContext
from volcano_py.daemon.fan_out import OnlyKinds
from volcano_py.operator.hypernodes.controller import HyperNodeController
from volcano_py.operator.hypernodes.discovery import HyperNodeDiscovery
from volcano_py.operator.hypernodes.sources import CONFIG_KEY

CONFIG_MAP: Final = "volcano-controller-configmap"
"""As Volcano's Helm chart names it for the release `volcano`."""


class HyperNodeControl:
    """Both controllers, and the informer of the ConfigMap with the sources. The rest comes with the daemon's informers.

    Attributes:
        sinks: fed with nodes and HyperNodes.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._statuses = HyperNodeController(context.client, active=context.active)
        self._discovery = HyperNodeDiscovery(context.client, active=context.active, record=context.record)
        fed = (self._statuses, self._discovery)
        self.sinks: Sequence[Sink] = [OnlyKinds(each, kinds.NODE.name, kinds.HYPER_NODE.name) for each in fed]
        # It is not in the metrics: these go by the kind, and the scheduler follows a ConfigMap, too.
        config_map = kinds.config_map(context.options.config_namespace, CONFIG_MAP)
        self._informers = context.informers(_Configuration(self._discovery), config_map)

    def leadership_gained(self) -> None:
        """To be called when this replica gets the Lease."""
        self._statuses.leadership_gained()
        self._discovery.leadership_gained()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informers.run(), name="informer of the discovery's configuration")
            group.create_task(self._statuses.run(), name="statuses of HyperNodes")
            await self._informers.wait_synced()
            group.create_task(self._discovery.run(), name="discovery of HyperNodes")


class _Configuration:
    """A `Sink` for the ConfigMap."""

    def __init__(self, discovery: HyperNodeDiscovery) -> None:
        self._discovery = discovery

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """These are all: one, or none."""
        if not objects:
            self._discovery.configure("")
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """New or changed."""
        if isinstance(obj, ConfigMap):
            meta = obj.metadata
            config = ObjectRef("ConfigMap", meta.namespace, meta.name, meta.uid)
            self._discovery.configure(obj.data.get(CONFIG_KEY, ""), config)

    def delete(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """Gone."""
        self._discovery.configure("")
