"""Memory is flat under churn: rows, classes, slots and columns are used again, and no user can claim them all."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

from tests.support.sessions import gang, node, pod, pod_group, queue
from tests.unit.state.watched import Watched, with_meta, with_spec
from volcano_py.api.bounds import RESOURCES
from volcano_py.api.objects import Container, Node, NodeStatus, ObjectMeta, Pod, ResourceList, ResourceRequirements
from volcano_py.api.reasons import Reason
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import ResourceAxis, TooManyResourcesError
from volcano_py.state.table.columns import TaskTable
from volcano_py.state.table.units import canonical, is_counted

ONE_TOO_MANY = (
    "resource 'example.com/last': the cluster already uses 64 resource names and at most 64 are counted; "
    "use an existing name"
)


def device(name: str) -> str:
    return f"example.com/{name}"


def asking_for(*resources: str, name: str = "a") -> Pod:
    requests: ResourceList = dict.fromkeys(resources, "1")
    changed: Pod = with_spec(pod(name), containers=[Container(resources=ResourceRequirements(requests=requests))])
    return changed


def offering(name: str, *resources: str) -> Node:
    allocatable: ResourceList = {"cpu": "8", "memory": "8Gi", "pods": "10", **dict.fromkeys(resources, "2")}
    return Node(metadata=ObjectMeta(name=name, uid=name), status=NodeStatus(allocatable=allocatable))


# -- the axis ------------------------------------------------------------------------------------------------------


def test_the_axis_grows_at_its_end_and_every_table_with_it() -> None:
    watched = Watched(offering("n1"), pod_group("g", min_resources={"cpu": "2"}), pod("a", group="g", cpu="1", on="n1"))
    before = watched.snapshot().ledger.axis.names
    watched.put(offering("n2", device("b"), device("a")))
    snapshot = watched.snapshot()
    assert snapshot.ledger.axis.names == (*before, device("a"), device("b"))
    assert watched.on_node("n1") == {"cpu": 1000}
    assert watched.on_node("n2", "allocatable")[device("b")] == 2
    assert snapshot.ledger.jobs.min_resources.shape[1] == len(snapshot.ledger.axis) == len(before) + 2
    assert {len(found.request) for found in snapshot.classes if found is not None} == {len(before) + 2}
    assert watched.state.drift() == 0


def test_every_kind_of_object_can_bring_a_resource() -> None:
    watched = Watched(
        asking_for(device("pod")),
        offering("n", device("node")),
        pod_group("g", min_resources={device("group"): "1"}),
        queue("q", capability={device("cap"): "1"}, deserved={device("des"): "1"}, guarantee={device("gua"): "1"}),
    )
    named = {name for name in watched.snapshot().ledger.axis.names if "/" in name}
    assert named == {device(name) for name in ("pod", "node", "group", "cap", "des", "gua")}


def test_a_queue_read_before_the_axis_grew_is_as_wide_as_the_snapshot() -> None:
    watched = Watched(queue("q", capability={"cpu": "4"}, deserved={"cpu": "2"}))
    watched.put(offering("n", device("a")))
    snapshot = watched.snapshot()
    info = snapshot.queues["q"]
    width = len(snapshot.ledger.axis)
    assert {len(info.capability), len(info.deserved), len(info.has_deserved), len(info.guarantee)} == {width}


def test_names_that_pods_invent_cannot_displace_resources_of_nodes() -> None:
    watched = Watched(*[asking_for(device(f"x{index}"), name=f"p{index}") for index in range(2 * RESOURCES.most)])
    assert len(watched.snapshot().ledger.axis) < RESOURCES.most
    watched.put(offering("n", device("gpu")))
    assert watched.on_node("n", "allocatable")[device("gpu")] == 2
    watched.put(asking_for(device("gpu"), name="real"))
    assert watched.class_of("real").problem is None


def test_nor_what_was_asked_for_before_the_node_was_known() -> None:
    """Pods may be listed before nodes. What runs there has to count, or others get its device, too."""
    invented = [asking_for(device(f"x{index}"), name=f"p{index}") for index in range(2 * RESOURCES.most)]
    runs = with_spec(asking_for(device("gpu"), name="runs"), node_name="n")
    group = pod_group("g", min_resources={device("gpu"): "1"})
    watched = Watched(*invented, runs, asking_for(device("gpu"), name="waits"), group)
    assert watched.class_of("waits").problem is not None
    snapshot = watched.snapshot()
    assert snapshot.jobs[watched.job("g")].problem is not None  # type: ignore[union-attr]
    watched.put(offering("n", device("gpu")))
    assert watched.on_node("n")[device("gpu")] == 1
    assert watched.class_of("waits").problem is None
    snapshot = watched.snapshot()
    gpu = snapshot.ledger.axis.index(device("gpu"))
    assert snapshot.jobs[watched.job("g")].problem is None  # type: ignore[union-attr]
    assert watched.job_column("g", "min_resources")[gpu] == 1
    assert watched.state.drift() == 0
    watched.delete(runs)
    assert watched.on_node("n") == {}


def test_names_that_queues_list_cannot_displace_resources_of_nodes() -> None:
    watched = Watched(
        *[queue(f"q{index}", deserved={"cpu": "1", device(f"x{index}"): "1"}) for index in range(RESOURCES.most)]
    )
    watched.put(offering("n", device("gpu")))
    assert watched.on_node("n", "allocatable")[device("gpu")] == 2
    reported = watched.snapshot().queues[f"q{RESOURCES.most - 1}"].problems
    assert "at most 96 are counted" in " ".join(reported)


def test_a_pod_with_one_name_too_many_waits_and_is_reported() -> None:
    watched = Watched(*[asking_for(device(f"x{index}"), name=f"p{index}") for index in range(RESOURCES.most)])
    watched.put(asking_for(device("last"), name="last"))
    problem = watched.class_of("last").problem
    assert problem is not None
    assert (problem.reason, problem.message) == (Reason.INVALID_POD, ONE_TOO_MANY)


def test_a_group_with_one_name_too_many_waits_and_is_reported() -> None:
    watched = Watched(*[asking_for(device(f"x{index}"), name=f"p{index}") for index in range(RESOURCES.most)])
    watched.put(pod_group("g", min_resources={device("last"): "1"}))
    info = watched.snapshot().jobs[watched.job("g")]
    assert info is not None
    assert info.problem is not None
    assert (info.problem.reason, info.problem.message) == (Reason.INVALID_POD_GROUP, ONE_TOO_MANY)


def test_a_node_with_too_many_resources_is_counted_without_them() -> None:
    watched = Watched(offering("n", *[device(f"x{index}") for index in range(RESOURCES.most + 1)]))
    assert watched.existing() == {"n"}
    assert watched.on_node("n", "allocatable") == {"cpu": 8000, "memory": 8 * 2**30}


def test_a_full_axis_says_so() -> None:
    axis = ResourceAxis().with_names({device(f"x{index}"): 1 for index in range(RESOURCES.most - 3)})
    assert len(axis) == RESOURCES.most
    assert axis.with_names({device("x0"): 1}) is axis
    with pytest.raises(TooManyResourcesError, match="already uses 128 resource names"):
        axis.with_names({device("more"): 1})


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("cpu", True),
        ("memory", True),
        ("pods", True),
        ("ephemeral-storage", True),
        ("hugepages-2Mi", True),
        ("attachable-volumes-csi-x", True),
        ("nvidia.com/gpu", True),
        ("count/jobs.batch", False),
        ("requests.nvidia.com/gpu", False),
        ("limits.cpu", False),
        ("services", False),
    ],
)
def test_what_is_counted(name: str, counted: bool) -> None:
    assert is_counted(name) is counted


@pytest.mark.parametrize(
    ("name", "units", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 2**30, "1Gi"),
        ("memory", 1000, "1000"),
        ("hugepages-2Mi", 4 * 2**20, "4Mi"),
        ("nvidia.com/gpu", 8, "8"),
        ("pods", 0, "0"),
    ],
)
def test_amounts_are_written_as_kubernetes_writes_them(name: str, units: int, text: str) -> None:
    assert canonical(name, units) == text


# -- rows ----------------------------------------------------------------------------------------------------------


def churn(watched: Watched, rounds: int, first: int = 0) -> None:
    """Everything comes and goes under ever new names."""
    for index in range(first, first + rounds):
        namespace, name = f"ns{index}", f"g{index}"
        objects = [
            node(f"n{index}"),
            queue(f"q{index}"),
            *gang(
                name,
                pods=3,
                running_on=[f"n{index}"],
                namespace=namespace,
                queue=f"q{index}",
                cpu=f"{index % 7 + 1}m",
                role=f"role{index}",
            ),
        ]
        watched.put(objects)
        for each in objects:
            watched.delete(each)


def test_rows_slots_and_classes_are_used_again() -> None:
    watched = Watched(node("n"))
    churn(watched, 2)
    before = watched.snapshot()
    churn(watched, 200)
    after = watched.snapshot()
    for table in ("nodes", "tasks", "jobs", "classes"):
        assert getattr(after.ledger, table).size == getattr(before.ledger, table).size, table
    for names in ("tasks", "jobs", "job_keys", "nodes", "classes", "queue_names", "namespaces", "roles"):
        assert len(getattr(after, names)) == len(getattr(before, names)), names
    assert watched.state.drift() == 0


def test_memory_is_flat_under_churn() -> None:
    watched = Watched(node("n"))
    used: list[int] = []
    tracemalloc.start()
    try:
        for first in (0, 100, 200):
            churn(watched, 100, first)
            watched.quiet()
            gc.collect()
            used.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    grown = used[2] - used[1]
    assert grown < 4 * 1024, f"{grown} bytes for a hundred rounds of seven objects"


def test_a_slot_that_is_used_again_carries_nothing_over() -> None:
    watched = Watched(*gang("g", queue="q1", cpu="1", role="worker", namespace="one"), queue("q1"))
    for each in (*gang("g", queue="q1", namespace="one"), queue("q1")):
        watched.delete(each)
    watched.put(queue("q2"), *gang("h", queue="q2", cpu="1", role="driver"))
    snapshot = watched.snapshot()
    row = watched.job("h")
    assert snapshot.queue_names[snapshot.ledger.jobs.queue[row]] == "q2"
    assert snapshot.namespaces[snapshot.ledger.jobs.namespace[row]] == "team"
    assert snapshot.roles[snapshot.ledger.tasks.role[watched.row("h-0")]] == "driver"
    assert snapshot.queues["q2"].slot == snapshot.ledger.jobs.queue[row]


def test_groups_of_a_deleted_queue_find_it_again() -> None:
    watched = Watched(queue("q1"), pod_group("g", queue="q1"))
    watched.delete(queue("q1"))
    watched.put(queue("other"), queue("q1"))
    snapshot = watched.snapshot()
    assert snapshot.queues["q1"].slot == snapshot.ledger.jobs.queue[watched.job("g")]


def test_tables_grow_past_their_first_capacity() -> None:
    watched = Watched(node("n", cpu="1000", pods="1000"))
    watched.put(*[pod(f"p{index}", cpu="1", on="n") for index in range(500)])
    assert watched.on_node("n") == {"cpu": 500_000}
    assert watched.state.drift() == 0


def test_a_snapshot_is_not_moved_by_what_comes_later() -> None:
    watched = Watched(node("n"), pod("a", cpu="1", on="n"))
    snapshot = watched.snapshot()
    used = snapshot.ledger.nodes.used.copy()
    watched.put(pod("b", cpu="1", on="n"), with_meta(node("m"), labels={"a": "b"}))
    watched.delete(pod("a", cpu="1", on="n"))
    assert (snapshot.ledger.nodes.used == used).all()
    assert [info.ref.name for info in snapshot.tasks if info is not None] == ["a"]
    assert [info.name for info in snapshot.nodes] == ["n"]


def test_a_cycle_changes_its_own_columns_and_can_write_no_other() -> None:
    original = TaskTable(resources=3)
    row = original.new_row()
    written = original.change(row)
    written.node[row], written.created[row] = 4, 7.0

    copy = original.for_cycle()
    own = copy.change(row)
    own.node[row], own.status[row], own.task_class[row] = 5, TaskStatus.BINDING, 2
    with pytest.raises(ValueError, match="read-only"):
        own.created[row] = 8.0

    assert (original.node[row], original.status[row], original.task_class[row]) == (4, TaskStatus.FREE, 0)
    for name in TaskTable.columns:
        is_shared = np.shares_memory(getattr(copy, name), getattr(original, name))
        assert is_shared == (name in TaskTable.shared)


def test_columns_are_written_only_by_who_asks_for_the_rows() -> None:
    table = TaskTable(resources=3)
    row = table.new_row()
    with pytest.raises(ValueError, match="read-only"):
        table.node[row] = 4
    table.change(row).node[row] = 4
    assert table.node[row] == 4
