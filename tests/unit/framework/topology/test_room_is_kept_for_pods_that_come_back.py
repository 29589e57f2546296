"""Which pods of sub-groups are to come back, and for how many of them there is room."""

from __future__ import annotations

from msgspec.structs import replace

from tests.support.sessions import Opened, node, open_session
from tests.unit.framework.topology.test_pods_of_a_job_tie_it_to_a_domain import TREE
from tests.unit.state.topology.test_pods_belong_to_sub_groups import PART, divided
from volcano_py.api.objects import Pod
from volcano_py.framework.topology.coming_back import deprived, missing
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.network_topology import NetworkTopologyAware
from volcano_py.plugins.predicates import Predicates

RACKS = [{"name": "p", "matchLabelKeys": [PART], "subGroupSize": 3, "networkTopology": {"highestTierName": "rack"}}]


def opened(parts: list[str], running_on: list[str], *, phases: dict[str, str] | None = None) -> Opened:
    """Racks of two nodes with room for two pods each; `phases` of pods that have ended."""
    objects = divided(parts, RACKS, running_on, cpu="2", min_member=1)
    ended = [
        replace(each, status=replace(each.status, phase=(phases or {})[each.metadata.name]))
        if isinstance(each, Pod) and each.metadata.name in (phases or {})
        else each
        for each in objects
    ]
    nodes = [node(name, cpu="4") for name in ("a1", "a2", "b1", "b2")]
    return open_session(*nodes, *TREE, *ended, tiers=[[Gang, Predicates, NetworkTopologyAware]])


def lacking(cluster: Opened) -> list[tuple[str, int, int]]:
    return [(each.name, each.count, each.room) for each in missing(cluster.ssn, cluster.job("train"))]


def test_a_sub_group_with_places_lacks_what_it_has_fewer_than_its_size() -> None:
    assert lacking(opened(["0", "1", "1"], ["a1"])) == [("p 0", 2, 2)]


def test_its_pods_that_wait_are_among_them() -> None:
    assert lacking(opened(["0", "0"], ["a1"])) == [("p 0", 2, 2)]


def test_a_complete_sub_group_and_one_without_places_lack_nothing() -> None:
    assert lacking(opened(["0", "0", "0", "1"], ["a1", "a1", "a2"])) == []


def test_pods_that_have_ended_do_not_come_back() -> None:
    phases = {"train-1": "Failed", "train-2": "Succeeded"}
    assert lacking(opened(["0", "0", "0"], ["a1", "a1", "a2"], phases=phases)) == []


def test_room_is_counted_where_they_may_go() -> None:
    """Its rack has four places, two of which others have."""
    cluster = opened(["0", "1", "1"], ["a1", "a1", "a2"])
    assert lacking(cluster) == [("p 0", 2, 1), ("p 1", 1, 1)]


def test_what_takes_their_room_deprives_them_and_nothing_else_does() -> None:
    cluster = opened(["0", "0", "1", "1"], ["a1", "a1"])
    before = missing(cluster.ssn, cluster.job("train"))
    cluster.place("train", {"train-2": "b1"})
    assert deprived(cluster.ssn, before) == []
    cluster.place("train", {"train-3": "a2"})
    assert deprived(cluster.ssn, before) == []
    assert [each.name for each in before] == ["p 0"]


def test_places_that_are_taken_one_after_the_other_run_out() -> None:
    cluster = opened(["0", "1", "1"], ["a1"])
    before = missing(cluster.ssn, cluster.job("train"))
    cluster.place("train", {"train-1": "a2"})
    assert deprived(cluster.ssn, before) == []
    cluster.place("train", {"train-2": "a2"})
    assert [each.name for each in deprived(cluster.ssn, before)] == ["p 0"]
