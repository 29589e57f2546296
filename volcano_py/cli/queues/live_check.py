"""What a cluster has that a configuration is checked against: its queues, and its own configuration."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from volcano_py.api.objects import Queue
from volcano_py.cli.options.cluster_access import on_cluster
from volcano_py.cli.options.cluster_configuration import configuration_of_cluster, source_name
from volcano_py.cli.queues.ignored import ignored_fields
from volcano_py.cli.queues.sources import readable
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.kinds import QUEUE
from volcano_py.config import SchedulerConfiguration
from volcano_py.framework.registry import Registry
from volcano_py.framework.status.ignored_fields import IgnoredField


class ClusterSays(msgspec.Struct, frozen=True):
    """The queues, and the text of the scheduler's configuration with its name for messages, if that was asked for."""

    queues: tuple[Queue, ...]
    text: str
    source: str

    def ignored_by(self, configuration: SchedulerConfiguration, registry: Registry) -> list[tuple[str, IgnoredField]]:
        """Queue and field, by name of the queue, of what this configuration ignores."""
        found = ignored_fields(self.queues, configuration, registry)
        return [(name, field) for name in sorted(found) for field in found[name]]


def ask_cluster(
    kubeconfig: Path | None, context: str | None, config_namespace: str, *, with_configuration: bool
) -> ClusterSays:
    """Nothing is written.

    Raises:
        click.ClickException: there is no cluster, it refuses, or it has no configuration although it is asked for one.
    """

    async def work(client: KubernetesClient) -> ClusterSays:
        text, why = await configuration_of_cluster(client, config_namespace) if with_configuration else ("", "")
        if text is None:
            raise click.ClickException(f"{why}; name the file with the scheduler's configuration")
        queues = [each for each in await readable(client, QUEUE) if isinstance(each, Queue)]
        return ClusterSays(tuple(queues), text, source_name(config_namespace))

    return on_cluster(kubeconfig, context, work)
