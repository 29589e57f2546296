"""Deleted pods and PodGroups are passed on, so that the writers forget what they wrote to them."""

from __future__ import annotations

import pytest

from tests.support.sessions import node
from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import ApiObject, ObjectMeta, Pod, PodGroup
from volcano_py.daemon.deletion_forwarder import DeletionForwarder

META = ObjectMeta(namespace="ns", name="a", uid="u")


@pytest.mark.parametrize(("kind", "obj"), [("Pod", Pod(metadata=META)), ("PodGroup", PodGroup(metadata=META))])
def test_a_deleted_object_is_forgotten_under_the_name_that_events_use(kind: str, obj: ApiObject) -> None:
    gone: list[ObjectRef] = []
    sink = DeletionForwarder(gone.append)
    sink.upsert(kind, obj)
    sink.replace(kind, [obj])
    assert gone == []
    sink.delete(kind, obj)
    assert gone == [ObjectRef(kind, "ns", "a", "u")]


def test_other_kinds_are_not_passed_on() -> None:
    gone: list[ObjectRef] = []
    DeletionForwarder(gone.append).delete("Node", node("n"))
    assert gone == []
