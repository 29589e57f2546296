"""A small cluster in which one job runs and another waits below the capability of their queue."""

from __future__ import annotations

from typing import Final

from volcano_py.capture.manifests import of_manifests
from volcano_py.capture.model import Capture
from volcano_py.cluster.manifests import Document, read_text

CLUSTER: Final = """
apiVersion: v1
kind: List
items:
- kind: Node
  metadata: {name: gpu-1, labels: {kubernetes.io/hostname: gpu-1, pool: a}}
  spec: {taints: [{key: node.kubernetes.io/not-ready, effect: PreferNoSchedule}, {key: pool, effect: PreferNoSchedule}]}
  status: {allocatable: &node {cpu: "8", memory: 64Gi, pods: "110"}}
- {kind: Node, metadata: {name: gpu-2, labels: {kubernetes.io/hostname: gpu-2}}, status: {allocatable: *node}}
- {kind: Queue, apiVersion: scheduling.volcano.sh/v1beta1, metadata: {name: research}, spec: {capability: {cpu: "8"}}}
- {kind: Queue, apiVersion: scheduling.volcano.sh/v1beta1, metadata: {name: web.front}, spec: {weight: 1}}
- kind: PodGroup
  apiVersion: scheduling.volcano.sh/v1beta1
  metadata: {name: old, namespace: team}
  spec: {minMember: 1, queue: research}
  status: {phase: Running}
- kind: Pod
  apiVersion: v1
  metadata: {name: old-0, namespace: team, annotations: {scheduling.k8s.io/group-name: old}}
  spec: {schedulerName: volcano, nodeName: gpu-1, containers: [{name: main, resources: {requests: {cpu: "6"}}}]}
- kind: PodGroup
  apiVersion: scheduling.volcano.sh/v1beta1
  metadata: {name: train, namespace: team}
  spec: {minMember: 2, queue: research}
  status: {phase: Inqueue}
- kind: Pod
  apiVersion: v1
  metadata: {name: train-0, namespace: team, annotations: &in-train {scheduling.k8s.io/group-name: train}}
  spec: &worker {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "4"}}}]}
- {kind: Pod, apiVersion: v1, metadata: {name: train-1, namespace: team, annotations: *in-train}, spec: *worker}
"""

NEW_JOB: Final = """
kind: PodGroup
apiVersion: scheduling.volcano.sh/v1beta1
metadata: {name: extra, namespace: team}
spec: {minMember: 1, queue: web.front}
status: {phase: Inqueue}
---
kind: Pod
apiVersion: v1
metadata: {name: extra-0, namespace: team, annotations: {scheduling.k8s.io/group-name: extra}}
spec: {schedulerName: volcano, priorityClassName: high, containers: [{name: main, resources: {requests: {cpu: CPU}}}]}
"""


def documents(text: str) -> tuple[Document, ...]:
    return tuple(read_text(text, "new.yaml"))


def captured(*more: str) -> Capture:
    return of_manifests([document for text in (CLUSTER, *more) for document in documents(text)])
