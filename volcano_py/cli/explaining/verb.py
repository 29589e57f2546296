"""`volcano-py explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from volcano_py.api.names import SCHEDULING_API
from volcano_py.cli.options.captured import Source, captured_configuration, say_unread, source_options
from volcano_py.cli.options.cluster_access import DEFAULT_NAMESPACE, namespace_of, namespace_option, on_cluster
from volcano_py.cli.options.live_names import QUEUES, all_of, names_of
from volcano_py.cli.options.names import SUBDOMAIN
from volcano_py.cli.options.object_names import kind_and_name
from volcano_py.cli.printing.one_line import plain
from volcano_py.cli.printing.output import log_aside, output_option, print_data
from volcano_py.jobs.model import BATCH_API, JOB_KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from volcano_py.capture.model import Capture, CapturedEvent, Unread
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.explain.model import Entry
    from volcano_py.explain.world import World

EPILOG = """\b
Examples:
  volcano-py explain podgroup train               # the live cluster, read with your own rights
  volcano-py explain job/train -n research -o json
  volcano-py explain deployment/web               # its pods that name this scheduler
  volcano-py explain cronjob nightly              # when it runs next, and its Jobs
  volcano-py explain queue team-a
  volcano-py explain node gpu-1 --from cluster.capture
  volcano-py explain podgroup train --record /var/lib/volcano-py/record

