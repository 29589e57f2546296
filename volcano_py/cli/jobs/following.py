"""Jobs as they are and as they change: lists of them, and one that is described again after each change."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing

import click

from volcano_py.api.effects import JsonObject
from volcano_py.cli.jobs import requests, rows
from volcano_py.cli.jobs.viewing import describe
from volcano_py.cli.printing.changes import changes, with_pauses
from volcano_py.cli.printing.listing import Cells
from volcano_py.cli.printing.output import console
from volcano_py.cli.printing.show import Shown, show
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.paths import field_selector
from volcano_py.jobs.model import BATCH_API, JOB_KIND, VolcanoJob

LOOK_AGAIN = 3.0
"""Seconds until the PodGroup of a job that does not change is asked again what it waits for."""


class _Groups:
    """What the PodGroups of listed jobs wait for, and their queues, as read when the jobs were, or changed."""

    def __init__(self, client: KubernetesClient, namespace: str) -> None:
        self._client, self._namespace = client, namespace
        self._read: dict[tuple[str, str], requests.OfGroup] = {}
        self._asked: set[tuple[str, str]] = set()
        """Jobs without a queue of their own for whose PodGroups it was asked."""

    async def read(self, found: Sequence[JsonObject]) -> None:
        asked = {requests.group_key(each) for each in found if rows.names_no_queue(each)}
        if any(requests.may_wait(each) for each in found) or not asked <= self._asked:
            self._read = await requests.groups_of_jobs(self._client, self._namespace)
        self._asked |= asked

    def row(self, found: JsonObject, now: float) -> Cells:
        group = self._read.get(requests.group_key(found))
        why = "" if group is None else requests.what_it_waits_for(found, group.waits)
        return rows.job_row(self.charged(found), now, why)

    def charged(self, found: JsonObject) -> JsonObject:
        """The job with the queue of its PodGroup, which its namespace may have named."""
        group = self._read.get(requests.group_key(found))
        if group is None or not group.queue or not rows.names_no_queue(found):
            return found
        return {**found, "spec": {**found.get("spec", {}), "queue": group.queue}}


def shown_jobs(
    client: KubernetesClient,
    namespace: str,
    *,
    keep: Callable[[JsonObject], bool],
    params: Mapping[str, str | int] | None = None,
) -> Shown:
    """Jobs of a namespace ("": of all) as rows; `params` are those of the list."""
    groups = _Groups(client, namespace)
    return Shown(
        api_version=BATCH_API,
        kind=JOB_KIND,
        path=requests.JOB.path(namespace),
        header=rows.HEADER,
        row=groups.row,
        state_column=rows.PHASE_COLUMN,
        numbers=rows.NUMBERS,
        spare=rows.SPARE,
        params=params or {},
        flows=True,
        keep=lambda found: keep(groups.charged(found)),
        prepare=groups.read,
    )


async def describe_with_events(client: KubernetesClient, found: JsonObject) -> None:
    """Print what there is to know of the job.

    Raises:
        UnfitObjectError: it cannot be read.
    """
    job = requests.decoded(found)
    await _describe(client, found, job, await _what_it_waits_for(client, found, job))


async def _what_it_waits_for(client: KubernetesClient, found: JsonObject, job: VolcanoJob) -> str:
    if not requests.may_wait(found):
        return ""
    return requests.what_it_waits_for(found, await requests.why_its_group_waits(client, job))


async def _describe(client: KubernetesClient, found: JsonObject, job: VolcanoJob, waits: str) -> None:
    events = await requests.JOB.events_of(client, found)
    describe(console(), job, events, time.time(), waits=waits)


async def follow(client: KubernetesClient, namespace: str, name: str, output: str) -> None:
    """Describe one job, and again each time that its spec, its status or what it waits for changes; as data, a document
    for each change of the job.

    Never returns.

    Raises:
        RequestError: the server refuses, or cannot be reached any more.
        UnfitObjectError: the job cannot be read.
    """
    shown = shown_jobs(
        client, namespace, keep=rows.Chosen(), params={"fieldSelector": field_selector({"metadata.name": name})}
    )
    if output != "table":
        await show(client, shown, output, watch=True)
        return
    found: JsonObject | None = None
    said: tuple[object, ...] | None = None
    async with aclosing(with_pauses(changes(client, shown.path, shown.params), LOOK_AGAIN)) as news:
        async for batch in news:
            for change in batch:
                found = None if change.deleted else change.object
                if change.deleted:
                    said = None
                    click.echo(f"\njob {namespace}/{name} is deleted")
            if found is None:
                continue
            job = requests.decoded(found)
            waits = await _what_it_waits_for(client, found, job)
            now = found.get("spec"), found.get("status"), waits
            if now != said:
                if said is not None:
                    click.echo()
                said = now
                await _describe(client, found, job, waits)
