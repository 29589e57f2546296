"""What is read of Numatopologies: layouts that equal machines share, free CPUs, and what cannot be read."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.placement.numa import pinned, places, topology
from tests.support.sessions import node
from volcano_py.api.numa.cpu_lists import read_cpus, write_cpus
from volcano_py.api.numa.topologies import NUMATOPOLOGY, ContainerAllocation, CpuPlace, PodAllocation
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.numa.info import Shown, read_topology
from volcano_py.state.numa.layout import layout_of, take
from volcano_py.state.table.change import Change
from volcano_py.state.table.table import NOWHERE


@pytest.mark.parametrize(
    ("free", "count", "taken"),
    [
        pytest.param("0-15", 8, "0-7", id="a whole socket"),
        pytest.param("1-15", 8, "8-15", id="the socket that is whole"),
        pytest.param("0-15", 4, "0-3", id="whole cores of the first socket"),
        pytest.param("0-15", 10, "0-9", id="a socket, then cores"),
        pytest.param("0-3,8-15", 4, "0-3", id="cores of the socket that has fewer"),
        pytest.param("0-15", 3, "0-2", id="a core, then a thread of the same socket"),
        pytest.param("1,4-7,8-15", 1, "1", id="a thread of a core that is used already"),
        pytest.param("0-2,12", 3, "0-2", id="a thread of a socket that is used already"),
        pytest.param("1,3,9", 5, "1,3,9", id="all that there are"),
        pytest.param("0-15", 0, "", id="none"),
    ],
)
def test_cpus_are_taken_by_sockets_then_cores_then_threads(free: str, count: int, taken: str) -> None:
    layout = layout_of(tuple(places(8, 8, threads=2)), 0)
    assert write_cpus(take(layout, read_cpus(free), count)) == taken


def test_machines_that_are_built_alike_share_a_layout() -> None:
    one, other = (read_topology(topology(name, places(4, 4), reserved="500m")) for name in ("n1", "n2"))
    assert one.layout is other.layout
    assert one.layout is not None
    assert (one.layout.ids, one.layout.sizes) == ((0, 1), (4, 4))
    assert write_cpus(one.layout.reserved) == "0", "a part of a CPU is a whole one"
    assert write_cpus(one.free) == "1-7"
    assert one.given == 0


CONTAINER = ContainerAllocation(name="c", allocations={"cpu": "7-5"})


def with_spec(**fields: Any) -> Any:
    made = topology("n1", places(2, 2), shown={"p": "0"})
    return replace(made, spec=replace(made.spec, **fields))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        pytest.param(
            topology("n1", places(2), "0-x"),
            "spec.numares.cpu.allocatable is '0-x': 'x' is not a CPU from 0 to 4095; write a list such as 0-3,8; until "
            "then it counts as empty",
            id="a list",
        ),
        pytest.param(
            with_spec(cpu_detail={"zero": CpuPlace()}),
            "spec.cpuDetail is 'zero': CPUs are numbers from 0 to 4095; until then no pod with a NUMA policy is placed "
            "there",
            id="the number of a CPU",
        ),
        pytest.param(
            with_spec(cpu_detail={str(cpu): CpuPlace(numa=cpu) for cpu in range(9)}),
            "spec.cpuDetail is '9 NUMA nodes': at most 8 NUMA nodes are evaluated; until then no pod with a NUMA "
            "policy is placed there",
            id="too many NUMA nodes",
        ),
        pytest.param(
            with_spec(res_reserved={"cpu": "much"}),
            "spec.resReserved.cpu is 'much': write an amount such as 500m; until then no CPU counts as reserved",
            id="an amount",
        ),
        pytest.param(
            with_spec(pod_allocations=[PodAllocation(uid="u", container_allocations=[CONTAINER])]),
            "spec.podAllocations of pod u is '7-5': range 7-5 goes down; write a list such as 0-3,8; until then it "
            "counts as empty",
            id="the CPUs of a pod",
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_the_fix(made: Any, message: str) -> None:
    assert [each.message for each in read_topology(made).unreadable] == [message]


def test_what_is_written_as_it_should_be_has_no_faults() -> None:
    assert not read_topology(topology("n1", places(2), shown={"p": "0"})).unreadable


def test_pods_that_are_listed_without_cpus_are_left_out() -> None:
    """They may have ended: nothing is awaited of them."""
    made = topology("n1", places(2), shown={"ended": "", "here": "0"})
    assert read_topology(made).shown == (Shown("", "team/here", 1),)


def test_pods_of_an_object_are_found_by_uid_or_name_on_its_node_alone() -> None:
    state = ClusterState()
    for name in ("n1", "n2"):
        state.upsert("Node", node(name))
    for pod in (pinned("here", 1, on="n1"), pinned("uid", 1, on="n1"), pinned("elsewhere", 1, on="n2")):
        state.upsert("Pod", pod)
    shown = {"here": "0", "elsewhere": "1", "gone": "2"}
    made = topology("n1", places(8), "4-7", shown=shown)
    one = ContainerAllocation(allocations={"cpu": "3"})
    by_uid = PodAllocation(uid="pod-team-uid", container_allocations=[one])
    made = replace(made, spec=replace(made.spec, pod_allocations=[*made.spec.pod_allocations, by_uid]))
    state.upsert(NUMATOPOLOGY, made)
    picture = state.snapshot(0.0).numa
    rows = {info.ref.name: row for row, info in enumerate(state.snapshot(0.0).tasks) if info is not None}
    assert picture.holders == {"n1": (rows["here"], NOWHERE, NOWHERE, rows["uid"])}
    assert picture.has_any_left
    state.delete(NUMATOPOLOGY, made)
    assert not state.snapshot(0.0).numa.nodes


def test_a_change_of_an_object_starts_a_cycle_and_an_echo_does_not() -> None:
    changes: list[Change] = []
    state = ClusterState(on_change=changes.append)
    made = topology("n1", places(4))
    for each in (made, made, topology("n1", places(4), "0-1")):
        state.upsert(NUMATOPOLOGY, each)
    assert changes == [Change.DECISION, Change.DECISION]
