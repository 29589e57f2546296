"""What must be true of the cluster, checked against the API server as its administrator, never through the proxy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import orjson

from e2e.faults.injection.patience import patiently
from e2e.harness.daemon import Daemon
from e2e.harness.objects import GROUP_NAME_ANNOTATION, SCHEDULER_NAME
from e2e.harness.rights import DAEMON_USERS
from volcano_py.api.quantity import parse_quantity
from volcano_py.local.client import APIClient

_FINISHED = ("Succeeded", "Failed")
_GROUPS = "/apis/scheduling.volcano.sh/v1beta1"

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything there is; pods by namespace/name."""

    pods: dict[str, Object]
    nodes: dict[str, Object]
    pod_groups: dict[str, Object]
    queues: dict[str, Object]

    @classmethod
    async def of(cls, client: APIClient) -> Picture:
        """As the API server has it now."""

        async def listed(path: str) -> dict[str, Object]:
            answer = await patiently(lambda: client.get(path))
            assert answer is not None
            return {key_of(item): item for item in answer["items"]}

        return cls(
            pods=await listed("/api/v1/pods"),
            nodes=await listed("/api/v1/nodes"),
            pod_groups=await listed(f"{_GROUPS}/podgroups"),
            queues=await listed(f"{_GROUPS}/queues"),
        )

    def members(self, group: str) -> list[Object]:
        """The pods that name a PodGroup (namespace/name)."""
        namespace, _, name = group.partition("/")
        return [
            pod
            for pod in self.pods.values()
            if pod["metadata"]["namespace"] == namespace and group_of(pod) == name and is_ours(pod)
        ]


