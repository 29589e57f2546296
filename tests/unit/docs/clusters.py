"""Manifests of a page on a simulated cluster, with what workload controllers would make of Deployments and the like."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tests.unit.docs.pages import PROJECT, Block, blocks
from volcano_py.api.names import DEFAULT_SCHEDULER_NAME
from volcano_py.cluster.manifests import Document, read_paths, read_text, stored
from volcano_py.config import default_configuration_text, parse_configuration
from volcano_py.framework.registry import Registry
from volcano_py.operator.podgroups.generated_group import GroupRules
from volcano_py.simulation import Simulation, SimulationResult

Manifest = dict[str, Any]

NODES: Final = "\n---\n".join(
    f'{{kind: Node, metadata: {{name: n{i}}}, status: {{allocatable: {{cpu: "8", memory: 32Gi, pods: "110"}}}}}}'
    for i in (1, 2, 3)
)
_MADE: Final = Path(__file__).parent / "made_by_operators"
# Owner of the pods, and the field with their number. A Deployment's pods belong to the ReplicaSet made for it.
_WORKLOADS: Final = {
    "Deployment": ("apps/v1", "ReplicaSet", "replicas"),
    "StatefulSet": ("apps/v1", "StatefulSet", "replicas"),
    "Job": ("batch/v1", "Job", "parallelism"),
}


def simulate(
    documents: Iterable[Document],
    registry: Registry,
    configuration: str | None = None,
    *,
    scheduler_name: str = DEFAULT_SCHEDULER_NAME,
) -> SimulationResult:
    """The cluster at rest."""
    text = configuration or default_configuration_text()
    parsed = parse_configuration(text, registry.catalogue())
    assert parsed.config is not None, parsed.problems
    rules = GroupRules(scheduler_names=frozenset({scheduler_name}))
    return Simulation(stored(documents), parsed.config, registry, rules=rules).run()


def cluster_of(block: Block) -> list[Document]:
    """The block's objects and those that it is tried with, workloads with their pods."""
    documents = documents_of(block)
    for name in filter(None, block.marks.get("with", "").split(",")):
        documents += _named(block, name.strip())
    if not any(document.body.get("kind") == "Node" for document in documents):
        documents += read_text(NODES, "three nodes")
    return documents


def configuration_of(block: Block) -> str | None:
    """The configuration that the block is tried under; None for the shipped one."""
    name = block.marks.get("conf")
    if name is None:
        return None
    return next(other.text for other in blocks(block.page) if other.marks.get("file") == name)


def documents_of(block: Block) -> list[Document]:
    """The block's own objects, or those that another operator makes of them."""
    if made := block.marks.get("made"):
        return read_paths([_MADE / made])
    return list(_with_pods(read_text(block.text, str(block))))


def pods_of(documents: Iterable[Document], scheduler_name: str) -> set[str]:
    """namespace/name of the pods among them, and of those that Volcano Jobs make, that this scheduler has to place.

    Pods that have a node already are not among them.
    """
    found = set()
    for document in documents:
        body = document.body
        metadata, spec = body.get("metadata", {}), body.get("spec", {})
        key = f"{metadata.get('namespace', 'default')}/{metadata.get('name')}"
        if body.get("kind") == "Pod" and spec.get("schedulerName") == scheduler_name:
            if "nodeName" not in spec:
                found.add(key)
        elif _is_volcano_job(body) and spec.get("schedulerName", scheduler_name) == scheduler_name:
            found |= {f"{key}-{task['name']}-{index}" for task in spec["tasks"] for index in range(task["replicas"])}
    return found


def _named(block: Block, name: str) -> list[Document]:
    """A block of the same page that is kept in a file of that name, or a file of the project."""
    for other in blocks(block.page):
        if other.marks.get("file") == name:
            return documents_of(other)
    return list(_with_pods(read_paths([PROJECT / name])))


def _with_pods(documents: Iterable[Document]) -> Iterator[Document]:
    for document in documents:
        yield document
        kind = document.body.get("kind", "")
        if kind in _WORKLOADS and not _is_volcano_job(document.body):
            for body in _made_by(document.body, *_WORKLOADS[kind]):
                yield Document(document.source, document.number, body)


def _is_volcano_job(body: Manifest) -> bool:
    return (body.get("apiVersion"), body.get("kind")) == ("batch.volcano.sh/v1alpha1", "Job")


def _made_by(workload: Manifest, api_version: str, kind: str, count: str) -> Iterator[Manifest]:
    metadata, spec = workload["metadata"], workload["spec"]
    namespace = metadata.get("namespace", "default")
    owner = {"apiVersion": api_version, "kind": kind, "name": metadata["name"], "uid": f"uid-{metadata['name']}"}
    if kind != workload["kind"]:
        # The Deployment controller hands annotations down.
        handed = {"name": owner["name"], "namespace": namespace, "uid": owner["uid"]}
        handed["annotations"] = metadata.get("annotations", {})
        yield {"kind": kind, "metadata": handed, "spec": {"replicas": spec.get(count, 1)}}
    for number in range(spec.get(count, 1)):
        body = {"kind": "Pod", **copy.deepcopy(spec["template"])}
        made = body.setdefault("metadata", {})
        made |= {"name": f"{metadata['name']}-{number}", "namespace": namespace}
        made["ownerReferences"] = [{**owner, "controller": True}]
        yield body
