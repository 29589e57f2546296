"""Kubernetes objects to create, with the few fields that tests care about as arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCHEDULER_NAME = "volcano"
GROUP_NAME_ANNOTATION = "scheduling.k8s.io/group-name"

# A kind cluster has it on every node; simulated nodes pull nothing.
_IMAGE = "registry.k8s.io/pause:3.10"

Object = dict[str, Any]


def pod(
    name: str,
    *,
    cpu: str = "1",
    memory: str = "64Mi",
    group: str = "",
    priority_class: str = "",
    node_selector: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    scheduler_name: str = SCHEDULER_NAME,
    **spec: Any,
) -> Object:
    """A pod of one container; `group` is its PodGroup, `spec` further fields of the pod's spec."""
    merged = dict(annotations or {})
    if group:
        merged[GROUP_NAME_ANNOTATION] = group
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": merged, "labels": dict(labels or {})},
        "spec": pod_spec(
            cpu=cpu,
            memory=memory,
            priority_class=priority_class,
            node_selector=node_selector,
            scheduler_name=scheduler_name,
            **spec,
        ),
    }


def pod_spec(
    *,
    cpu: str = "1",
    memory: str = "64Mi",
    priority_class: str = "",
    node_selector: Mapping[str, str] | None = None,
    scheduler_name: str = SCHEDULER_NAME,
    **spec: Any,
) -> Object:
    """The spec of such a pod, for templates."""
    base: Object = {
        "schedulerName": scheduler_name,
        "terminationGracePeriodSeconds": 1,
        "containers": [
            {
                "name": "main",
                "image": _IMAGE,
                "resources": {"requests": {"cpu": cpu, "memory": memory}},
            }
        ],
    }
    if node_selector:
        base["nodeSelector"] = dict(node_selector)
    if priority_class:
        base["priorityClassName"] = priority_class
    return {**base, **spec}


def gang(name: str, size: int, *, minimum: int | None = None, queue: str = "", **of_pods: Any) -> list[Object]:
    """A PodGroup and its `size` pods, called NAME-0 and so on; `minimum` (default: all) must run at once."""
    return [
        pod_group(name, size if minimum is None else minimum, queue=queue),
        *(pod(f"{name}-{number}", group=name, **of_pods) for number in range(size)),
    ]


def pod_group(name: str, min_member: int, *, queue: str = "", priority_class: str = "", **spec: Any) -> Object:
    """A PodGroup; without `queue` it belongs to the default queue."""
    fields: Object = {"minMember": min_member, **spec}
    if queue:
        fields["queue"] = queue
    if priority_class:
        fields["priorityClassName"] = priority_class
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": fields,
    }


def queue(name: str, *, weight: int = 1, **spec: Any) -> Object:
    """A Queue (cluster-scoped)."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": weight, **spec},
    }


def deployment(name: str, replicas: int, *, annotations: Mapping[str, str] | None = None, **of_pods: Any) -> Object:
    """A Deployment of such pods; `annotations` go onto the pod template."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": dict(annotations or {})},
                "spec": pod_spec(**of_pods),
            },
        },
    }


def job(name: str, parallelism: int, *, annotations: Mapping[str, str] | None = None, **of_pods: Any) -> Object:
    """A batch Job of `parallelism` pods, all of which must succeed; `annotations` go onto the pod template."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "parallelism": parallelism,
            "completions": parallelism,
            "template": {
                "metadata": {"annotations": dict(annotations or {})},
                "spec": pod_spec(restartPolicy="Never", **of_pods),
            },
        },
    }


def volcano_job(name: str, replicas: int, *, labels: Mapping[str, str] | None = None, **of_pods: Any) -> Object:
    """A Volcano Job of one task, `worker`, all of whose pods must run at once; their containers never restart.

    `labels` are the pods'.
    """
    template = {
        "metadata": {"labels": dict(labels or {})},
        "spec": pod_spec(scheduler_name="", restartPolicy="Never", **of_pods),
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"minAvailable": replicas, "tasks": [{"name": "worker", "replicas": replicas, "template": template}]},
    }
