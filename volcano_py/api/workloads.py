"""Services, owners of pods and disruption budgets: the objects that say which pods belong together.

Field names follow the API, as in `objects.py`; fields that are not used are left out while decoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from volcano_py.api.objects import ApiObject, Integer, LabelSelector, ObjectMeta

_TEMPLATE_HASH: Final = "pod-template-hash"  # label of pods; ends the name of their ReplicaSet, after the Deployment's


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


def deployment_of(replica_set: str, pod_labels: Mapping[str, str]) -> str:
    """The name of the Deployment that owns a ReplicaSet of this name, by the labels of its pods; "" where none does."""
    ending = f"-{pod_labels.get(_TEMPLATE_HASH, '')}"
    return replica_set.removesuffix(ending) if ending != "-" and replica_set.endswith(ending) else ""
