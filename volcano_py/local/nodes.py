"""Simulated nodes: Node objects that look like a kubelet's, and whose kubelet KWOK plays."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from volcano_py.local.binaries.recipes import KUBERNETES_VERSION
from volcano_py.local.client import APIClient
from volcano_py.local.components import SIMULATED_NODE

DEFAULT_ALLOCATABLE: Mapping[str, str] = {"cpu": "32", "memory": "256Gi", "pods": "110"}
"""A common server; 110 pods is the kubelet's own default."""

_HEALTHY_CONDITIONS = (
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)

_NODE_INFO: Mapping[str, str] = {
    "architecture": "amd64",
    "operatingSystem": "linux",
    "kubeletVersion": f"v{KUBERNETES_VERSION}",
    "containerRuntimeVersion": "simulated",
    "kernelVersion": "simulated",
    "osImage": "simulated",
    "bootID": "",
    "kubeProxyVersion": "",
    "machineID": "",
    "systemUUID": "",
}


async def create_nodes(
    client: APIClient,
    count: int,
    *,
    allocatable: Mapping[str, str] = DEFAULT_ALLOCATABLE,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    annotations: Mapping[str, str] | None = None,
    name_format: str = "node-{:05d}",
    first: int = 0,
) -> list[str]:
    """Create `count` nodes and return their names: `name_format` filled with `first`, `first` + 1, and so on.

    They are Ready at once. `allocatable` (also the capacity) gets the default number of pods when it names none;
    `labels` come on top of those that a kubelet sets. Nodes that exist already stay as they are. Raises APIError.
    """
    names = [name_format.format(number) for number in range(first, first + count)]
    nodes = [
        simulated_node(name, allocatable=allocatable, labels=labels, taints=taints, annotations=annotations)
        for name in names
    ]
    await client.create_many("/api/v1/nodes", nodes)
    return names


def simulated_node(
    name: str,
    *,
    allocatable: Mapping[str, str] = DEFAULT_ALLOCATABLE,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The Node object, Ready from the start."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    resources = {"pods": DEFAULT_ALLOCATABLE["pods"], **allocatable}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {**(annotations or {}), SIMULATED_NODE[0]: SIMULATED_NODE[1]},
            "labels": {
                # Both generations: the node controller would add the older ones, with a write to every node.
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "kubernetes.io/hostname": name,
                **(labels or {}),
            },
        },
        "spec": {"taints": [dict(taint) for taint in taints]} if taints else {},
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "addresses": [{"type": "Hostname", "address": name}],
            "conditions": _healthy(now),
            "nodeInfo": dict(_NODE_INFO),
        },
    }


def _healthy(now: str) -> list[dict[str, str]]:
    """The conditions of a kubelet that has nothing to complain about."""
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        for kind, status, reason, message in _HEALTHY_CONDITIONS
    ]
