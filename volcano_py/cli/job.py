"""`volcano-py job`: Volcano's jobs, in the words of vcctl."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from volcano_py.api.effects import JsonObject
from volcano_py.cli.api_objects import on_objects
from volcano_py.cli.jobs import requests, rows
from volcano_py.cli.jobs.commands import RESUME, SUSPEND, Ask
from volcano_py.cli.jobs.following import describe_with_events, follow, shown_jobs
from volcano_py.cli.jobs.making import Wanted, job_of, jobs_of
from volcano_py.cli.options.amounts import AMOUNTS
from volcano_py.cli.options.cluster_access import (
    cluster_options,
    namespace_of,
    namespace_option,
)
from volcano_py.cli.options.listing import Listed, list_options
from volcano_py.cli.options.live_names import QUEUES, names_of, no_names
from volcano_py.cli.options.manifests import read_documents
from volcano_py.cli.options.names import LABEL
from volcano_py.cli.options.object_names import name_option
from volcano_py.cli.printing.output import output_option, print_data
from volcano_py.cli.printing.show import watch_option
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.jobs.model import BATCH_API, JOB_KIND

EPILOG = """\b
Examples:
  volcano-py job run train --image busybox --replicas 4 --min 2 --requests cpu=2,memory=4Gi --queue research
  volcano-py job run -f train.yaml
  volcano-py job list --all-namespaces --queue research --watch
  volcano-py job view train
  volcano-py job view train --watch
  volcano-py job suspend train
  volcano-py job resume train
  volcano-py job delete train
"""
_DEFAULTS: Final = Wanted(name="")

_JOBS: Final = names_of(BATCH_API, JOB_KIND)
_name: Final = name_option("-N", LABEL, _JOBS, required=True, text="Name of the job.", noun="job")


@click.group(epilog=EPILOG)
def job() -> None:
    """Run, show, suspend, resume and delete Volcano Jobs."""


@job.command()
@name_option("-N", LABEL, no_names, required=False, text="Name of the job; required without --filename.", noun="job")
@namespace_option
@click.option(
    "--filename",
    "-f",
    "filenames",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="Manifest file or folder of Jobs instead of the options that describe one (repeatable); - reads standard"
    " input.",
)
@click.option("--image", "-i", help=f"Image of the pods' container. [default: {_DEFAULTS.image}]")
@click.option(
    "--min",
    "-m",
    "min_available",
    type=click.IntRange(min=1),
    help="Number of pods that start together or not at all. [default: 1]",
)
@click.option("--replicas", "-r", type=click.IntRange(min=1), help="Number of pods. [default: 1]")
@click.option(
    "--requests",
    "-R",
    type=AMOUNTS,
    help="What each pod asks for. [default: the limits, or else cpu=1000m,memory=100Mi]",
)
@click.option("--limits", "-L", type=AMOUNTS, help="What each pod may use. [default: the requests]")
@click.option("--scheduler", "-S", help=f"Scheduler of the pods. [default: {_DEFAULTS.scheduler}]")
@click.option(
    "--queue",
    "-q",
    shell_complete=QUEUES,
    help="Queue that the job is charged to. [default: the cluster's default queue]",
)
@cluster_options
@output_option()
def run(
    namespace: str | None,
    filenames: tuple[Path, ...],
    kubeconfig: Path | None,
    context: str | None,
    output: str,
    **described: Any,
) -> None:
    """Create a job of equal pods, or the jobs of a manifest."""
    given = {option: value for option, value in described.items() if value is not None}
    if filenames and given:
        option = "--" + min(given).replace("min_available", "min")
        raise click.UsageError(f"--filename describes the job, and so does {option}: use only one of them")
    if not filenames and "name" not in given:
        raise click.UsageError("name the job, or its manifest with --filename")
    make = _from_manifests(filenames, namespace) if filenames else partial(_described, Wanted(**given))

    async def work(client: KubernetesClient) -> list[JsonObject]:
        made = []
        for each in make(namespace_of(client, namespace)):
            made.append(await requests.JOB.create(client, each))
            if output == "table":
                metadata = made[-1]["metadata"]
                click.echo(f"job {metadata['namespace']}/{metadata['name']} created")
        return made

    made = on_objects(kubeconfig, context, work)
    if output != "table":
        print_data(made[0] if len(made) == 1 else {"apiVersion": "v1", "kind": "List", "items": made}, output)


def _described(wanted: Wanted, namespace: str) -> list[JsonObject]:
    return [job_of(wanted, namespace)]


def _from_manifests(filenames: tuple[Path, ...], asked: str | None) -> Callable[[str], list[JsonObject]]:
    documents = read_documents(filenames)
    return lambda namespace: jobs_of(documents, asked, namespace)


@job.command("list")
@click.option("--queue", "-q", default="", shell_complete=QUEUES, help="Only jobs of this queue.")
@click.option("--selector", default="", metavar="TEXT", help="Only jobs with this in their name.")
@click.option("--scheduler", "-S", default="", help="Only jobs for this scheduler.")
@list_options
def list_(queue: str, selector: str, scheduler: str, listed: Listed) -> None:
    """List jobs."""
    chosen = rows.Chosen(queue=queue, scheduler=scheduler, part_of_name=selector)
    listed.show(lambda client, namespace: shown_jobs(client, namespace, keep=chosen))


@job.command()
@_name
@namespace_option
@watch_option
@cluster_options
@output_option()
def view(
    name: str, namespace: str | None, watch: bool, kubeconfig: Path | None, context: str | None, output: str
) -> None:
    """Describe a job: its phase and why, its tasks and their pods, what happened to it."""

    async def work(client: KubernetesClient) -> None:
        where = namespace_of(client, namespace)
        found = await requests.JOB.read(client, where, name)
        if watch:
            await follow(client, where, name, output)
        elif output == "table":
            await describe_with_events(client, found)
        else:
            print_data(found, output)

    on_objects(kubeconfig, context, work)


@job.command()
@_name
@namespace_option
@cluster_options
def suspend(name: str, namespace: str | None, kubeconfig: Path | None, context: str | None) -> None:
    """Suspend a job: its unfinished pods are deleted, and it can be resumed."""
    _issue(SUSPEND, name, namespace, kubeconfig, context)


@job.command()
@_name
@namespace_option
@cluster_options
def resume(name: str, namespace: str | None, kubeconfig: Path | None, context: str | None) -> None:
    """Resume a suspended job: its pods are created again."""
    _issue(RESUME, name, namespace, kubeconfig, context)


def _issue(ask: Ask, name: str, namespace: str | None, kubeconfig: Path | None, context: str | None) -> None:
    async def work(client: KubernetesClient) -> str:
        where = namespace_of(client, namespace)
        await requests.issue(client, ask, where, name)
        return where

    where = on_objects(kubeconfig, context, work)
    click.echo(f"job {where}/{name} is being {ask.doing}")


@job.command()
@_name
@namespace_option
@cluster_options
def delete(name: str, namespace: str | None, kubeconfig: Path | None, context: str | None) -> None:
    """Delete a job with its pods."""

    async def work(client: KubernetesClient) -> str:
        where = namespace_of(client, namespace)
        await requests.JOB.delete(client, where, name)
        return where

    where = on_objects(kubeconfig, context, work)
    click.echo(f"job {where}/{name} deleted")
