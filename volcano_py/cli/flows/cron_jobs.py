"""`volcano-py cronjob`: Jobs that are created again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click
import msgspec
from rich.console import Console

from volcano_py.api.effects import JsonObject
from volcano_py.cli.api_objects import ObjectKind, on_objects
from volcano_py.cli.flows.verbs import KindView, add_verbs, name_of_kind
from volcano_py.cli.jobs.rows import age_of, cell
from volcano_py.cli.jobs.viewing import print_facts, print_section
from volcano_py.cli.options.cluster_access import cluster_options, namespace_of, namespace_option
from volcano_py.cli.printing.listing import Cells, phase_text
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.jobs.crons.plan import CRON_KIND, CronJob, problem_of
from volcano_py.jobs.model import BATCH_API

EPILOG: Final = """\b
Examples:
  volcano-py cronjob create -f nightly.yaml
  volcano-py cronjob list --all-namespaces
  volcano-py cronjob describe nightly
  volcano-py cronjob suspend nightly
  volcano-py cronjob resume nightly
  volcano-py cronjob delete nightly
"""
_KIND: Final = ObjectKind("cronjob", BATCH_API, CRON_KIND)
_NUMBERS: Final = ("JOBS",)
_HEADER: Final = ("NAMESPACE", "NAME", "STATE", "SCHEDULE", "TIME ZONE", *_NUMBERS, "LAST", "AGE", "PROBLEM")
_JOB_HEADER: Final = ("JOB",)


@click.group(epilog=EPILOG)
def cronjob() -> None:
    """Create, show, suspend, resume and delete CronJobs of Volcano Jobs."""


def row(found: JsonObject, now: float) -> Cells:
    """The cells of a CronJob in the list; `now` is in seconds since the epoch.

    Raises:
        msgspec.ValidationError: it cannot be read.
    """
    cron = msgspec.convert(found, CronJob)
    problem = problem_of(cron)
    return (
        cell(cron.metadata.namespace),
        cell(cron.metadata.name),
        phase_text(_state(cron, problem)),
        cell(cron.spec.schedule),
        cell(cron.spec.time_zone or ""),
        cell(len(cron.status.active)),
        age_of(cron.status.last_schedule_time, now),
        age_of(cron.metadata.creation_timestamp, now),
        cell(problem),
    )


def describe(out: Console, found: JsonObject, now: float) -> None:
    """Print what there is to know of a CronJob.

    Raises:
        msgspec.ValidationError: it cannot be read.
    """
    cron = msgspec.convert(found, CronJob)
    spec, status, problem = cron.spec, cron.status, problem_of(cron)
    facts = {
        "Name": cron.metadata.name,
        "Namespace": cron.metadata.namespace,
        "Age": age_of(cron.metadata.creation_timestamp, now),
        "State": _state(cron, problem),
        **({"Problem": problem} if problem else {}),
        "Schedule": spec.schedule,
        "Time zone": spec.time_zone or "that of the controllers",
        "Concurrency": spec.concurrency_policy,
        "Last scheduled": age_of(status.last_schedule_time, now),
        "Last success": age_of(status.last_successful_time, now),
    }
    print_facts(out, [(name, cell(text)) for name, text in facts.items()])
    if status.active:
        print_section(out, _JOB_HEADER, [(cell(each.name),) for each in status.active])


def _state(cron: CronJob, problem: str) -> str:
    if problem:
        return "Invalid"
    return "Suspended" if cron.spec.suspend else "Active"


@cronjob.command()
@name_of_kind(_KIND, required=True)
@namespace_option
@cluster_options
def suspend(name: str, namespace: str | None, kubeconfig: Path | None, context: str | None) -> None:
    """Create no more Jobs; those that run go on."""
    _set_suspended(True, name, namespace, kubeconfig, context)


@cronjob.command()
@name_of_kind(_KIND, required=True)
@namespace_option
@cluster_options
def resume(name: str, namespace: str | None, kubeconfig: Path | None, context: str | None) -> None:
    """Create Jobs again when they are due."""
    _set_suspended(False, name, namespace, kubeconfig, context)


def _set_suspended(
    suspended: bool, name: str, namespace: str | None, kubeconfig: Path | None, context: str | None
) -> None:
    async def work(client: KubernetesClient) -> str:
        where = namespace_of(client, namespace)
        await _KIND.patch(client, where, name, {"spec": {"suspend": suspended}})
        return where

    where = on_objects(kubeconfig, context, work)
    click.echo(f"cronjob {where}/{name} is {'suspended' if suspended else 'resumed'}")


add_verbs(
    cronjob,
    KindView(
        kind=_KIND,
        header=_HEADER,
        row=row,
        state_column=_HEADER.index("STATE"),
        numbers=_NUMBERS,
        describe=describe,
        flows=True,
    ),
)
