"""What verbs do to queues of a cluster; each returns the line to print.

What would be refused, or would leave work waiting forever, is reported before anything is written: not every cluster
has admission to do it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import click
import msgspec
import orjson

from volcano_py.admission.queue_world import QueueFacts, QueueWorld
from volcano_py.admission.queues import QueueRules, validate_delete
from volcano_py.admission.violation import denial_message
from volcano_py.api.effects import JsonObject
from volcano_py.api.names import HIERARCHY, ROOT_QUEUE, SCHEDULING_API
from volcano_py.api.objects import Queue
from volcano_py.api.wording.resource_names import limits_devices, misnamed
from volcano_py.cli.options.cluster_access import DEFAULT_NAMESPACE, explained, is_api_missing
from volcano_py.cli.pod_groups import queue_of_group
from volcano_py.cli.printing.changes import listed
from volcano_py.cli.queues.rows import state_of
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ConflictError, ForbiddenError, NotFoundError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching.kinds import POD_GROUP, QUEUE
from volcano_py.operator.kube_api import BUS_API, delete_options, queue_path
from volcano_py.operator.queues.states import (
    PodGroupCounts,
    QueueAction,
    QueueState,
    UnknownQueueStateError,
    parent_state,
    reconcile_queue,
)

# Queues belong to no namespace, Commands do; this one is there in every cluster.
_COMMANDS: Final = ApiPath(BUS_API, "commands", DEFAULT_NAMESPACE)
_LONGEST_NAME: Final = 40  # characters of the queue's name in the Command's; the server adds its own to it
_GOAL: Final = {QueueAction.OPEN: frozenset({QueueState.OPEN}), QueueAction.CLOSE: frozenset({QueueState.CLOSED})}
_VERB: Final = {QueueAction.OPEN: "open", QueueAction.CLOSE: "close"}


def queue_manifest(
    name: str,
    *,
    weight: int = 1,
    parent: str = "",
    reclaimable: bool = True,
    capability: Mapping[str, str] | None = None,
    deserved: Mapping[str, str] | None = None,
    guarantee: Mapping[str, str] | None = None,
) -> JsonObject:
    """The Queue to be created; what is not given is left out."""
    spec: JsonObject = {"weight": weight, "reclaimable": reclaimable}
    if parent:
        spec["parent"] = parent
    if capability:
        spec["capability"] = dict(capability)
    if deserved:
        spec["deserved"] = dict(deserved)
    if guarantee:
        spec["guarantee"] = {"resource": dict(guarantee)}
    return {"apiVersion": SCHEDULING_API, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


async def create(client: KubernetesClient, manifest: JsonObject) -> str:
    """Create the queue.

    Raises:
        click.ClickException: the queue exists, or the queue above it does not.
    """
    name, parent = manifest["metadata"]["name"], manifest["spec"].get("parent", "")
    if parent not in ("", ROOT_QUEUE):
        await read(client, parent, what=f"queue {name}: --parent {parent}", fix="create that first")
    try:
        await client.post(queue_path(), manifest)
    except ConflictError as error:
        fix = f"choose another --name, or change it with kubectl edit queue {name}"
        raise click.ClickException(f"queue {name} exists already; {fix}") from error
    return f"queue {name} created"


async def read(client: KubernetesClient, name: str, *, what: str = "", fix: str = "") -> JsonObject:
    """The queue as the API has it.

    Raises:
        click.ClickException: there is none; the message has `what` and the `fix`.
    """
    try:
        found: Any = orjson.loads(await client.get(queue_path(name)))
    except NotFoundError as error:
        if is_api_missing(error):
            raise
        fix = fix or "volcano-py queue list shows those that do"
        raise click.ClickException(f"{what or f'queue {name}'} does not exist; {fix}") from error
    found["metadata"].pop("managedFields", None)
    return dict(found)


def says_how_to_share(queue: Queue) -> bool:
    """Whether it has fields that some configurations ignore. Only then the configuration need be read."""
    spec = queue.spec
    has_parent = spec.parent not in ("", ROOT_QUEUE)
    annotations = queue.metadata.annotations
    has_device_limits = any(map(limits_devices, spec.capability))
    divides = spec.deserved or spec.guarantee.resource or annotations.get(HIERARCHY)
    return has_parent or has_device_limits or bool(divides)


async def ignored(client: KubernetesClient, queue: Queue, config_namespace: str) -> list[str]:
    """Sentences about fields of the queue that the scheduler's configuration ignores, or that nothing can use."""
    if not says_how_to_share(queue):
        return list(misnamed(queue))
    from volcano_py.cli.queues.ignored import ignored_in_cluster  # loads what reads a configuration

    return await ignored_in_cluster(client, queue, config_namespace)


