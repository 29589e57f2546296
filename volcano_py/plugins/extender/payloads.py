"""What the extender is sent of tasks, nodes, queues and jobs: Volcano's own types as Go encodes them.

Amounts are as in Volcano: CPU and scalars in thousandths, memory in bytes, `pods` in whole ones. Of pods and nodes as
Kubernetes objects there is what is kept for it (`ExtenderClient.find`), or else what a cycle knows of them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import numpy as np

from volcano_py.api import names
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.plugins.extender.line import encode
from volcano_py.state.infos import NodeInfo, QueueInfo, TaskInfo
from volcano_py.state.status import ON_NODE_STATUSES, TaskStatus
from volcano_py.state.table.axis import CPU, MEMORY, PODS, UNLIMITED, IntVector
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

Object = dict[str, Any]

_NO_RESOURCE: Final = {"MilliCPU": 0.0, "Memory": 0.0, "ScalarResources": None, "MaxTaskNum": 0}
_NO_NUMA: Final = {"Policy": "", "ResMap": None}


class Payloads:
    """Of one session, as it stands when a method is called."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._tasks: dict[tuple[int, int, int], msgspec.Raw] = {}
        self._by_node: tuple[int, Rows, Rows] | None = None
        self._firsts: dict[int, int] = {}

    # -- tasks -------------------------------------------------------------------------------------------------------

    def of_class(self, task_class: TaskClass) -> int | None:
        """The row of a task that stands for its class, if possible one that waits, the oldest of them; None when there
        is no such task."""
        tasks, known = self._ssn.ledger.tasks, self._firsts.get(task_class.row)
        if known is None or tasks.status[known] != TaskStatus.PENDING:
            rows = np.flatnonzero((tasks.task_class == task_class.row) & (tasks.status != TaskStatus.FREE))
            if not len(rows):
                return None
            is_busy = tasks.status[rows] != TaskStatus.PENDING
            order = np.lexsort((tasks.tiebreak[rows], tasks.suffix[rows], tasks.created[rows], is_busy))
            known = self._firsts[task_class.row] = int(rows[order[0]])
        return known

    def key(self, row: int) -> str:
        """namespace/name of a task."""
        return self._ssn.task_info(row).key

    def task(self, row: int) -> msgspec.Raw:
        """One task."""
        tasks = self._ssn.ledger.tasks
        key = (row, int(tasks.status[row]), int(tasks.node[row]))
        found = self._tasks.get(key)
        if found is None:
            found = self._tasks[key] = msgspec.Raw(encode(self._task(row)))
        return found

    def _task(self, row: int) -> Object:
        ssn = self._ssn
        tasks, info, task_class = ssn.ledger.tasks, ssn.task_info(row), ssn.task_class(row)
        node = int(tasks.node[row])
        node_name = ssn.snapshot.nodes[node].name if node >= 0 else ""
        request = self.resource(task_class.request)
        pod = self._whole("Pod", info.key)
        if isinstance(pod, Pod) and pod.metadata.uid != info.ref.uid:
            pod = None
        annotations = {names.GROUP_NAME: info.group, **({names.TASK_SPEC: info.role} if info.role else {})}
        return {
            "UID": info.ref.uid,
            "Job": f"{info.ref.namespace}/{info.group}" if info.group else "",
            "Name": info.ref.name,
            "Namespace": info.ref.namespace,
            "TaskRole": info.role,
            "Resreq": request,
            "InitResreq": request,
            "DRAResreq": None,
            "ResourceClaimKeys": list(info.device_claims) or None,
            "ResourceClaimDRAResreq": None,
            "NodeName": node_name,
            "EvictionOccurred": False,
            "JobAllocatedHyperNode": "",
            "Status": go_status(int(tasks.status[row])),
            "LastTransaction": None,
            "Priority": int(tasks.priority[row]),
            "VolumeReady": False,
            "Preemptable": info.preemptable,
            "BestEffort": task_class.best_effort,
            "HasRestartableInitContainer": False,
            "SchGated": bool(info.gates),
            "RevocableZone": "*" if info.uses_revocable else "",
            "NumaInfo": _NO_NUMA,
            "Pod": _pod(info, task_class, node_name, annotations) if pod is None else pod,
            "PodAnnotations": pod.metadata.annotations if isinstance(pod, Pod) else annotations,
            "CustomBindErrHandlerSucceeded": False,
        }

    def _whole(self, kind: str, key: str) -> ApiObject | None:
        """The object, if it is kept."""
        return None if self._ssn.extender is None else self._ssn.extender.find(kind, key)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def node(self, row: int) -> msgspec.Raw:
        """One node, with the tasks on it."""
        nodes, info = self._ssn.ledger.nodes, self._ssn.snapshot.nodes[row]
        allocatable, used = nodes.allocatable[row], nodes.used[row]
        pods = int(allocatable[PODS])
        on_it = {self._ssn.task_info(each).key: self.task(each) for each in self._on(row).tolist()}
        return msgspec.Raw(
            encode(
                {
                    "Name": info.name,
                    "Node": self._whole("Node", info.name) or _node(info, self.resource_list(allocatable)),
                    "State": {"Phase": 1 if nodes.present[row] else 2, "Reason": ""},
                    "Releasing": self.resource(nodes.releasing[row]),
                    "Pipelined": self.resource(nodes.pipelined[row]),
                    "Idle": self.resource(allocatable - used, most_tasks=pods),
                    "Used": self.resource(used),
                    "Allocatable": self.resource(allocatable, most_tasks=pods),
                    "Capacity": self.resource(allocatable, most_tasks=pods),
                    "ResourceUsage": self._usage(info.name),
                    "Tasks": on_it,
                    "NumaInfo": None,
                    "UnassignedNumaPods": None,
                    "NumaSchedulerInfo": None,
                    "RevocableZone": info.labels.get(names.REVOCABLE_ZONE, ""),
                    "Others": {},
                    "OversubscriptionNode": False,
                    "OfflineJobEvicting": False,
                    "OversubscriptionResource": _NO_RESOURCE,
                    "ImageStates": {name: {"Size": size, "NumNodes": 1} for name, size in info.images.items()},
                    "Generation": 0,
                    "BindGeneration": 0,
                }
            )
        )

    def _on(self, node: int) -> Rows:
        """Rows of the tasks on the node."""
        count, tasks = self._ssn.moves.count, self._ssn.ledger.tasks
        if self._by_node is None or self._by_node[0] != count:
            rows = np.flatnonzero((tasks.node >= 0) & ON_NODE_STATUSES[tasks.status])
            rows = rows[np.argsort(tasks.node[rows], kind="stable")]
            self._by_node = (count, rows, tasks.node[rows].astype(np.intp))
        _, rows, at = self._by_node
        return rows[np.searchsorted(at, node) : np.searchsorted(at, node, side="right")]

    def _usage(self, name: str) -> Object:
        load = self._ssn.snapshot.loads.get(name)
        if load is None:
            return {"MetricsTime": _moment(0.0), "CPUUsageAvg": {}, "MEMUsageAvg": {}}
        cpu, memory = ({"10m": 100 * part} if part is not None else {} for part in (load.cpu, load.memory))
        return {"MetricsTime": _moment(load.measured), "CPUUsageAvg": cpu, "MEMUsageAvg": memory}

    # -- queues and jobs -----------------------------------------------------------------------------------------------

    @staticmethod
    def queue(info: QueueInfo) -> msgspec.Raw:
        """One queue."""
        spec: Object = {"weight": info.weight, "priority": info.priority, "reclaimable": info.reclaimable}
        spec |= {key: value for key, value in info.written.items() if value and key != "guarantee"}
        if guarantee := info.written.get("guarantee"):
            spec["guarantee"] = {"resource": guarantee}
        if info.parent:
            spec["parent"] = info.parent
        return msgspec.Raw(
            encode(
                {
                    "UID": info.name,
                    "Name": info.name,
                    "Weight": info.weight,
                    "Weights": info.annotations.get(names.HIERARCHY_WEIGHTS, ""),
                    "Hierarchy": info.annotations.get(names.HIERARCHY, ""),
                    "Queue": {
                        "apiVersion": "scheduling.volcano.sh/v1beta1",
                        "kind": "Queue",
                        "metadata": {
                            "name": info.name,
                            "uid": info.ref.uid,
                            "labels": info.labels,
                            "annotations": info.annotations,
                            "creationTimestamp": _moment(info.created),
                        },
                        "spec": spec,
                        "status": {"state": info.state, "allocated": info.allocated},
                    },
                }
            )
        )

    def job(self, job: Job) -> msgspec.Raw:
        """One job, with its tasks."""
        ssn, info = self._ssn, job.info
        rows, tasks = ssn.tasks_of(job), ssn.ledger.tasks
        by_status: dict[str, dict[str, msgspec.Raw]] = {}
        all_tasks: dict[str, msgspec.Raw] = {}
        for row in rows.tolist():
            uid, encoded = ssn.task_info(row).ref.uid, self.task(row)
            all_tasks[uid] = encoded
            by_status.setdefault(str(go_status(int(tasks.status[row]))), {})[uid] = encoded
        total = ssn.ledger.classes.request[tasks.task_class[rows]].sum(axis=0)
        return msgspec.Raw(
            encode(
                {
                    "UID": info.key,
                    "PgUID": info.ref.uid,
                    "Name": info.ref.name,
                    "Namespace": info.ref.namespace,
                    "Queue": job.queue.name,
                    "Priority": job.priority,
                    "MinAvailable": info.min_member,
                    "WaitingTime": None,
                    "JobFitErrors": "",
                    "NodesFitErrors": {},
                    "AllocatedHyperNode": "",
                    "NetworkTopology": None,
                    "SubJobs": {},
                    "TaskToSubJob": {},
                    "MinSubJobs": {},
                    "TaskStatusIndex": by_status,
                    "Tasks": all_tasks,
                    "TaskMinAvailable": dict(info.min_task_member),
                    "TaskMinAvailableTotal": sum(info.min_task_member.values()),
                    "Allocated": self.resource(job.allocated),
                    "TotalRequest": self.resource(total),
                    "CreationTimestamp": _moment(job.created),
                    "PodGroup": self._pod_group(job),
                    "ScheduleStartTimestamp": _moment(0.0),
                    "Preemptable": info.preemptable,
                    "RevocableZone": "",
                    "Budget": {"MinAvailable": "", "MaxUnavailable": ""},
                }
            )
        )

    @staticmethod
    def _pod_group(job: Job) -> Object:
        info = job.info
        spec: Object = {"minMember": info.min_member, "queue": job.queue.name}
        if info.min_task_member:
            spec["minTaskMember"] = dict(info.min_task_member)
        if info.min_resources:
            spec["minResources"] = info.min_resources
        if info.priority_class:
            spec["priorityClassName"] = info.priority_class
        running, succeeded, failed = info.counts
        return {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {
                "name": info.ref.name,
                "namespace": info.ref.namespace,
                "uid": info.ref.uid,
                "labels": info.labels,
                "annotations": info.annotations,
                "creationTimestamp": _moment(job.created),
            },
            "spec": spec,
            "status": {
                "phase": job.phase.text if job.phase else "Pending",
                "conditions": [msgspec.to_builtins(each) for each in info.conditions],
                "running": running,
                "succeeded": succeeded,
                "failed": failed,
            },
            "Version": "v1beta1",
        }

    def session(self) -> bytes:
        """All that there is, for `onSessionOpenVerb`."""
        ssn = self._ssn
        present = np.flatnonzero(ssn.ledger.nodes.present).tolist()
        nodes = {ssn.snapshot.nodes[row].name: self.node(row) for row in present}
        zones: dict[str, dict[str, msgspec.Raw]] = {}
        for row in present:
            info = ssn.snapshot.nodes[row]
            if zone := info.labels.get(names.REVOCABLE_ZONE):
                zones.setdefault(zone, {})[info.name] = nodes[info.name]
        return encode(
            {
                "Jobs": {job.key: self.job(job) for job in ssn.all_jobs()},
                "Nodes": nodes,
                "Queues": {name: self.queue(info) for name, info in ssn.queues.items()},
                "NamespaceInfo": {name: {"Name": name} for name in ssn.snapshot.namespaces if name},
                "RevocableNodes": zones,
                "NodeList": None,
            }
        )

    # -- amounts -----------------------------------------------------------------------------------------------------

    def resource(self, amounts: IntVector, *, most_tasks: int = 0) -> Object:
        """Volcano's Resource; numbers are floats there."""
        scalars = {
            name: float(value) * (1 if dim == PODS else 1000)
            for dim, (name, value) in enumerate(zip(self._ssn.axis.names, amounts.tolist(), strict=False))
            if dim not in (CPU, MEMORY) and value and value < UNLIMITED
        }
        return {
            "MilliCPU": float(amounts[CPU]),
            "Memory": float(amounts[MEMORY]),
            "ScalarResources": scalars or None,
            "MaxTaskNum": most_tasks,
        }

    def resource_list(self, amounts: IntVector) -> dict[str, str]:
        """Quantities, as in a node's status."""
        found = self._ssn.axis.amounts(amounts)
        return {name: f"{value}m" if name == "cpu" else str(value) for name, value in found.items()}


