"""The plugin that chooses devices says on which nodes they stand in for a resource; a failing one spoils nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tests.support.placement.devices import device_class, resource_slice
from tests.support.placement.node_answers import class_of
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.devices.stand_ins import StandIns, offered_in
from volcano_py.framework.plugin import Plugin
from volcano_py.state.devices.needs import Ask

RESOURCE = "example.com/gpu"


class Chooser(Plugin):
    """All nodes have one device of their own, and two in common."""

    name = "chooser"

    def chooses_devices(self) -> bool:
        return True

    def stand_ins(self, cluster: ClusterCopy, asks: Mapping[int, Ask]) -> Mapping[int, StandIns]:
        return {dim: StandIns(np.ones(len(cluster.nodes.nodes), dtype=np.int64), 2) for dim in asks}


class Empty(Chooser):
    """There are none, and a pool that does not count."""

    name = "empty"
    left_out: ClassVar[tuple[str, ...]] = ("pool n1 is incomplete",)

    def stand_ins(self, cluster: ClusterCopy, asks: Mapping[int, Ask]) -> Mapping[int, StandIns]:
        none = np.zeros(len(cluster.nodes.nodes), dtype=np.int64)
        return {dim: StandIns(none, left_out=self.left_out) for dim in asks}


class Faultless(Empty):
    left_out = ()


class Broken(Chooser):
    name = "broken"

    def stand_ins(self, cluster: ClusterCopy, asks: Mapping[int, Ask]) -> Mapping[int, StandIns]:
        return dict.fromkeys(asks, StandIns(np.ones(99, dtype=np.int64)[:0], 2))


class Idle(Chooser):
    name = "idle"

    def chooses_devices(self) -> bool:
        return False


def session(plugin: type[Plugin], *more: Any, sound: bool = True) -> Opened:
    nodes = [node("n1", devices={RESOURCE: "5"}), node("n2"), node("n3")]
    waiting = pod("p", group="g", devices={RESOURCE: "1"})
    offer, slices = device_class(extended=RESOURCE), resource_slice("s", "d0", on="n2")
    return open_session(offer, slices, nodes, pod_group("g"), waiting, *more, tiers=[[plugin]], sound=sound)


def amounts(opened: Opened) -> tuple[list[int], int, int]:
    """Of each node, of all together, and what queues can share."""
    dim = opened.ssn.axis.names.index(RESOURCE)
    ssn = opened.ssn
    rows = [ssn.nodes.rows[name] for name in ("n1", "n2", "n3")]
    return ssn.ledger.nodes.allocatable[rows, dim].tolist(), int(ssn.total[dim]), int(ssn.available[dim])


def test_nodes_without_the_resource_have_devices_for_it_and_common_ones_count_once() -> None:
    assert amounts(session(Chooser)) == ([5, 3, 3], 9, 9)


def test_what_others_than_queues_hold_is_not_shared() -> None:
    other = pod("other", on="n2", scheduler="default-scheduler", devices={RESOURCE: "1"})
    assert amounts(session(Chooser, other)) == ([5, 3, 3], 9, 8)


def refusal(opened: Opened) -> str:
    return opened.ssn.placer.misfit(class_of(opened, "big")).refusal.message


def test_where_no_node_has_the_resource_the_message_names_the_class_and_what_is_left_out() -> None:
    big = pod("big", group="g", devices={RESOURCE: "9"})
    opened = open_session(device_class(extended=RESOURCE), node("n1"), pod_group("g"), big, tiers=[[Empty]])
    said = "no node offers example.com/gpu, and none has devices of DeviceClass gpu, which offers it: check"
    assert said in refusal(opened)
    assert "or remove the request. pool n1 is incomplete." in refusal(opened)
    assert "has 5 example.com/gpu even when empty" in refusal(session(Empty, big))
    assert "no node offers example.com/gpu: remove the request" in refusal(
        open_session(device_class(extended=RESOURCE), node("n1"), pod_group("g"), big, tiers=[[Idle]])
    )


def test_another_reason_why_devices_are_left_out_is_news() -> None:
    assert session(Empty).ssn.offered == session(Empty).ssn.offered
    assert session(Empty).ssn.offered != session(Faultless).ssn.offered


def test_a_plugin_that_fails_or_chooses_no_devices_changes_nothing() -> None:
    broken = session(Broken, sound=False)
    for opened in (broken, session(Idle)):
        assert amounts(opened) == ([5, 0, 0], 5, 5)
    assert broken.ssn.dispatch.failures.counts == {"broken": 1}


def test_what_was_found_a_moment_ago_does_for_tables_that_have_changed() -> None:
    found = {
        RESOURCE: StandIns(np.array([2, 2], dtype=np.int64), 1),
        "unknown": StandIns(np.array([9], dtype=np.int64)),
    }
    ssn = session(Idle).ssn
    dim = ssn.axis.names.index(RESOURCE)
    has = offered_in(ssn.ledger, found)
    assert has.allocatable[:3, dim].tolist() == [5, 3, 0], "the third node is new"
    assert has.counted_again([0, 1])[dim] == 0
    assert ssn.ledger.nodes.allocatable[:3, dim].tolist() == [5, 0, 0]


def test_what_nodes_have_in_common_counts_once_for_those_that_are_asked_about() -> None:
    ssn = session(Idle).ssn
    dim = ssn.axis.names.index(RESOURCE)
    has = offered_in(ssn.ledger, {RESOURCE: StandIns(np.array([0, 2, 1], dtype=np.int64), 4)})
    assert has.allocatable[:3, dim].tolist() == [5, 6, 5]
    assert has.total([1, 2])[dim] == 2 + 1 + 4
    assert has.total([1])[dim] == 2 + 4, "where the other node is cordoned"
    assert has.idle([1], ssn.ledger.nodes.used)[dim] == 2 + 4
    assert has.total([])[dim] == has.total([0])[dim] - 5 == 0