def decoded(found: JsonObject) -> Queue:
    """The queue as the scheduler reads it.

    Raises:
        click.ClickException: it cannot be read.
    """
    try:
        return msgspec.convert(found, Queue)
    except msgspec.ValidationError as error:
        name = found["metadata"]["name"]
        raise click.ClickException(
            f"queue {name} cannot be read: {error}; `volcano-py queue get --name {name} --output yaml` shows it as it"
            " is"
        ) from error


async def ask(client: KubernetesClient, name: str, action: QueueAction) -> str:
    """Ask the controller of queues to open or close one, by a Command as `vcctl` writes it.

    Raises:
        click.ClickException: it would be refused, or the cluster has no Commands.
    """
    queue = decoded(await read(client, name))
    refusal = await _refusal(client, queue, action)
    if refusal:
        raise click.ClickException(refusal)
    if state_of(queue) in _GOAL[action]:
        return f"queue {name} is {state_of(queue)} already"
    try:
        created = orjson.loads(await client.post(_COMMANDS, _command(queue, action)))
    except NotFoundError as error:
        raise click.ClickException(_without_commands(name, action)) from error
    except ForbiddenError as error:
        raise click.ClickException(
            f"no Command to {_VERB[action]} queue {name} was created: {explained(error)}"
        ) from error
    command = f"{DEFAULT_NAMESPACE}/{created['metadata']['name']}"
    return f"Command {command} created: {_VERB[action]} queue {name}"


async def weigh(client: KubernetesClient, name: str, weight: int) -> str:
    """Give the queue another weight.

    Raises:
        click.ClickException: there is no such queue.
    """
    queue = decoded(await read(client, name))
    # The UID: never a queue of the same name that was created in the meantime.
    await client.patch(queue_path(name), {"metadata": {"uid": queue.metadata.uid}, "spec": {"weight": weight}})
    return f"queue {name} has weight {weight} (it had {queue.spec.weight})"


async def delete(client: KubernetesClient, name: str) -> str:
    """Delete the queue.

    Raises:
        click.ClickException: it is one that must stay, has queues below it, or PodGroups that are not finished.
    """
    queue = decoded(await read(client, name))
    # As they are written: one that cannot be read as a whole is in the way as well.
    queues = [_place(each) for each in await listed(client, QUEUE.path)]
    groups = Counter(
        queue_of_group(group)
        for group in await listed(client, POD_GROUP.path)
        if (group.get("status") or {}).get("phase") != "Completed"
    )
    violations = validate_delete(name, QueueWorld.of(queues, groups), QueueRules())
    if violations:
        raise click.ClickException(denial_message("queue", name, violations))
    # The UID: never a queue of the same name that was created in the meantime.
    await client.delete(queue_path(name), delete_options(queue.metadata.uid))
    return f"queue {name} deleted"


def _place(obj: JsonObject) -> QueueFacts:
    """The queue's name and the one above it."""
    name = obj["metadata"]["name"]
    above = (obj.get("spec") or {}).get("parent") or ROOT_QUEUE
    return QueueFacts(name, "" if name == ROOT_QUEUE else above)


async def _refusal(client: KubernetesClient, queue: Queue, action: QueueAction) -> str:
    """Why the controller would refuse; "" when it would not, or when the queue above may not be read."""
    above: dict[str, Queue] = {}
    parent = queue.spec.parent
    if action is QueueAction.OPEN and parent not in ("", ROOT_QUEUE):
        try:
            above[parent] = await client.read(queue_path(parent), Queue)
        except (NotFoundError, ForbiddenError):
            above = {}
    try:
        return reconcile_queue(queue, PodGroupCounts(), parent_state(queue, above), action).refusal
    except UnknownQueueStateError as error:
        return f"queue {queue.metadata.name}: {error}; fix it with kubectl edit queue --subresource=status"


def _command(queue: Queue, action: QueueAction) -> JsonObject:
    name = queue.metadata.name
    return {
        "apiVersion": BUS_API,
        "kind": "Command",
        "metadata": {"generateName": f"{name[:_LONGEST_NAME]}-{_VERB[action]}-", "namespace": DEFAULT_NAMESPACE},
        "action": action.value,
        "target": {"apiVersion": SCHEDULING_API, "kind": "Queue", "name": name, "uid": queue.metadata.uid},
    }


def _without_commands(name: str, action: QueueAction) -> str:
    state = QueueState.OPEN if action is QueueAction.OPEN else QueueState.CLOSED
    patch = f"""'{{"status": {{"state": "{state}"}}}}'"""
    return (
        f"queue {name} cannot be asked to {_VERB[action]}: the cluster has no Commands ({BUS_API}); install their"
        " CustomResourceDefinition (kubectl apply -k crds), or write the state yourself:\n"
        f"kubectl patch queue {name} --subresource=status --type=merge --patch {patch}"
    )
