"""`flow.volcano.sh/v1alpha1`, kinds `JobFlow` and `JobTemplate`, as far as the controller reads them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from volcano_py.api.objects import ApiObject, ObjectMeta
from volcano_py.jobs.model import TaskState

FLOW_API: Final = "flow.volcano.sh/v1alpha1"
FLOW_KIND: Final = "JobFlow"
TEMPLATE_KIND: Final = "JobTemplate"


class FlowPhase(StrEnum):
    """`status.state.phase`; empty for a JobFlow that no controller has seen yet."""

    NEW = ""
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEED = "Succeed"
    FAILED = "Failed"
    TERMINATING = "Terminating"


FINAL: Final = frozenset({FlowPhase.SUCCEED, FlowPhase.FAILED})
"""Phases that a JobFlow leaves only to be deleted; no Job is created any more."""


class HttpHeader(ApiObject, frozen=True):
    name: str = ""
    value: str = ""


class HttpGet(ApiObject, frozen=True):
    """A GET that the pods of the task must answer with a status from 200 to 399."""

    task_name: str = ""
    path: str = ""
    port: int = 0
    http_header: HttpHeader | None = None


class TcpSocket(ApiObject, frozen=True):
    """A port that the pods of the task must take connections on."""

    task_name: str = ""
    port: int = 0


class TaskStatus(ApiObject, frozen=True):
    """A phase that the pods of the task must be in."""

    task_name: str = ""
    phase: str = ""


class Probe(ApiObject, frozen=True):
    http_get_list: list[HttpGet] = []
    tcp_socket_list: list[TcpSocket] = []
    task_status_list: list[TaskStatus] = []

    @property
    def is_empty(self) -> bool:
        return not (self.http_get_list or self.tcp_socket_list or self.task_status_list)


class FlowDependsOn(ApiObject, frozen=True):
    """The steps whose Jobs must have completed, or, with a probe, must be as it says."""

    targets: list[str] = []
    probe: Probe | None = None


class Patch(ApiObject, frozen=True):
    """Changes to the template's spec for this one flow."""

    job_spec: dict[str, Any] = {}


class Step(ApiObject, frozen=True):
    """One Job of a flow; its name is that of the JobTemplate. The API calls it a flow, too."""

    name: str = ""
    depends_on: FlowDependsOn | None = None
    patch: Patch | None = None

    @property
    def targets(self) -> list[str]:
        return self.depends_on.targets if self.depends_on is not None else []


class JobFlowSpec(ApiObject, frozen=True):
    flows: list[Step] = []
    job_retain_policy: str = ""

    @property
    def steps(self) -> list[Step]:
        """Each step once: of several with one name the first counts, as there is one Job for a name."""
        first: dict[str, Step] = {}
        for step in self.flows:
            first.setdefault(step.name, step)
        return list(first.values())


class RunningHistory(ApiObject, frozen=True):
    """A phase that a Job was in, since when and until when."""

    start_timestamp: datetime | None = None
    end_timestamp: datetime | None = None
    state: str = ""


class FlowJobStatus(ApiObject, frozen=True):
    """One Job of the flow, also when it is gone."""

    name: str = ""
    state: str = ""
    start_timestamp: datetime | None = None
    end_timestamp: datetime | None = None
    restart_count: int = 0
    running_histories: list[RunningHistory] = []


class FlowCondition(ApiObject, frozen=True):
    phase: str = ""
    create_time: datetime | None = None
    running_duration: str = ""
    task_status_count: dict[str, TaskState] = {}


class FlowState(ApiObject, frozen=True):
    phase: str = ""


class JobFlowStatus(ApiObject, frozen=True):
    pending_jobs: list[str] = []
    running_jobs: list[str] = []
    failed_jobs: list[str] = []
    completed_jobs: list[str] = []
    terminated_jobs: list[str] = []
    un_know_jobs: list[str] = []
    job_status_list: list[FlowJobStatus] = []
    conditions: dict[str, FlowCondition] = {}
    state: FlowState = FlowState()

    @property
    def phase(self) -> FlowPhase:
        """The phase; one that is unknown counts as none yet."""
        try:
            return FlowPhase(self.state.phase)
        except ValueError:
            return FlowPhase.NEW


class JobFlow(ApiObject, frozen=True):
    """Jobs that depend on each other."""

    metadata: ObjectMeta
    spec: JobFlowSpec = JobFlowSpec()
    status: JobFlowStatus = JobFlowStatus()


class JobTemplateStatus(ApiObject, frozen=True):
    job_depends_on_list: list[str] = []


class JobTemplate(ApiObject, frozen=True):
    """The spec of a Job, kept as it was written, for flows to create Jobs from."""

    metadata: ObjectMeta
    spec: dict[str, Any] = {}
    status: JobTemplateStatus = JobTemplateStatus()
