"""resourcequota: a job is admitted only if the ResourceQuotas of its namespace have room for its future pods.

Otherwise the API server would refuse some of its pods after it was admitted, and a gang would hold places it cannot
fill.
"""

from __future__ import annotations

from collections.abc import Mapping

from volcano_py.api.quantity import Rounding
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_ceilings import over_quota
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.votes import PERMIT, Ballot, reject
from volcano_py.state.infos import JobInfo
from volcano_py.state.queues.quotas import LIMITS, REQUESTS, Quota, quota_units, resource_of
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import FINISHED_STATUSES
from volcano_py.state.table.table import Rows

Asked = dict[str, int]
"""What a job will use beyond what its pods use already, by the quota's names, in whole units."""


class ResourceQuota(Plugin):
    """Votes on jobs with minResources.

    `used` of a quota counts pods that exist; admitted jobs whose pods do not exist yet count as promised. Quotas with
    scopes are left to the API server.
    """

    name = "resourcequota"
    sees_jobs_alike = True
    evictions_last = True

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._promised: dict[str, list[Asked]] = {}
        """Namespace → for each of its quotas what was promised."""

    def job_enqueueable(self, job: Job) -> Ballot:
        quotas = self._ssn.snapshot.quotas.get(job.namespace, ())
        for quota, promised in zip(quotas, self._promises(job.namespace), strict=True):
            for name, asked in self._asked(job.row, job.info, quota).items():
                used, kept = quota.used.get(name, 0), promised.get(name, 0)
                if asked and used + kept + asked > quota.hard[name]:
                    text = over_quota(
                        job.namespace,
                        quota.name,
                        name,
                        resource=resource_of(name),
                        used=used,
                        promised=kept,
                        asked=asked,
                        hard=quota.hard[name],
                    )
                    return reject(Reason.OVER_QUOTA, text)
        return PERMIT

    def job_enqueued(self, job: Job) -> None:
        quotas = self._ssn.snapshot.quotas.get(job.namespace, ())
        for quota, promised in zip(quotas, self._promises(job.namespace), strict=True):
            _add(promised, self._asked(job.row, job.info, quota))

    def _promises(self, namespace: str) -> list[Asked]:
        """What each quota of the namespace is promised, worked out when first asked for."""
        known = self._promised.get(namespace)
        if known is not None:
            return known
        quotas = self._ssn.snapshot.quotas.get(namespace, ())
        known = self._promised[namespace] = [{} for _ in quotas]
        if quotas:
            for row, info in self._admitted_jobs(namespace):
                for quota, promised in zip(quotas, known, strict=True):
                    _add(promised, self._asked(row, info, quota))
        return known

    def _admitted_jobs(self, namespace: str) -> list[tuple[int, JobInfo]]:
        """Jobs of the namespace in phase Inqueue."""
        ssn, jobs = self._ssn, self._ssn.ledger.jobs
        rows = ssn.job_rows()
        rows = rows[jobs.has_min_resources[rows] & (jobs.phase[rows] == Phase.INQUEUE)]
        found = [(row, info) for row in rows.tolist() if (info := ssn.snapshot.jobs[row]) is not None]
        return [(row, info) for row, info in found if info.ref.namespace == namespace]

    def _asked(self, row: int, info: JobInfo, quota: Quota) -> Asked:
        """minResources by the quota's names, without what the job's pods have in `used`."""
        rows = self._ssn.tasks_of_row(row)
        rows = rows[~FINISHED_STATUSES[self._ssn.ledger.tasks.status[rows]]]
        written = quota_units(info.min_resources, Rounding.UP)
        return {
            name: asked for name in quota.hard if (asked := self._lacking(name, written, rows, info.min_member)) > 0
        }

    def _lacking(self, name: str, written: Mapping[str, int], rows: Rows, min_member: int) -> int:
        resource = resource_of(name)
        if resource == "pods":
            return max(written.get(name, min_member), min_member) - len(rows)
        asked = written.get(name)
        if name.startswith(LIMITS):
            # Limits of pods are not kept; what is lacking of the limits is taken to be what is lacking of the pods.
            missing = max(min_member - len(rows), 0)
            return (asked or 0) * missing // max(min_member, 1) if len(rows) else (asked or 0)
        if asked is None:
            asked = written.get(resource, written.get(f"{REQUESTS}{resource}", 0))
        position = self._ssn.axis.index(resource)
        if position is None or not len(rows):
            return asked
        ledger = self._ssn.ledger
        return asked - int(ledger.classes.request[ledger.tasks.task_class[rows], position].sum())


def _add(total: Asked, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount
