"""Generated clusters: nodes, pods that run on them, and pods to ask about. The same seed gives the same clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from e2e.differential.nodes import make_nodes
from e2e.differential.pods.features import Feature, plain_pod
from e2e.differential.pods.selecting import make_selecting
from e2e.differential.pods.storage import Stored, make_storage
from e2e.differential.theirs import MOST_ALLOCATED, SCHEDULER_NAME
from e2e.differential.words import CLUSTER_LABEL, Manifest, Words

ASKED_PER_CLUSTER = 2
_GATED = 0.03
_FORCED = 0.7
"""So many of the asked pods may only go to nodes of their own cluster; the others may go to its neighbours, too."""


@dataclass(frozen=True, slots=True)
class Running:
    """A pod on a node; then `phase` is written into its status, and `leaving` deletes it with time to end."""

    manifest: Manifest
    phase: str
    leaving: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """One generated cluster, as manifests without anything that an API server adds."""

    number: int
    nodes: Sequence[Manifest]
    running: Sequence[Running]
    asked: Sequence[Manifest]
    stored: Sequence[Stored]
    """What is neither node nor pod."""


def make_cluster(seed: int, number: int, features: Sequence[Feature], *, scored: bool = False) -> Cluster:
    """The cluster of that number; its pods use only these features.

    With `scored` there is one pod to ask about, which may only go to this cluster: others would see it as placed for
    a moment.
    """
    words = Words(seed, number)
    nodes = make_nodes(words)
    running = _lasting_ports(
        [_running(words, index, features) for index in range(words.between(0, 2 * len(nodes) + 2))]
    )
    if scored:
        asked = [_scored(words, features)]
    else:
        asked = [_asked(words, index, features) for index in range(ASKED_PER_CLUSTER)]
    return Cluster(number, nodes, running, asked, [*make_storage(words), *make_selecting(words)])


def _running(words: Words, index: int, features: Sequence[Feature]) -> Running:
    pod = plain_pod(words, f"{words.cluster}-running-{index}")
    for feature in features:
        if words.chance(feature.running):
            feature.add(words, pod)
    pod["spec"]["nodeName"] = words.one_of(words.nodes)
    phase = words.random.choices(("Pending", "Running", "Succeeded", "Failed"), weights=(6, 2, 1, 1))[0]
    return Running(pod, phase, leaving=phase in ("Pending", "Running") and words.chance(0.08))


def _lasting_ports(running: Sequence[Running]) -> list[Running]:
    """Pods with host ports end only where no other pod has any.

    kube-scheduler remembers each port of a node once: when one of two pods with the same port ends, it takes the port
    for free. Two such pods can only meet when the ports are not checked, as here.
    """
    ports = Counter(_node(pod) for pod in running if _has_host_ports(pod))
    return [replace(pod, phase="Pending") if _has_host_ports(pod) and ports[_node(pod)] > 1 else pod for pod in running]


def _node(pod: Running) -> str:
    name: str = pod.manifest["spec"]["nodeName"]
    return name


def _has_host_ports(pod: Running) -> bool:
    spec = pod.manifest["spec"]
    return any(container.get("ports") for container in (*spec["containers"], *spec.get("initContainers", ())))


def _asked(words: Words, index: int, features: Sequence[Feature]) -> Manifest:
    pod = plain_pod(words, f"{words.cluster}-asked-{index}")
    for feature in features:
        if words.chance(feature.often):
            feature.add(words, pod)
    if words.chance(_FORCED):
        pod["spec"].setdefault("nodeSelector", {})[CLUSTER_LABEL] = words.cluster
    if words.chance(_GATED):
        pod["spec"]["schedulingGates"] = [{"name": "differential/wait"}]
    return pod


def _scored(words: Words, features: Sequence[Feature]) -> Manifest:
    pod = plain_pod(words, f"{words.cluster}-scored")
    pod["spec"]["schedulerName"] = words.one_of((SCHEDULER_NAME, MOST_ALLOCATED))
    for feature in features:
        if words.chance(feature.scored):
            feature.add(words, pod)
    pod["spec"].setdefault("nodeSelector", {})[CLUSTER_LABEL] = words.cluster
    return pod
