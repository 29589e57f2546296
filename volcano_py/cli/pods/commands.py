"""`volcano-py pod`: pods of a Volcano Job or of a queue, and why they wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import DEFAULT_SCHEDULER_NAME, GROUP_NAME
from volcano_py.api.objects import Pod
from volcano_py.api.wording.pod_message import why_pod_waits
from volcano_py.cli.options.listing import Listed, list_options
from volcano_py.cli.options.live_names import QUEUES
from volcano_py.cli.pod_groups import age_of
from volcano_py.cli.printing.listing import Cells, phase_text
from volcano_py.cli.printing.one_line import plain
from volcano_py.cli.printing.show import Shown
from volcano_py.cluster.kubernetes.http.paths import label_selector
from volcano_py.jobs.names import JOB_NAME

if TYPE_CHECKING:
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient

EPILOG = """\b
Examples:
  volcano-py pod list --job train
  volcano-py pod list --all-namespaces --queue team-a --watch
  volcano-py pod list --job train -o json

Lists the pods that belong to a PodGroup or name the scheduler.
"""

HEADER: Final = (
    "NAMESPACE", "NAME", "JOB", "QUEUE", "READY", "STATUS", "RESTARTS", "AGE", "NODE", "WHY IT WAITS",
)  # fmt: skip
SPARE: Final = ("RESTARTS", "READY", "JOB", "NAMESPACE", "QUEUE", "NODE")
"""What a narrow terminal does without, the first one first."""
_STATUS_COLUMN: Final = 5


@click.group()
def pod() -> None:
    """Show pods."""


@pod.command("list", epilog=EPILOG)
@click.option("--job", "-j", default="", help="Only pods of this Volcano Job.")
@click.option("--queue", "-q", default="", shell_complete=QUEUES, help="Only pods whose PodGroup is in this queue.")
@click.option(
    "--scheduler-name",
    default=DEFAULT_SCHEDULER_NAME,
    show_default=True,
    help="List pods without a PodGroup, too, if they have this schedulerName.",
)
@list_options
def list_(job: str, queue: str, scheduler_name: str, listed: Listed) -> None:
    """List pods with their job, queue and node, and what they wait for."""
    listed.show(lambda client, namespace: _shown(client, namespace, job, queue, scheduler_name))


def _shown(client: KubernetesClient, namespace: str, job: str, queue: str, scheduler_name: str) -> Shown:
    """Pods of a namespace ("": of all); `job` and `queue` may be "", for any."""
    from volcano_py.cli.queues.of_pods import QueuesOfPods
    from volcano_py.cluster.kubernetes.watching.kinds import POD
    from volcano_py.operator.kube_api import pod_path

    queues = QueuesOfPods(client, namespace)

    def keep(obj: JsonObject) -> bool:
        annotations, spec = obj["metadata"].get("annotations") or {}, obj.get("spec") or {}
        is_ours = GROUP_NAME in annotations or spec.get("schedulerName") == scheduler_name
        return is_ours and (not queue or queues.of(obj) == queue)

    return Shown(
        api_version="v1",
        kind="Pod",
        path=pod_path(namespace) if namespace else POD.path,
        header=HEADER,
        row=lambda obj, now: pod_row(obj, queues.of(obj), now),
        state_column=_STATUS_COLUMN,
        numbers=("READY", "RESTARTS"),
        spare=SPARE,
        flows=True,
        params={"labelSelector": label_selector({JOB_NAME: job})} if job else {},
        keep=keep,
        prepare=queues.learn,
    )


def pod_row(obj: JsonObject, queue: str, now: float) -> Cells:
    """The cells of a pod in this queue under `HEADER`; `now` is in seconds since the epoch.

    Raises:
        msgspec.ValidationError: it cannot be read.
    """
    each = msgspec.convert(obj, Pod)
    metadata, containers = each.metadata, obj.get("status", {}).get("containerStatuses") or []
    ready = sum(bool(container.get("ready")) for container in containers)
    restarts = sum(container.restart_count for container in each.status.container_statuses)
    return (
        metadata.namespace,
        metadata.name,
        plain(metadata.labels.get(JOB_NAME, "")) or "-",
        plain(queue) or "-",
        f"{ready}/{len(each.spec.containers)}",
        phase_text("Terminating" if metadata.deletion_timestamp else each.status.phase),
        str(restarts),
        age_of(metadata.creation_timestamp, now),
        each.spec.node_name or "-",
        plain(why_it_waits(each)) or "-",
    )


def why_it_waits(each: Pod) -> str:
    """Its message while it waits for a node; "" for one that is being deleted."""
    return why_pod_waits(each) if each.metadata.deletion_timestamp is None else ""
