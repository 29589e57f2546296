"""Services, owners of pods and disruption budgets: the objects that say which pods belong together.

Field names follow the API, as in `objects.py`; fields that are not used are left out while decoding.
"""

from __future__ import annotations

from typing import Any

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


class TemplateSpec(ApiObject, frozen=True):
    scheduler_name: str = ""


class PodTemplate(ApiObject, frozen=True):
    """Of a pod template, only the scheduler that it names."""

    spec: TemplateSpec = TemplateSpec()


class WorkloadSpec(ApiObject, frozen=True):
    replicas: Integer | None = None
    parallelism: Integer | None = None
    completions: Integer | None = None
    pod_management_policy: str = ""
    active_deadline_seconds: Integer | None = None
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()


class WorkloadStatus(ApiObject, frozen=True):
    update_revision: str = ""


class Workload(ApiObject, frozen=True):
    """A ReplicaSet, StatefulSet, DaemonSet or batch Job, as far as it is used here."""

    metadata: ObjectMeta
    kind: str = ""
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class PodDisruptionBudgetSpec(ApiObject, frozen=True):
    selector: LabelSelector | None = None
    min_available: Integer | str | None = None
    max_unavailable: Integer | str | None = None


class PodDisruptionBudgetStatus(ApiObject, frozen=True):
    disruptions_allowed: Integer = 0
    desired_healthy: Integer = 0
    disrupted_pods: dict[str, Any] = {}


class PodDisruptionBudget(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
