"""What every controller works with."""

from __future__ import annotations

import asyncio

import msgspec

from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.watching.kinds import Kind
from volcano_py.cluster.protocol import BadObjectHandler, Sink
from volcano_py.daemon.options import DaemonOptions
from volcano_py.operator.kube_api import IsActive, Learn, Record


class ControllerContext(msgspec.Struct, frozen=True):
    """Shared by all controllers of a process, as in kube-controller-manager.

    Attributes:
        active: whether it may write.
        record: posts its events.
        learn: gets what answers show of Jobs, their pods and PodGroups.
        bad_object: gets what its informers cannot read.
        go_before: see `Reflector`.
    """

    options: DaemonOptions
    client: KubernetesClient
    active: IsActive
    record: Record
    learn: Learn
    bad_object: BadObjectHandler
    go_before: asyncio.Event

    def wants(self, controller: str) -> bool:
        """Whether `--controllers` asks for the controller of this name."""
        return controller in self.options.controllers

    def informers(self, sink: Sink, *watched: Kind) -> Informers:
        """Informers of a controller's own, which feed `sink`."""
        return Informers(
            self.client,
            sink,
            watched,
            go_before=self.go_before,
            on_bad_object=self.bad_object,
            resync_every=self.options.resync_period or None,
        )
