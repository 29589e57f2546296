"""What happens to a small cluster: one random step after the other, of work, queues, nodes and rules."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.property.explaining.answering_cluster import AnsweringCluster, Object, bound, group_of
from tests.support.queues.hierarchy import placed_queue
from tests.support.sessions import gang, node, pod, priority_class, queue
from tests.unit.state.watched import with_meta, with_spec, with_status
from volcano_py.api.objects import (
    Affinity,
    ApiObject,
    LabelSelector,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodGroup,
    Queue,
    ResourceQuota,
    ResourceQuotaSpec,
    Taint,
    TopologySpreadConstraint,
)
from volcano_py.api.workloads import PodDisruptionBudget, PodDisruptionBudgetSpec

GPU: Final = "nvidia.com/gpu"
NAMESPACES: Final = ("na", "nb")
QUEUES: Final = ("q0", "q1", "q2")
NODES: Final = ("n0", "n1", "n2")
APPS: Final = ("a", "b", "c")
HOST: Final = "kubernetes.io/hostname"


class History:
    """Random steps of a cluster."""

    def __init__(self, rng: Random, cluster: AnsweringCluster) -> None:
        self._rng = rng
        self._cluster = cluster
        self._serial = 0
        self.reported: list[str] = []
        """What has happened, for whoever reads of a failure."""
        # As often as they are listed.
        self._steps = [
            *[self.work_comes] * 8,
            *[self.a_pod_ends] * 3,
            *[self.a_pod_is_deleted] * 2,
            *[self.a_pod_changes] * 2,
            self.work_goes,
            self.a_group_changes,
            self.a_queue_changes,
            self.a_queue_opens_or_closes,
            self.a_node_changes,
            self.a_node_goes,
            self.a_priority_changes,
            self.a_budget_comes_or_goes,
            self.a_quota_comes_or_goes,
            self.others_use_a_node,
            self.time_passes,
        ]

    def begin(self) -> None:
        for name in ("default", "root"):
            self._cluster.new(queue(name))
        for name in QUEUES:
            self._cluster.new(self._queue(name))
        for name in NODES[: self._rng.randint(1, 3)]:
            self._cluster.new(self._node(name))
        self._cluster.new(priority_class("high", 10))
        for _ in range(self._rng.randint(0, 4)):
            self.reported.append(f"there is {self.work_comes()}")

    async def go_on(self) -> None:
        """One step."""
        step = self._rng.choice(self._steps)
        reported = step()
        if reported is not None:
            self.reported.append(f"{step.__name__}: {reported}")
        if step == self.time_passes:
            await self._cluster.after(self._rng.choice([3.0, 30.0, 100.0]))

    # -- work --------------------------------------------------------------------------------------------------------

    def work_comes(self) -> str:
        self._serial += 1
        rng, name, namespace = self._rng, f"j{self._serial}", self._rng.choice(NAMESPACES)
        pods = rng.randint(1, 4)
        group, *members = gang(
            name,
            pods=pods,
            namespace=namespace,
            queue=rng.choice([*QUEUES, "default"]),
            min_member=rng.choice([0, 1, pods, pods]),
            min_resources={"cpu": str(rng.randint(0, 6))} if rng.random() < 0.6 else None,
            group_phase=rng.choice(["", "Pending"]),
            priority_class=rng.choice(["", "", "high"]),
            cpu=rng.choice(["", "1", "1", "2", "3"]),
            devices={GPU: "1"} if rng.random() < 0.3 else {},
            gates=["wait"] if rng.random() < 0.05 else [],
            **self._wishes(),
        )
        self._cluster.new(group)
        made = [self._equipped(each) for each in members if isinstance(each, Pod)]
        if rng.random() < 0.4:
            self._cluster.replaced[f"{namespace}/{name}"] = made
        else:
            rng.shuffle(made)
            for member in made:
                self._cluster.new(member)
        return f"{name}, {pods} pods"

    def _wishes(self) -> dict[str, Any]:
        """What pods want of where they run, and how they may be disturbed."""
        rng, app = self._rng, self._rng.choice(APPS)
        wishes: dict[str, Any] = {"labels": {"app": app}, "annotations": {}}
        if rng.random() < 0.3:
            wishes["annotations"]["volcano.sh/preemptable"] = rng.choice(["true", "false"])
        if rng.random() < 0.2:
            wishes["labels"]["volcano.sh/cooldown-time"] = rng.choice(["30s", "5m"])
        match rng.randint(0, 9):
            case 0:
                wishes["affinity"] = Affinity(pod_affinity=_company(rng.choice(APPS)))
            case 1:
                wishes["affinity"] = Affinity(pod_anti_affinity=_company(rng.choice(APPS)))
            case 2:
                spread = TopologySpreadConstraint(
                    max_skew=1,
                    topology_key=HOST,
                    when_unsatisfiable="DoNotSchedule",
                    label_selector=LabelSelector(match_labels={"app": app}),
                )
                wishes["spread"] = [spread]
            case 3:
                wishes["host_ports"] = [80]
            case _:
                pass
        return wishes

    def _equipped(self, one: Pod) -> Pod:
        """The pod with what only its own name can say."""
        return one

    def work_goes(self) -> str | None:
        group = self._any(PodGroup)
        if group is None:
            return None
        key = group.metadata.key
        self._cluster.replaced.pop(key, None)
        self._cluster.remove(group)
        for each in self._cluster.all(Pod):
            if group_of(each) == key:
                self._cluster.remove(each)
        return key

    def a_group_changes(self) -> str | None:
        group = self._any(PodGroup)
        if group is None:
            return None
        rng = self._rng
        change: dict[str, Any] = rng.choice(
            [
                {"min_member": rng.randint(0, 4)},
                {"queue": rng.choice(QUEUES)},
                {"min_resources": {"cpu": str(rng.randint(0, 6))}},
                {"priority_class_name": rng.choice(["", "high"])},
            ]
        )
        self._cluster.put(with_spec(group, **change))
        return f"{group.metadata.key} {change}"

    def a_pod_ends(self) -> str | None:
        running = [each for each in self._cluster.all(Pod) if each.status.phase == "Running"]
        if not running:
            return None
        one = self._rng.choice(running)
        phase = self._rng.choice(["Succeeded", "Succeeded", "Failed"])
        self._cluster.put(with_status(one, phase=phase))
        return f"{one.metadata.key} {phase}"

    def a_pod_is_deleted(self) -> str | None:
        one = self._any(Pod)
        if one is None:
            return None
        self._cluster.delete(one)
        return one.metadata.key

    def a_pod_changes(self) -> str | None:
        one = self._any(Pod)
        if one is None:
            return None
        if one.spec.scheduling_gates:
            self._cluster.put(with_spec(one, scheduling_gates=[]))
            return f"{one.metadata.key} without gates"
        labels = {**one.metadata.labels, "app": self._rng.choice(APPS)}
        self._cluster.put(with_meta(one, labels=labels))
        return f"{one.metadata.key} {labels}"

    # -- what it runs on ---------------------------------------------------------------------------------------------

    def a_queue_changes(self) -> str:
        name = self._rng.choice(QUEUES)
        self._change(self._queue(name))
        return name

    def a_queue_opens_or_closes(self) -> str | None:
        one = self._cluster.find(Queue, self._rng.choice(QUEUES))
        if one is None:
            return None
        state = "Closed" if one.status.state == "Open" else "Open"
        self._cluster.put(with_status(one, state=state))
        return f"{one.metadata.name} {state}"

    def a_node_changes(self) -> str:
        name = self._rng.choice(NODES)
        self._change(self._node(name))
        return name

    def a_node_goes(self) -> str | None:
        one = self._any(Node)
        if one is None or len(self._cluster.all(Node)) == 1:
            return None
        self._cluster.remove(one)
        for each in self._cluster.all(Pod):
            if each.spec.node_name == one.metadata.name:
                self._cluster.remove(each)
        return one.metadata.name

    def a_priority_changes(self) -> str:
        value = self._rng.choice([1, 10, 100])
        self._change(priority_class("high", value))
        return str(value)

    def a_budget_comes_or_goes(self) -> str:
        namespace = self._rng.choice(NAMESPACES)
        known = self._cluster.find(PodDisruptionBudget, f"{namespace}/b")
        if known is not None:
            self._cluster.remove(known)
            return f"{namespace} goes"
        selector = LabelSelector(match_labels={"app": self._rng.choice(APPS)})
        spec = PodDisruptionBudgetSpec(selector=selector, min_available=self._rng.randint(0, 3))
        self._cluster.new(PodDisruptionBudget(metadata=ObjectMeta(namespace=namespace, name="b"), spec=spec))
        return f"{namespace} {spec}"

    def a_quota_comes_or_goes(self) -> str:
        namespace = self._rng.choice(NAMESPACES)
        known = self._cluster.find(ResourceQuota, f"{namespace}/r")
        if known is not None:
            self._cluster.remove(known)
            return f"{namespace} goes"
        hard: dict[str, str | int | float] = {
            "requests.cpu": str(self._rng.randint(2, 20)),
            "volcano.sh/namespace.weight": self._rng.randint(1, 3),
        }
        meta = ObjectMeta(namespace=namespace, name="r")
        self._cluster.new(ResourceQuota(metadata=meta, spec=ResourceQuotaSpec(hard=hard)))
        return f"{namespace} {hard}"

    def others_use_a_node(self) -> str | None:
        one = self._any(Node)
        if one is None:
            return None
        self._serial += 1
        labels = {"app": self._rng.choice(APPS)}
        other = pod(f"other-{self._serial}", namespace="na", cpu="1", labels=labels, scheduler="default-scheduler")
        self._cluster.new(bound(other, one.metadata.name))
        return f"{other.metadata.key} on {one.metadata.name}"

    def time_passes(self) -> None:
        return None

    # -- values ------------------------------------------------------------------------------------------------------

    def _any(self, kind: type[Object]) -> Object | None:
        found = self._cluster.all(kind)
        return self._rng.choice(found) if found else None

    def _change(self, obj: ApiObject) -> None:
        """The object in the place of its namesake, which it is a new version of."""
        known: Any = self._cluster.find(type(obj), obj.metadata.key)  # type: ignore[attr-defined]
        if known is None:
            self._cluster.new(obj)
            return
        kept = {"uid": known.metadata.uid, "creation_timestamp": known.metadata.creation_timestamp}
        changed = with_meta(obj, **kept)
        if isinstance(known, Queue):
            changed = with_status(changed, state=known.status.state, allocated=known.status.allocated)
        self._cluster.put(changed)

    def _queue(self, name: str) -> Queue:
        rng = self._rng
        return placed_queue(
            name,
            f"root/{rng.choice('xy')}/{name}",
            f"1/1/{rng.randint(1, 2)}",
            weight=rng.randint(1, 3),
            priority=rng.choice([0, 0, 1]),
            reclaimable=rng.choice([True, True, None, False]),
            capability={"cpu": str(rng.randint(4, 12))} if rng.random() < 0.3 else None,
            deserved={"cpu": str(rng.randint(1, 5))},
            guarantee={"cpu": "1"} if rng.random() < 0.2 else None,
        )

    def _node(self, name: str) -> Node:
        rng = self._rng
        labels = {HOST: name}
        if rng.random() < 0.1:
            labels["volcano.sh/nodegroup-name"] = "g"
        return node(
            name,
            cpu=str(rng.randint(2, 10)),
            pods=rng.choice(["110", "3"]),
            devices={GPU: str(rng.randint(1, 3))} if rng.random() < 0.5 else {},
            labels=labels,
            unschedulable=rng.random() < 0.1,
            taints=[Taint(key="x", value="y", effect="NoSchedule")] if rng.random() < 0.1 else [],
        )


def _company(app: str) -> PodAffinity:
    """Pods of an application on the same node."""
    term = PodAffinityTerm(topology_key=HOST, label_selector=LabelSelector(match_labels={"app": app}))
    return PodAffinity(required=[term])
