"""Services and the owners of pods: what says which pods belong together.

Field names follow the API, as in `objects.py`; fields that nobody reads are left out while decoding.
"""

from __future__ import annotations

from volcano_py.api.objects import ApiObject, Integer, LabelSelector, ObjectMeta


class ServiceSpec(ApiObject, frozen=True):
    selector: dict[str, str] = {}


class Service(ApiObject, frozen=True):
    """Which pods it selects is all that scheduling looks at: they belong together."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(ApiObject, frozen=True):
    selector: dict[str, str] = {}


class ReplicationController(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class WorkloadSpec(ApiObject, frozen=True):
    replicas: Integer | None = None
    selector: LabelSelector | None = None


class WorkloadStatus(ApiObject, frozen=True):
    update_revision: str = ""


class Workload(ApiObject, frozen=True):
    """A ReplicaSet, StatefulSet, DaemonSet or batch Job, as far as anybody here looks at it."""

    metadata: ObjectMeta
    kind: str = ""
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()
