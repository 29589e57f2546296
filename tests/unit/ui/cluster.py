"""A small cluster for tests of the page, as manifests."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from volcano_py.api.objects import Node
from volcano_py.capture.manifests import of_manifests
from volcano_py.capture.model import Capture
from volcano_py.cluster.manifests import read_text
from volcano_py.scheduler import builtin_registry
from volcano_py.ui.board.board import BoardMaker
from volcano_py.ui.board.judgement import Judge
from volcano_py.ui.board.model import Tables
from volcano_py.ui.cluster import Cluster

OBJECTS: Final = """
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: z1}},
 status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, creationTimestamp: "2026-01-01T01:00:00Z"},
 spec: {unschedulable: true},
 status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: research},
 spec: {weight: 1, capability: {cpu: "4"}}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: vision}, spec: {weight: 1, parent: research}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: runs, namespace: team},
 spec: {minMember: 1, queue: vision}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod,
 metadata: {name: runs-0, namespace: team, annotations: {scheduling.k8s.io/group-name: runs}},
 spec: {schedulerName: volcano, nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "3"}}}]},
 status: {phase: Running}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: waits, namespace: team},
 spec: {minMember: 1, queue: vision}, status: {phase: Inqueue}}
---
{apiVersion: v1, kind: Pod,
 metadata: {name: waits-0, namespace: team, annotations: {scheduling.k8s.io/group-name: waits}},
 spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: "16"}}}]},
 status: {phase: Pending}}
"""


def capture(text: str = OBJECTS) -> Capture:
    return of_manifests(read_text(text))


def cluster(text: str = OBJECTS) -> Cluster:
    return Cluster.of_capture(capture(text), "a file", builtin_registry())


def board(text: str = OBJECTS) -> Tables:
    return board_of(cluster(text))


def board_of(shown: Cluster) -> Tables:
    seen = shown.seen()
    return BoardMaker().make(seen, Judge(shown.registry).judge(seen.snapshot, seen.configuration))


def cordon(shown: Cluster, name: str) -> None:
    """Or no longer."""
    (node,) = (each for each in shown.objects("Node", Node) if each.metadata.name == name)
    shown.upsert("Node", replace(node, spec=replace(node.spec, unschedulable=not node.spec.unschedulable)))
