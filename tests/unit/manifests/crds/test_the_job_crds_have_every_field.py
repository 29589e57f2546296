"""The CRDs of Jobs and Commands: every field that users of Volcano know, explained; names and columns they see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.unit.manifests.crds.schemas import Find, Node, nodes, schema
from volcano_py.api.objects import ApiObject
from volcano_py.jobs.model import FINISHED, JobAction, JobEvent, JobPhase, VolcanoJob
from volcano_py.operator.queues.states import QueueAction

# Taken as they are: pod templates and claims have the API server's own schema.
AS_THEY_ARE = {"spec.tasks[].template", "spec.volumes[].volumeClaim"}


def of(named: Find, name: str) -> Node:
    """The schema of the objects of a definition."""
    return schema(named("CustomResourceDefinition", name))


@pytest.mark.parametrize("name", ["jobs.batch.volcano.sh", "commands.bus.volcano.sh"])
def test_every_node_has_a_type_and_an_explanation(named: Find, name: str) -> None:
    for path, node in nodes(of(named, name)):
        assert node["description"].endswith("."), path
        assert node["type"] in {"object", "array", "string", "integer", "boolean"}, path
        open_ = bool(node.get("x-kubernetes-preserve-unknown-fields"))
        assert open_ == (path in AS_THEY_ARE), path
        inner = {"properties", "additionalProperties"} & set(node)
        assert (node["type"] == "object" and not open_) == bool(inner), path
        for rule in node.get("x-kubernetes-validations", []):
            assert len(rule["message"]) > 30, path


def fields_of(of: Any, path: str = "") -> Iterator[str]:
    """Paths of all fields of a struct, as they are on the wire."""
    for field in msgspec.structs.fields(of):
        here = f"{path}.{field.encode_name}" if path else field.encode_name
        for part in getattr(field.type, "__args__", ()) or (field.type,):
            if isinstance(part, type) and issubclass(part, ApiObject):
                many = getattr(field.type, "__origin__", None)
                yield from fields_of(part, here + ("[]" if many is list else "{}" if many is dict else ""))
                break
        else:
            yield here


def test_everything_that_the_controller_reads_is_declared(named: Find) -> None:
    """A field that is not declared is thrown away by the API server."""
    declared = {path for path, _ in nodes(of(named, "jobs.batch.volcano.sh"))}
    read = {path for path in fields_of(VolcanoJob) if not path.startswith("metadata")}
    assert len(read) > 45
    assert read <= declared


def enum(root: Node, path: str) -> set[str]:
    return set(dict(nodes(root))[path]["enum"])


def test_phases_events_and_actions_are_those_the_controller_knows(named: Find) -> None:
    root = of(named, "jobs.batch.volcano.sh")
    assert enum(root, "status.state.phase") == set(JobPhase)
    for policies in ("spec.policies[]", "spec.tasks[].policies[]"):
        assert enum(root, f"{policies}.event") == {*JobEvent, "", "PodRunning", "OutOfSync"}
        assert enum(root, f"{policies}.events[]") == enum(root, f"{policies}.event")
        assert enum(root, f"{policies}.action") == {*JobAction, "", "EnqueueJob"}
    assert set(JobPhase) > FINISHED


def test_commands_ask_for_actions_that_the_controllers_know(named: Find) -> None:
    """A Command is gone once it is read: one that means nothing has to be refused at the door."""
    rules = {
        kind: set(re.findall(r"'(\w+)'", rule["rule"].partition("self.action in")[2]))
        for rule in of(named, "commands.bus.volcano.sh")["x-kubernetes-validations"]
        for kind in re.findall(r"self.target.kind != '(\w+)'", rule["rule"])
    }
    assert rules == {"Job": {*JobAction, "EnqueueJob"}, "Queue": {*QueueAction, "SyncQueue"}}


def test_names_and_columns(named: Find) -> None:
    spec = named("CustomResourceDefinition", "jobs.batch.volcano.sh")["spec"]
    assert (spec["names"]["shortNames"], spec["scope"]) == (["vcjob", "vj"], "Namespaced")
    (version,) = spec["versions"]
    assert version["subresources"] == {"status": {}}
    columns = {
        column["name"]: (column["jsonPath"], column.get("priority", 0))
        for column in version["additionalPrinterColumns"]
    }
    assert columns == {
        "STATUS": (".status.state.phase", 0),
        "minAvailable": (".status.minAvailable", 0),
        "RUNNINGS": (".status.running", 0),
        "AGE": (".metadata.creationTimestamp", 0),
        "QUEUE": (".spec.queue", 1),
    }
