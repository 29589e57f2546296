"""The place of a workload in its queue, and what decides it."""

from __future__ import annotations

from tests.unit.explain.causes import explained, gang, node, queue, running
from volcano_py.cluster.manifests import EPOCH


def test_a_position_has_priority_age_and_what_is_ahead() -> None:
    """Both wait for a full node; the other one is more important, and its queue comes first."""
    ahead = gang(1, "4", group="queue: q, priorityClassName: high", pod="priority: 5").replace("train", "ahead")
    high = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 5
---"""
    found = explained(node() + running("8") + queue("q", "priority: 3") + high + ahead + gang(1, "4", group="queue: q"))
    position = found.position
    assert position is not None
    assert (position.place, position.waiting, position.priority) == (2, 2, 0)
    assert (position.queue, position.queue_priority, int(position.created)) == ("q", 3, int(EPOCH.timestamp()))
    assert [(each.name, each.priority, each.pods) for each in position.ahead] == [("default/ahead", 5, 1)]
    assert position.before["cpu"] == 4000
