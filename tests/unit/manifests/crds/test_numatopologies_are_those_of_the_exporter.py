"""The definition of Numatopologies takes every field that Volcano's resource-exporter writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Node = dict[str, Any]
Find = Callable[[str, str], Node]


@pytest.fixture
def definition(named: Find) -> Node:
    return named("CustomResourceDefinition", "numatopologies.nodeinfo.volcano.sh")


def at(root: Node, path: str) -> Node:
    """`*` is any key of a map, `[]` any item of a list."""
    for part in path.split("."):
        inside = {"*": "additionalProperties", "[]": "items"}.get(part)
        root = root["properties"][part] if inside is None else root[inside]
    return root


def test_its_names_are_those_that_clients_of_volcano_use(definition: Node) -> None:
    spec = definition["spec"]
    assert (spec["group"], spec["scope"]) == ("nodeinfo.volcano.sh", "Cluster")
    assert spec["names"] == {
        "kind": "Numatopology",
        "listKind": "NumatopologyList",
        "plural": "numatopologies",
        "singular": "numatopology",
        "shortNames": ["numatopo"],
    }
    (version,) = spec["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha1", True, True)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("spec.policies.*", "string"),
        ("spec.resReserved.*", "string"),
        ("spec.numares.*.allocatable", "string"),
        ("spec.numares.*.capacity", "integer"),
        ("spec.cpuDetail.*.numa", "integer"),
        ("spec.cpuDetail.*.socket", "integer"),
        ("spec.cpuDetail.*.core", "integer"),
        ("spec.podAllocations.[].uid", "string"),
        ("spec.podAllocations.[].name", "string"),
        ("spec.podAllocations.[].namespace", "string"),
        ("spec.podAllocations.[].containerAllocations.[].name", "string"),
        ("spec.podAllocations.[].containerAllocations.[].allocations.*", "string"),
    ],
)
def test_every_field_is_declared_with_its_type_and_explained(definition: Node, path: str, kind: str) -> None:
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = at(schema, path)
    assert found["type"] == kind
    assert found["description"].endswith(".")


def test_nothing_is_required_as_go_clients_leave_zeros_out(definition: Node) -> None:
    assert "required" not in str(definition["spec"]["versions"][0]["schema"])
