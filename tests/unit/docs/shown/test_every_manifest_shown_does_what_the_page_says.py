"""Blocks of YAML that are Kubernetes objects: they are what the API takes, and their pods are placed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.unit.docs.clusters import cluster_of, configuration_of, documents_of, pods_of, simulate
from tests.unit.docs.pages import PROJECT, Block, all_blocks, yaml_documents
from volcano_py.admission.amounts import may_be_overcommitted
from volcano_py.api.names import DEFAULT_SCHEDULER_NAME
from volcano_py.api.reasons import Reason
from volcano_py.framework.registry import Registry

# Kinds that no pod comes of; whoever shows another one says in clusters.py what happens to it.
_OTHER_KINDS: Final = {
    "ConfigMap",
    "DeviceClass",
    "HyperNode",
    "CronJob",  # what Jobs they make: test_cron_jobs_and_flows_shown_work.py
    "JobFlow",
    "JobTemplate",
    "Kustomization",
    "Namespace",
    "Node",
    "NodeMetrics",
    "NodeShard",
    "Numatopology",
    "PersistentVolume",
    "PodGroup",
    "PriorityClass",
    "Queue",
    "ResourceQuota",
    "Role",
    "RoleBinding",
    "ServiceAccount",
    "StorageClass",
}


def is_manifest(block: Block) -> bool:
    return "rejected" not in block.marks and all(
        isinstance(document, dict) and "kind" in document for document in block.documents
    )


MANIFESTS = [block for block in all_blocks("yaml") if is_manifest(block)]
EACH = pytest.mark.parametrize("block", MANIFESTS, ids=str)


@cache
def schemas() -> dict[str, Any]:
    """API version and kind → OpenAPI schema of our CRDs."""
    found = {}
    for path in (PROJECT / "crds").glob("*_*.yaml"):
        spec = yaml.safe_load(path.read_text())["spec"]
        (version,) = spec["versions"]
        found[f"{spec['group']}/{version['name']} {spec['names']['kind']}"] = version["schema"]["openAPIV3Schema"]
    return found


def faults(value: Any, schema: dict[str, Any], path: str) -> list[str]:
    """Where a value is not what a structural schema allows: unknown fields, other types, values outside of an enum."""
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string"):
        return []
    match schema.get("type"):
        case "object" if isinstance(value, dict):
            fields, others = schema.get("properties", {}), schema.get("additionalProperties")
            if path.endswith(".metadata"):
                return []
            found = []
            for name, inner in value.items():
                if name not in fields and not isinstance(others, dict):
                    found.append(f"{path}.{name} is no field")
                else:
                    found += faults(inner, fields.get(name, others), f"{path}.{name}")
            return found
        case "array" if isinstance(value, list):
            return [fault for i, item in enumerate(value) for fault in faults(item, schema["items"], f"{path}[{i}]")]
        case kind:
            types = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}
            if not isinstance(value, types[str(kind)]):
                return [f"{path} is {value!r}, which is no {kind}"]
            return [] if value in schema.get("enum", [value]) else [f"{path} is {value!r}, not among {schema['enum']}"]


@EACH
def test_our_kinds_have_the_fields_that_the_api_knows(block: Block) -> None:
    known = schemas()
    for document in documents_of(block):
        version, kind = document.body.get("apiVersion", ""), document.body["kind"]
        if ".volcano.sh/" in version:
            assert not faults(document.body, known[f"{version} {kind}"], kind)


def test_a_field_that_is_invalid_is_found() -> None:
    group = {"kind": "PodGroup", "spec": {"minmember": 1, "minMember": "1"}}
    assert faults(group, schemas()["scheduling.volcano.sh/v1beta1 PodGroup"], "PodGroup") == [
        "PodGroup.spec.minmember is no field",
        "PodGroup.spec.minMember is '1', which is no integer",
    ]


@EACH
def test_its_pods_are_placed_or_wait_for_the_reported_reason(block: Block, registry: Registry) -> None:
    documents = documents_of(block)
    kinds = {document.body["kind"] for document in documents if "nodeName" not in document.body.get("spec", {})}
    name = block.marks.get("scheduler", DEFAULT_SCHEDULER_NAME)
    pods = pods_of(documents, name)
    assert pods or kinds <= _OTHER_KINDS, f"{block}: kinds {kinds} without a pod for this scheduler"
    result = simulate(cluster_of(block), registry, configuration_of(block), scheduler_name=name)
    reported = {pod: message for pod, message in result.unschedulable.items() if pod in pods}
    waits = block.marks.get("waits")
    assert pods <= result.binds.keys() | reported.keys()
    assert bool(reported) == (waits is not None), reported
    assert all(message.partition(":")[0] in set(Reason) for message in reported.values()), reported
    if waits not in (None, "some"):
        assert reported.keys() == pods
        assert any(message.startswith(f"{waits}:") for message in reported.values()), reported


@EACH
def test_kustomizations_refer_to_what_there_is(block: Block) -> None:
    """Paths begin with the folder of a checkout, `volcano-py/`."""
    for document in block.documents:
        if document["kind"] == "Kustomization":
            for resource in document["resources"]:
                root, _, rest = resource.partition("/")
                assert root == "volcano-py"
                assert Path(PROJECT / rest / "kustomization.yaml").is_file()


def test_every_block_of_yaml_is_tried() -> None:
    """A block is objects or a configuration; a fragment of one could not be tried."""
    for block in all_blocks("yaml"):
        for document in block.documents if "rejected" not in block.marks else ():
            known = {"kind", "actions"} & document.keys() if isinstance(document, dict) else None
            assert known, f"{block}: what is it?"
    assert not all_blocks("yml"), "write yaml"


def amounts_of(found: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The requests and the limits of all containers in an object, at any depth."""
    if isinstance(found, dict):
        if isinstance(found.get("requests"), dict):
            yield found["requests"], found.get("limits") or {}
        for inner in found.values():
            yield from amounts_of(inner)
    elif isinstance(found, list):
        for inner in found:
            yield from amounts_of(inner)


SHOWN: Final = [(str(block), block.documents) for block in MANIFESTS] + [
    (str(path.relative_to(PROJECT)), yaml_documents(path.read_text(encoding="utf-8")))
    for path in sorted((PROJECT / "examples").rglob("*.yaml"))
]


@pytest.mark.parametrize(("source", "documents"), SHOWN, ids=[source for source, _ in SHOWN])
def test_devices_have_the_limit_that_the_api_server_requires(source: str, documents: list[Any]) -> None:
    for requests, limits in amounts_of(documents):
        devices = {name: amount for name, amount in requests.items() if not may_be_overcommitted(name)}
        assert devices == {name: limits.get(name) for name in devices}, source
