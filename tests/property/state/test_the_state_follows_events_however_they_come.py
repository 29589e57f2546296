"""ClusterState under events that come twice, late, or not at all until the next list: its sums are always those of its
pods, and after a list it is what a state is that has only ever seen that list. A copy for a cycle is the same whether
an earlier one was brought up to date for it or not.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from msgspec.structs import replace

from tests.property.clusters import QUEUES, a_group, a_node, a_pod, meta
from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import ApiObject, Pod, Queue
from volcano_py.cluster.manifests import EPOCH
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import NOWHERE, Table

KINDS = ("Node", "Queue", "PodGroup", "Pod")
NODES = ("n0", "n1", "n2")
GROUPS = ("g0", "g1")
NOW = EPOCH.timestamp()


def numbers(snapshot: Snapshot) -> dict[str, Any]:
    """All sums by the names of what they are about, and who stands where."""
    ledger, axis = snapshot.ledger, snapshot.ledger.axis
    nodes = {
        info.name: (
            bool(ledger.nodes.present[row]),
            int(ledger.nodes.tasks[row]),
            ledger.nodes.nonzero_used[row].tolist(),
            *(axis.amounts(getattr(ledger.nodes, column)[row]) for column in ("allocatable", "used", "releasing")),
        )
        for row, info in enumerate(snapshot.nodes)
        if info.name
    }
    jobs = {
        key: (
            bool(ledger.jobs.known[row]),
            ledger.jobs.counts[row].tolist(),
            axis.amounts(ledger.jobs.allocated[row]),
            int(ledger.jobs.min_member[row]),
            snapshot.queue_names[ledger.jobs.queue[row]] if ledger.jobs.known[row] else "",
            snapshot.namespaces[ledger.jobs.namespace[row]],
        )
        for row, key in enumerate(snapshot.job_keys)
        if key
    }
    tasks = {
        info.ref.uid: (
            TaskStatus(int(ledger.tasks.status[row])).name,
            snapshot.nodes[ledger.tasks.node[row]].name if ledger.tasks.node[row] >= 0 else "",
            snapshot.job_keys[ledger.tasks.job[row]] if ledger.tasks.job[row] >= 0 else "",
            axis.amounts(ledger.classes.request[ledger.tasks.task_class[row]]),
        )
        for row, info in enumerate(snapshot.tasks)
        if info is not None
    }
    classes = Counter(
        (tuple(axis.amounts(found.request).items()), int(ledger.classes.tasks[row]))
        for row, found in enumerate(snapshot.classes)
        if found is not None
    )
    return {"nodes": nodes, "jobs": jobs, "tasks": tasks, "classes": classes, "queues": sorted(snapshot.queues)}


def columns(ledger: Ledger) -> dict[str, Any]:
    """All columns of all tables."""
    tables: list[Table] = [ledger.nodes, ledger.tasks, ledger.jobs, ledger.queues, ledger.classes]
    return {
        f"{type(table).__name__}.{name}": getattr(table, name).tolist() for table in tables for name in table.columns
    }


class Events(RuleBasedStateMachine):
    """`truth` is what the API server has; the state hears of it as the rules will have it."""

    pods = Bundle("pods")
    pictures = Bundle("pictures")

    def __init__(self) -> None:
        super().__init__()
        self.state = ClusterState()
        self.truth: dict[str, dict[str, ApiObject]] = {kind: {} for kind in KINDS}
        self.born = 0
        self.handed: set[str] = set()
        self.used: Snapshot | None = None
        self.used_by_cycle: Ledger | None = None

    # -- what happens in the cluster, heard of or not ----------------------------------------------------------------

    def put(self, obj: Any, heard: bool) -> None:
        kind = type(obj).__name__
        self.truth[kind][obj.metadata.key] = obj
        if heard:
            self.state.upsert(kind, obj)

    def take(self, kind: str, key: str, heard: bool) -> None:
        gone = self.truth[kind].pop(key, None)
        if gone is not None and heard:
            self.state.delete(kind, gone)

    @rule(name=st.sampled_from(NODES), cpu=st.integers(1, 9), heard=st.booleans())
    def node_comes_or_changes(self, name: str, cpu: int, heard: bool) -> None:
        self.put(a_node(name, cpu), heard)

    @rule(name=st.sampled_from(NODES), heard=st.booleans())
    def node_goes(self, name: str, heard: bool) -> None:
        self.take("Node", name, heard)

    @rule(name=st.sampled_from(GROUPS), minimum=st.integers(0, 3), queue=st.sampled_from(QUEUES), heard=st.booleans())
    def group_comes_or_changes(self, name: str, minimum: int, queue: str, heard: bool) -> None:
        self.put(a_group(name, minimum, queue), heard)

    @rule(name=st.sampled_from(GROUPS), heard=st.booleans())
    def group_goes(self, name: str, heard: bool) -> None:
        self.take("PodGroup", f"team/{name}", heard)

    @rule(name=st.sampled_from(QUEUES), heard=st.booleans())
    def queue_comes(self, name: str, heard: bool) -> None:
        self.put(Queue(metadata=meta(name, 0)), heard)

    @rule(name=st.sampled_from(QUEUES), heard=st.booleans())
    def queue_goes(self, name: str, heard: bool) -> None:
        self.take("Queue", name, heard)

    @rule(
        target=pods,
        name=st.sampled_from(["p0", "p1", "p2", "p3"]),
        group=st.sampled_from(["", *GROUPS]),
        cpu=st.integers(0, 3),
        ours=st.booleans(),
        heard=st.booleans(),
    )
    def pod_is_made(self, name: str, group: str, cpu: int, ours: bool, heard: bool) -> str:
        """A namesake that was there is gone."""
        self.born += 1
        pod = a_pod(name, group, cpu)
        metadata = replace(pod.metadata, uid=f"{name}-{self.born}")
        spec = replace(pod.spec, scheduler_name="volcano" if ours else "default-scheduler")
        self.put(replace(pod, metadata=metadata, spec=spec), heard)
        return pod.metadata.key

    @rule(
        key=pods,
        what=st.sampled_from(["bound", "Running", "Succeeded", "Failed", "deleting", "resized", "regrouped"]),
        node=st.sampled_from([*NODES, "ghost"]),
        heard=st.booleans(),
    )
    def pod_moves_on(self, key: str, what: str, node: str, heard: bool) -> None:
        pod = self.truth["Pod"].get(key)
        if isinstance(pod, Pod):
            self.put(moved_on(pod, what, node), heard)

    @rule(key=consumes(pods), heard=st.booleans())
    def pod_goes(self, key: str, heard: bool) -> None:
        self.take("Pod", key, heard)

    # -- events that come twice or late ------------------------------------------------------------------------------

    @rule(target=pictures, kind=st.sampled_from(KINDS), which=st.integers(0, 9))
    def event_is_held_up(self, kind: str, which: int) -> Any:
        objects = list(self.truth[kind].values())
        return objects[which % len(objects)] if objects else None

    @rule(picture=pictures, is_deletion=st.booleans())
    def event_comes_late(self, picture: Any, is_deletion: bool) -> None:
        if picture is not None:
            report = self.state.delete if is_deletion else self.state.upsert
            report(type(picture).__name__, picture)

    @rule(kind=st.sampled_from(KINDS), which=st.integers(0, 9))
    def event_comes_twice(self, kind: str, which: int) -> None:
        objects = list(self.truth[kind].values())
        if objects:
            for _ in range(2):
                self.state.upsert(kind, objects[which % len(objects)])

    @rule(kind=st.sampled_from(KINDS), late=st.lists(pictures, max_size=2), is_doubled=st.booleans())
    def events_come_together(self, kind: str, late: list[Any], is_doubled: bool) -> None:
        events = [*self.truth[kind].values(), *(obj for obj in late if type(obj).__name__ == kind)]
        self.state.upsert_all(kind, events + events[:1] if is_doubled else events)

    # -- what the scheduler does ---------------------------------------------------------------------------------------

    @rule(key=pods, node=st.sampled_from(NODES))
    def pod_is_handed_to_the_binder(self, key: str, node: str) -> None:
        pod = self.truth["Pod"].get(key)
        if isinstance(pod, Pod) and self.state.assume_bound(pod.metadata.uid, node):
            self.handed.add(pod.metadata.uid)

    @rule(key=pods)
    def pod_is_handed_to_the_evictor(self, key: str) -> None:
        pod = self.truth["Pod"].get(key)
        if isinstance(pod, Pod) and self.state.assume_evicted(pod.metadata.uid):
            self.handed.add(pod.metadata.uid)

    @rule(key=pods)
    def it_is_in_vain(self, key: str) -> None:
        pod = self.truth["Pod"].get(key)
        if isinstance(pod, Pod):
            self.state.bind_failed(pod.metadata.uid, retry_at=NOW)
            self.state.evict_failed(pod.metadata.uid, retry_at=NOW)

    # -- what must hold ---------------------------------------------------------------------------------------------

    @invariant()
    def sums_are_those_of_the_pods(self) -> None:
        assert self.state.drift() == 0

    @invariant()
    def nothing_is_used_that_nobody_uses(self) -> None:
        snapshot = self.state.snapshot(NOW)
        nodes, jobs = snapshot.ledger.nodes, snapshot.ledger.jobs
        assert (nodes.used[: nodes.size] >= 0).all()
        assert (nodes.tasks[: nodes.size] >= 0).all()
        assert (jobs.counts[: jobs.size] >= 0).all()
        named = {info.name for info in snapshot.nodes if info.name}
        kept = {snapshot.nodes[row].name for row in snapshot.ledger.tasks.node.tolist() if row >= 0}
        assert kept <= named, "a task stands on a row that is free"

    @invariant()
    def copies_that_are_used_again_are_as_new_ones(self) -> None:
        """Whatever was written in them, and to the state, since they were made."""
        snapshot = self.state.snapshot(NOW, self.used)
        fresh = self.state.snapshot(NOW)
        assert columns(snapshot.ledger) == columns(fresh.ledger)
        for name in ("tasks", "jobs", "job_keys", "classes"):
            assert getattr(snapshot, name) == getattr(fresh, name)
        ledger = snapshot.ledger.for_cycle(self.used_by_cycle)
        assert columns(ledger) == columns(fresh.ledger)
        self.used, self.used_by_cycle = snapshot, ledger

    @rule(which=st.integers(0, 9), status=st.sampled_from(TaskStatus), in_cycle=st.booleans())
    def a_copy_is_written_to(self, which: int, status: TaskStatus, in_cycle: bool) -> None:
        assert self.used is not None
        assert self.used_by_cycle is not None
        ledger = self.used_by_cycle if in_cycle else self.used.ledger
        if ledger.tasks.size and status is not TaskStatus.FREE:
            ledger.move_one(which % ledger.tasks.size, status, NOWHERE)
        ledger.classes.clear(ledger.classes.new_row())

    @rule()
    def everything_is_listed_again(self) -> None:
        """Then nothing of what was missed, doubled or late is left."""
        for kind in KINDS:
            self.state.replace(kind, list(self.truth[kind].values()))
        for uid in self.handed:
            self.state.bind_failed(uid, retry_at=NOW)
            self.state.evict_failed(uid, retry_at=NOW)
        self.handed.clear()
        fresh = ClusterState()
        for kind in KINDS:
            fresh.upsert_all(kind, list(self.truth[kind].values()))
        assert numbers(self.state.snapshot(NOW)) == numbers(fresh.snapshot(NOW))

    def teardown(self) -> None:
        self.everything_is_listed_again()
        for kind in KINDS:
            self.state.replace(kind, [])
        snapshot = self.state.snapshot(NOW)
        assert not any(snapshot.job_keys)
        assert not any(info.name for info in snapshot.nodes)
        assert not any(found for found in snapshot.classes)
        assert not snapshot.ledger.nodes.used.any()


def moved_on(pod: Pod, what: str, node: str) -> Pod:
    """The pod as the API server has it a step later."""
    spec, status, metadata = pod.spec, pod.status, pod.metadata
    if what == "bound" and not spec.node_name:
        return replace(pod, spec=replace(spec, node_name=node))
    if what == "deleting":
        return replace(pod, metadata=replace(metadata, deletion_timestamp=EPOCH))
    if what == "resized":
        return replace(pod, spec=replace(spec, containers=a_pod("x", "", 4).spec.containers))
    if what == "regrouped":
        return replace(pod, metadata=replace(metadata, annotations={GROUP_NAME: GROUPS[0]}))
    if what in ("Running", "Succeeded", "Failed") and spec.node_name:
        return replace(pod, status=replace(status, phase=what))
    return pod


Events.TestCase.settings = settings(max_examples=settings().max_examples // 3, stateful_step_count=40)
TestEvents = Events.TestCase
