"""Labels, annotations and names of what a Job creates; they match Volcano's byte for byte."""

from __future__ import annotations

from typing import Final

TASK_INDEX: Final = "volcano.sh/task-index"
JOB_NAME: Final = "volcano.sh/job-name"
JOB_NAMESPACE: Final = "volcano.sh/job-namespace"
JOB_VERSION: Final = "volcano.sh/job-version"
JOB_RETRY_COUNT: Final = "volcano.sh/job-retry-count"
JOB_QUEUE: Final = "volcano.sh/queue-name"
TEMPLATE_UID: Final = "volcano.sh/template-uid"
PARTITION_ID: Final = "volcano.sh/partition-id"

LONGEST_LABEL: Final = 63
"""Characters of a label's value, and of a name that is one label in DNS: that of a host, a Service, a volume."""

# Reasons of events on Jobs.
COMMAND_ISSUED: Final = "CommandIssued"
EXECUTE_ACTION: Final = "ExecuteAction"
PLUGIN_ERROR: Final = "PluginError"
PVC_ERROR: Final = "PVCError"
POD_GROUP_ERROR: Final = "PodGroupError"
DEPENDENCY_FAILED: Final = "DependencyFailed"
POD_GROUP_PENDING: Final = "PodGroupPending"
JOB_STATUS_ERROR: Final = "JobStatusError"
FAILED_CREATE: Final = "FailedCreate"
FAILED_DELETE: Final = "FailedDelete"


def pod_name(job: str, task: str, index: int) -> str:
    """Name of a task's pod; `index` counts from 0 within the task."""
    return f"{job}-{task}-{index}"


def group_name(job: str, uid: str) -> str:
    """Name of a job's PodGroup: a namesake that comes later has another one."""
    return f"{job}-{uid}"