def key_of(item: Object) -> str:
    metadata = item["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def group_of(pod: Object) -> str:
    """The PodGroup that a pod names, "" for none."""
    return str((pod["metadata"].get("annotations") or {}).get(GROUP_NAME_ANNOTATION, ""))


def is_ours(pod: Object) -> bool:
    return bool(pod["spec"].get("schedulerName") == SCHEDULER_NAME)


def node_of(pod: Object) -> str:
    return str(pod["spec"].get("nodeName") or "")


def is_finished(pod: Object) -> bool:
    return pod["status"].get("phase") in _FINISHED


# -- one by one ----------------------------------------------------------------------------------------------------


def overcommitted_nodes(picture: Picture) -> list[str]:
    """Nodes whose pods ask for more than is allocatable; pods that have finished ask for nothing."""
    used: dict[str, Counter[str]] = {}
    for pod in picture.pods.values():
        if node_of(pod) and not is_finished(pod):
            of_node = used.setdefault(node_of(pod), Counter())
            of_node["pods"] += 1
            for container in pod["spec"]["containers"]:
                for name, text in (container.get("resources", {}).get("requests") or {}).items():
                    # Counters add up any numbers, fractions too.
                    of_node[name] += parse_quantity(text)  # type: ignore[assignment]
    return [
        f"{name}: {resource}: pods ask for {float(amount):g} of {float(_allocatable(node, resource)):g}"
        for name, node in picture.nodes.items()
        for resource, amount in used.get(name, Counter()).items()
        if amount > _allocatable(node, resource)
    ]


def _allocatable(node: Object, resource: str) -> Fraction:
    return parse_quantity(node["status"]["allocatable"].get(resource, 0))


def broken_gangs(picture: Picture) -> list[str]:
    """PodGroups of which some pods have a node, but fewer than minMember."""
    broken = []
    for key, group in picture.pod_groups.items():
        members, minimum = picture.members(key), int(group["spec"].get("minMember", 0))
        placed = sum(1 for pod in members if node_of(pod))
        if 0 < placed < minimum:
            broken.append(f"{key}: {placed} of {len(members)} pods have a node, minMember is {minimum}")
    return broken


def waiting_pods(picture: Picture, namespace: str, *, besides: Iterable[str] = ()) -> list[str]:
    """Pods of ours that do not run, with their messages; `besides` are PodGroups that have to wait."""
    excused = set(besides)
    return [
        f"{key} {pod['status'].get('phase')} on {node_of(pod) or 'no node'} {_reported(pod)}"
        for key, pod in picture.pods.items()
        if is_ours(pod)
        and pod["metadata"]["namespace"] == namespace
        and group_of(pod) not in excused
        and pod["status"].get("phase") not in ("Running", *_FINISHED)
    ]


def _reported(pod: Object) -> str:
    conditions = pod["status"].get("conditions") or []
    return next((f"({c.get('reason')}: {c.get('message')})" for c in conditions if c["type"] == "PodScheduled"), "")


async def differences(daemon: Daemon, picture: Picture) -> list[str]:
    """Where the daemon's picture of the cluster (/dump) is another than the API server's."""
    try:
        status, text = await daemon.get("/dump")
    except aiohttp.ClientError as error:
        return [f"the daemon does not answer: {error}"]
    assert status == 200, text
    dump: Object = orjson.loads(text)
    found = [f"the self-audit finds a drift of {dump['drift']}"] if dump["drift"] else []
    found += _compare("pod", _pods_seen(dump), _pods_there(picture))
    found += _compare("node", _nodes_seen(dump), _nodes_there(picture))
    found += _compare("PodGroup", _groups_seen(dump), _groups_there(picture))
    found += _compare("queue", {name: queue["state"] for name, queue in dump["queues"].items()}, _queues_there(picture))
    return found


def _compare(kind: str, seen: dict[str, Any], there: dict[str, Any]) -> list[str]:
    return [
        f"{kind} {key}: the daemon has {seen.get(key)}, the API server {there.get(key)}"
        for key in sorted({*seen, *there})
        if seen.get(key) != there.get(key)
    ]


def _pods_seen(dump: Object) -> dict[str, tuple[str, str | None, str]]:
    return {
        key: (task["uid"], task["node"], "BOUND" if task["status"] == "BINDING" else task["status"])
        for key, task in dump["tasks"].items()
    }


def _pods_there(picture: Picture) -> dict[str, tuple[str, str | None, str]]:
    """Pods that have finished are on no node any more."""
    return {
        key: (pod["metadata"]["uid"], None if is_finished(pod) else node_of(pod) or None, _status(pod))
        for key, pod in picture.pods.items()
        if (is_ours(pod) or node_of(pod)) and (not is_finished(pod) or (is_ours(pod) and group_of(pod)))
    }


def _status(pod: Object) -> str:
    phase = str(pod["status"].get("phase"))
    if phase in _FINISHED:
        return phase.upper()
    if pod["metadata"].get("deletionTimestamp"):
        return "RELEASING"
    if phase == "Running":
        return "RUNNING"
    return "BOUND" if node_of(pod) else "PENDING"


def _nodes_seen(dump: Object) -> dict[str, tuple[int, bool]]:
    return {
        name: (node["allocatable"].get("cpu", 0), node["unschedulable"])
        for name, node in dump["nodes"].items()
        if node["exists"]
    }


def _nodes_there(picture: Picture) -> dict[str, tuple[int, bool]]:
    return {
        name: (int(1000 * _allocatable(node, "cpu")), bool(node["spec"].get("unschedulable")))
        for name, node in picture.nodes.items()
    }


def _groups_seen(dump: Object) -> dict[str, tuple[int, str]]:
    return {key: (job["minMember"], job["phase"]) for key, job in dump["jobs"].items() if job["podGroup"]}


def _groups_there(picture: Picture) -> dict[str, tuple[int, str]]:
    return {
        key: (int(group["spec"].get("minMember", 0)), str(group.get("status", {}).get("phase", "")))
        for key, group in picture.pod_groups.items()
    }


def _queues_there(picture: Picture) -> dict[str, str]:
    return {name: queue.get("status", {}).get("state") or "Open" for name, queue in picture.queues.items()}


# -- over time -----------------------------------------------------------------------------------------------------


class _Reference(msgspec.Struct):
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class _Answer(msgspec.Struct):
    code: int = 0


class _User(msgspec.Struct):
    username: str = ""


class _Entry(msgspec.Struct, rename="camel"):
    verb: str = ""
    stage: str = ""
    object_ref: _Reference = msgspec.field(default_factory=_Reference)
    response_status: _Answer = msgspec.field(default_factory=_Answer)
    user: _User = msgspec.field(default_factory=_User)


def bound_twice(log: Path) -> dict[str, int]:
    """Pods that were bound with success more than once, by namespace/name and UID, and how often: from the API server's
    audit log. The daemon's bindings carry the UID; tests bind some pods by hand without it, namesakes among them.

    Raises:
        AssertionError: a daemon has bound a pod by its name alone.
    """
    decode = msgspec.json.Decoder(_Entry).decode
    bound: Counter[str] = Counter()
    for line in log.read_bytes().splitlines():
        try:
            entry = decode(line)
        except msgspec.MsgspecError:
            continue  # a line that the server was killed in
        reference = entry.object_ref
        if reference.subresource != "binding" or entry.verb != "create" or entry.response_status.code >= 300:
            continue
        if entry.user.username in DAEMON_USERS:
            assert reference.uid, f"{reference.namespace}/{reference.name} was bound whatever its UID"
        if reference.uid:
            bound[f"{reference.namespace}/{reference.name} {reference.uid}"] += 1
    return {pod: times for pod, times in bound.items() if times > 1}
