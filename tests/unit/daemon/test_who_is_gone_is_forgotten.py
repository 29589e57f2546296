"""What was told of pods and PodGroups, and written to them, is forgotten when they are deleted."""

from __future__ import annotations

import pytest

from tests.support.sessions import node
from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import ApiObject, ObjectMeta, Pod, PodGroup
from volcano_py.daemon.deletion_forwarder import DeletionForwarder

META = ObjectMeta(namespace="ns", name="a", uid="u")


@pytest.mark.parametrize(("kind", "obj"), [("Pod", Pod(metadata=META)), ("PodGroup", PodGroup(metadata=META))])
def test_who_is_deleted_is_forgotten_as_events_name_it(kind: str, obj: ApiObject) -> None:
    gone: list[ObjectRef] = []
    sink = DeletionForwarder(gone.append)
    sink.upsert(kind, obj)
    sink.replace(kind, [obj])
    assert gone == []
    sink.delete(kind, obj)
    assert gone == [ObjectRef(kind, "ns", "a", "u")]


def test_others_are_few() -> None:
    gone: list[ObjectRef] = []
    DeletionForwarder(gone.append).delete("Node", node("n"))
    assert gone == []
