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


class _Waits:
    """What the PodGroups of listed jobs wait for, as read when the jobs were, or changed."""

    def __init__(self, client: KubernetesClient, namespace: str) -> None:
        self._client, self._namespace = client, namespace
        self._reasons: dict[tuple[str, str], str] = {}

    async def read(self, found: Sequence[JsonObject]) -> None:
        if any(requests.may_wait(each) for each in found):
            self._reasons = await requests.why_groups_wait(self._client, self._namespace)

    def row(self, found: JsonObject, now: float) -> Cells:
        reason = self._reasons.get(requests.group_key(found), "")
        return rows.job_row(found, now, requests.what_it_waits_for(found, reason))


def shown_jobs(
    client: KubernetesClient,
    namespace: str,
    *,
    keep: Callable[[JsonObject], bool],
    params: Mapping[str, str | int] | None = None,
) -> Shown:
    """Jobs of a namespace ("": of all) as rows; `params` are those of the list."""
    waits = _Waits(client, namespace)
    return Shown(
        api_version=BATCH_API,
        kind=JOB_KIND,
        path=requests.JOB.path(namespace),
        header=rows.HEADER,
        row=waits.row,
        state_column=rows.PHASE_COLUMN,
        numbers=rows.NUMBERS,
        spare=rows.SPARE,
        params=params or {},
        flows=True,
        keep=keep,
        prepare=waits.read,
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
