"""Where a PodGroup has the name of its queue from. Most users never write a PodGroup: controllers create them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano_py.api.names import GENERATED_GROUP_PREFIX
from volcano_py.api.wording.explain import NamedBy, QueueSource
from volcano_py.api.workloads import deployment_of
from volcano_py.state.infos import JobInfo

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


def queue_source(ssn: Session, row: int, info: JobInfo) -> QueueSource | None:
    """The object that gave the PodGroup of this row its queue; None when its own spec did."""
    owner = info.owner
    if owner is None:
        return None
    maker = f"{owner.kind} {owner.name}"
    if owner.is_volcano_job:
        return QueueSource(NamedBy.JOB, maker, info.ref.namespace)
    if not info.ref.name.startswith(GENERATED_GROUP_PREFIX):
        return None
    tasks = ssn.tasks_of_row(row).tolist()
    deployment = deployment_of(owner.name, ssn.task_info(tasks[0]).labels) if tasks else ""
    if deployment:
        maker = f"Deployment {deployment}"
    is_named = any(ssn.task_info(task).named_queue == info.queue for task in tasks)
    if not is_named and not info.is_in_default_queue:
        return QueueSource(NamedBy.NAMESPACE, maker, info.ref.namespace)
    if deployment:
        return QueueSource(NamedBy.DEPLOYMENT, maker, info.ref.namespace)
    return QueueSource(NamedBy.POD if owner.kind == "Pod" else NamedBy.TEMPLATE, maker, info.ref.namespace)
