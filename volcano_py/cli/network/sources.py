"""Where the tree comes from: a capture or manifests, or a live cluster, which is listed once."""

from __future__ import annotations

import time
from collections.abc import Iterable

from volcano_py.capture.model import Capture
from volcano_py.capture.start import rules_of
from volcano_py.cli.network.domains import Network, network_of
from volcano_py.cli.options.captured import Source
from volcano_py.cli.options.cluster_access import on_cluster
from volcano_py.cli.queues.sources import readable
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import NotFoundError
from volcano_py.cluster.kubernetes.watching.kinds import HYPER_NODE, NODE, POD, POD_GROUP
from volcano_py.cluster.manifests import Stored
from volcano_py.operator.podgroups.generated_group import GroupRules
from volcano_py.state.cluster_state import ClusterState


def of_capture(capture: Capture) -> Network:
    """As it was at the moment of the capture."""
    return _network(capture.items, rules_of(capture), capture.taken)


def of_cluster(source: Source) -> Network:
    """As it is now.

    Raises:
        click.ClickException: there is no cluster, or it refuses.
    """

    async def read(client: KubernetesClient) -> list[Stored]:
        items: list[Stored] = []
        for kind in (NODE, HYPER_NODE, POD_GROUP, POD):
            try:
                items.extend((kind.name, obj) for obj in await readable(client, kind))
            except NotFoundError:
                if not kind.optional:
                    raise  # without the CRD there are none
        return items

    return _network(on_cluster(source.kubeconfig, source.context, read), source.rules(), time.time())


def _network(items: Iterable[Stored], rules: GroupRules, now: float) -> Network:
    state = ClusterState(scheduler_names=rules.scheduler_names, default_queue=rules.default_queue)
    for kind, obj in items:
        state.upsert(kind, obj)
    return network_of(state.snapshot(now))