The scheduler runs over a copy in memory; nothing is written. Each remedy has been tried on that copy.
"""
_OWN_JOBS: Final = names_of("batch/v1", "Job")
_OWN_CRON_JOBS: Final = names_of("batch/v1", "CronJob")
_APPS: Final = ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
_NAMES: Final = {
    "podgroup": names_of(SCHEDULING_API, "PodGroup"),
    "job": all_of(names_of(BATCH_API, JOB_KIND), _OWN_JOBS),
    **{kind.lower(): names_of("apps/v1", kind) for kind in _APPS},
    "job.batch": _OWN_JOBS,
    "cronjob": all_of(names_of(BATCH_API, "CronJob"), _OWN_CRON_JOBS),
    "cronjob.batch": _OWN_CRON_JOBS,
    "pod": names_of("v1", "Pod"),
    "queue": QUEUES,
    "node": names_of("v1", "Node", namespaced=False),
}


@click.command(epilog=EPILOG)
@kind_and_name(_NAMES, SUBDOMAIN)
@namespace_option
@click.option(
    "--scheduler-conf",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="volcano-scheduler.conf, or a ConfigMap with one in it. [default: that of the cluster]",
)
@source_options
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder that `volcano-py run --record` writes: the history of a workload has each decision, too.",
)
@output_option()
def explain(
    kind: str,
    name: str,
    namespace: str | None,
    scheduler_conf: Path | None,
    source: Source,
    record: Path | None,
    output: str,
) -> None:
    """Say why a workload waits and what would help, how a queue stands, or what a node still takes.

    KIND is podgroup, job or cronjob (Volcano's, or else Kubernetes'), deployment, statefulset, replicaset, daemonset,
    job.batch or cronjob.batch (Kubernetes' alone), pod, queue or node, and may be written as kubectl has it: explain
    pg/train, explain deploy/web.

    The scheduler runs over a copy of the live cluster, or over a file (--from), until nothing changes.
    """
    from volcano_py.capture.start import rules_of
    from volcano_py.cli.explaining.drawing import drawn
    from volcano_py.cli.explaining.naming import as_called
    from volcano_py.daemon.garbage import collect_seldom
    from volcano_py.explain.target import ExplainError
    from volcano_py.explain.world import World
    from volcano_py.record.segments import RecordError
    from volcano_py.scheduler import builtin_registry

    log_aside()
    collect_seldom()
    registry = builtin_registry().with_installed()
    capture = source.capture(namespace=namespace, says_unread=False)
    about = None if kind in ("queue", "node") else surroundings(source, namespace, capture)
    configuration = captured_configuration(capture, scheduler_conf, registry)
    # Warnings are about objects of the whole cluster; the explanation has those about what is asked for.
    log_aside(only_errors=True)
    world = World(capture.items, configuration, registry, rules=rules_of(capture), live=capture.taken)
    try:
        if kind in ("cronjob", "cronjob.batch") and about is not None:
            explanation = _of_cron_job(world, kind, name, capture, about, source, record)
        else:
            explanation = _explained(world, kind, name, capture, about, record)
    except RecordError as error:
        raise click.ClickException(str(error)) from error
    except ExplainError as error:
        raise click.ClickException(_not_found(kind, name, str(error), capture)) from error
    if output == "table":
        for line in drawn(as_called(explanation, world.simulation.called())):
            click.echo(line)
    else:
        print_data(msgspec.to_builtins(explanation), output)


def _not_found(kind: str, name: str, error: str, capture: Capture) -> str:
    """The error; what could not be read, among which it may be, is reported on standard error."""
    from volcano_py.capture.kinds import RIGHTS, essentials, in_short

    missing = essentials(capture.unread)
    own = {"queue": "Queue", "node": "Node", "podgroup": "PodGroup"}.get(kind, "Pod")
    if why := next((each.why for each in missing if each.what == own), ""):
        return f"{kind} {name} cannot be explained: {why}; {RIGHTS}"
    if missing:
        for line in in_short(capture.unread, RIGHTS):
            click.echo(plain(line), err=True)
    else:
        say_unread(capture)
    return error


def _explained(
    world: World,
    kind: str,
    name: str,
    capture: Capture,
    about: tuple[str, tuple[CapturedEvent, ...], Unread | None] | None,
    record: Path | None,
) -> Any:
    from volcano_py.capture.kinds import RIGHTS, essentials, in_short
    from volcano_py.explain.history import no_story
    from volcano_py.explain.of_node import explain_node
    from volcano_py.explain.of_queue import explain_queue
    from volcano_py.explain.of_workload import explain_workload

    unread = list(capture.unread)
    if about is None:
        found: Any = explain_queue(world, name) if kind == "queue" else explain_node(world, name)
    else:
        where, events, refused = about
        unread += [refused] if refused is not None else []
        story = no_story if record is None else _story_in(record, capture.taken)
        decides = not essentials(unread)
        found = explain_workload(world, kind, f"{where}/{name}", events, story, decides=decides)
        if not decides:
            so = f"the answer has only what the scheduler has written: {RIGHTS}"
            return msgspec.structs.replace(found, unread=in_short(unread, so))
    return msgspec.structs.replace(found, unread=tuple(map(str, unread)))


def _of_cron_job(
    world: World,
    kind: str,
    name: str,
    capture: Capture,
    about: tuple[str, tuple[CapturedEvent, ...], Unread | None],
    source: Source,
    record: Path | None,
) -> Any:
    from datetime import UTC, datetime

    from volcano_py.capture.kinds import RIGHTS, essentials, in_short
    from volcano_py.cli.explaining.cron_jobs import cron_of
    from volcano_py.explain.history import no_story
    from volcano_py.explain.of_cron_job import explain_cron_job
    from volcano_py.explain.target import ExplainError

    where, events, refused = about
    cron, hidden = cron_of(source, kind, where, name)
    story = no_story if record is None else _story_in(record, capture.taken)
    now = datetime.fromtimestamp(capture.taken, UTC)
    unread = [each for each in (hidden, *capture.unread, refused) if each is not None]
    decides = not essentials(unread)
    try:
        found = explain_cron_job(world, kind, f"{where}/{name}", cron, now, events, story, decides=decides)
    except ExplainError:
        if hidden is not None:
            click.echo(plain(str(hidden)), err=True)
        raise
    so = f"the answer has only what the scheduler has written: {RIGHTS}"
    return msgspec.structs.replace(found, unread=tuple(map(str, unread)) if decides else in_short(unread, so))


def _story_in(directory: Path, until: float) -> Callable[[str], Iterable[Entry]]:
    """What a record has of a PodGroup, before `until` (seconds since the epoch)."""
    from datetime import UTC, datetime

    from volcano_py.explain.history import moment
    from volcano_py.explain.model import Entry
    from volcano_py.record.history import of_pod_group
    from volcano_py.record.segments import segments

    def story(group: str) -> Iterable[Entry]:
        for each in of_pod_group(segments(directory), group):
            if each.at < until:
                at = moment(datetime.fromtimestamp(each.at, UTC))
                yield Entry(at, f"PodGroup {group}", f"{each.what} {each.text}".rstrip())

    return story


def surroundings(
    source: Source, namespace: str | None, capture: Capture
) -> tuple[str, tuple[CapturedEvent, ...], Unread | None]:
    """The namespace, by default that of the kubeconfig's context, and its events. Files have no context; captures have
    the events."""
    if source.files:
        return namespace or DEFAULT_NAMESPACE, capture.events or (), None

    async def work(client: KubernetesClient) -> tuple[str, tuple[CapturedEvent, ...], Unread | None]:
        from volcano_py.capture.events import events_in

        where = namespace_of(client, namespace)
        return where, *await events_in(client, where)

    return on_cluster(source.kubeconfig, source.context, work)
