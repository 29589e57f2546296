"""Which fields of queues the scheduler's configuration ignores: as the scheduler has written it, or worked out here."""

from __future__ import annotations

from collections.abc import Iterable

from volcano_py.api.names import FIELDS_IGNORED
from volcano_py.api.objects import Queue
from volcano_py.api.wording.resource_names import misnamed
from volcano_py.cli.options.cluster_configuration import configuration_of_cluster
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.config import SchedulerConfiguration, parse_configuration
from volcano_py.framework.registry import Registry
from volcano_py.framework.status.ignored_fields import FieldUse, IgnoredField, SharingFields, fields_without_effect
from volcano_py.scheduler import builtin_registry


def ignored_fields(
    queues: Iterable[Queue], configuration: SchedulerConfiguration, registry: Registry
) -> dict[str, tuple[IgnoredField, ...]]:
    """Queue → what it says in vain, of those with such fields."""
    use = FieldUse.of(configuration, registry.plugins)
    found = {queue.metadata.name: fields_without_effect(use, SharingFields.of(queue)) for queue in queues}
    return {name: fields for name, fields in found.items() if fields}


async def ignored_in_cluster(client: KubernetesClient, queue: Queue, config_namespace: str) -> list[str]:
    """Sentences about the queue: by its condition, or else by the scheduler's ConfigMap; where that is not to be had,
    only those that hold for every configuration."""
    for condition in queue.status.conditions:
        if condition.type == FIELDS_IGNORED:
            return [condition.message] if condition.status == "True" else []
    text, _ = await configuration_of_cluster(client, config_namespace)
    registry = builtin_registry().with_installed()
    configuration = parse_configuration(text, registry.catalogue()).config if text is not None else None
    if configuration is None:
        return list(misnamed(queue))
    fields = ignored_fields([queue], configuration, registry).get(queue.metadata.name, ())
    return [field.message for field in fields]
