"""The effects that bind tasks which have places."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from volcano_py.api.effects import NO_ANNOTATIONS, Bind, ClaimBinding, Effect
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.findings import Findings
from volcano_py.framework.job import Job
from volcano_py.state.table.table import NOWHERE, Rows

_NO_CLAIMS: Final[tuple[tuple[ClaimBinding, ...], float]] = ((), 0.0)


def bindings(cluster: ClusterCopy, findings: Findings, jobs: Iterable[Job], rows: Rows, nodes: Rows) -> list[Effect]:
    """Bind tasks `rows` [K], each of the job [K] beside it, to nodes `nodes` [K], in this order."""
    infos, info_of, claims = cluster.snapshot.nodes, cluster.task_info, findings.claim_bindings
    annotations, devices = findings.annotations, findings.device_bindings
    tasks = cluster.ledger.tasks
    created, jobs_created = tasks.created[rows].tolist(), cluster.ledger.jobs.created[tasks.job[rows]].tolist()
    return [
        Bind(
            info_of(row).ref,
            infos[node].name,
            job.key,
            job.queue.name,
            moment,
            *claims.get(row, _NO_CLAIMS),
            job_created,
            annotations.get(row, NO_ANNOTATIONS),
            devices.get(row, ()),
        )
        for job, row, node, moment, job_created in zip(
            jobs, rows.tolist(), nodes.tolist(), created, jobs_created, strict=True
        )
        if node != NOWHERE
    ]