def go_status(status: int) -> int:
    """A status as Volcano numbers it: 1 is Pending, 2 Allocated, 4 Pipelined, and so on to 512, Unknown."""
    return 1 << (status - 1)


def _moment(seconds: float) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else None


def _pod(info: TaskInfo, task_class: TaskClass, node: str, annotations: dict[str, str]) -> Object:
    spec: Object = {"nodeName": node, "nodeSelector": dict(task_class.node_selector)}
    spec["tolerations"] = [msgspec.to_builtins(each) for each in task_class.tolerations]
    spec["affinity"] = None if (it := task_class.signature.affinity) is None else msgspec.to_builtins(it)
    spec["priorityClassName"], spec["preemptionPolicy"] = info.priority_class, info.preemption_policy
    spec["schedulingGates"] = [{"name": gate} for gate in info.gates]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": info.ref.name,
            "namespace": info.ref.namespace,
            "uid": info.ref.uid,
            "labels": info.labels,
            "annotations": annotations,
        },
        "spec": {key: value for key, value in spec.items() if value},
        "status": {"nominatedNodeName": info.nominated_node} if info.nominated_node else {},
    }


def _node(info: NodeInfo, allocatable: dict[str, str]) -> Object:
    spec: Object = {"taints": [msgspec.to_builtins(each) for each in info.taints]} if info.taints else {}
    if info.unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": info.name, "labels": info.labels},
        "spec": spec,
        "status": {
            "allocatable": allocatable,
            "capacity": allocatable,
            "images": [{"names": [name], "sizeBytes": size} for name, size in info.images.items()],
        },
    }
