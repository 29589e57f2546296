"""The plugin: which shares answer at which extension point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job, Placement, Task
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.plugins.drf.job_shares import JobShares
from volcano_py.plugins.drf.namespaces import NamespaceShares
from volcano_py.plugins.drf.preemption import by_jobs, by_namespaces_and_jobs
from volcano_py.state.axis import IntVector
from volcano_py.state.infos import QueueInfo
from volcano_py.state.ledger import Rows


class Drf(Plugin):
    """Dominant resource fairness: whose largest part of any resource of the cluster is smallest goes first.

    (Ghodsi et al., Dominant Resource Fairness, NSDI 2011.)

    Between jobs always. Between the namespaces of a queue with `enableNamespaceOrder`: what a namespace's jobs hold in
    the queue, over the weight that its ResourceQuotas give it in `spec.hard["volcano.sh/namespace.weight"]`.
    """

    name = "drf"
    unsupported_flags = {"hierarchy": "hierarchical fair share between queues is not available yet"}

    def on_session_open(self, ssn: Session) -> None:
        self._tasks = ssn.ledger.tasks
        self._requests = ssn.ledger.classes.request
        self._jobs = JobShares(ssn)
        self._namespaces = NamespaceShares(ssn, self._jobs) if self.flags.namespace_order else None

    # -- order -----------------------------------------------------------------------------------------------------

    def job_order(self, job: Job) -> Key:
        return float(self._jobs.shares[job.row])

    def namespace_order(self, queue: QueueInfo, namespace: str) -> Key:
        return self._namespaces.share(queue, namespace) if self._namespaces is not None else 0.0

    # -- victims ---------------------------------------------------------------------------------------------------

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        """Pods of namespaces, or else jobs, that keep as much as the preemptor's gets."""
        jobs = self._tasks.job[candidates]
        requests = self._requests[self._tasks.task_class[candidates]]
        if self._namespaces is None:
            return by_jobs(self._jobs, preemptor, jobs, requests)
        return by_namespaces_and_jobs(self._jobs, self._namespaces, preemptor, jobs, requests)

    # -- events ----------------------------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        self._book(placement.job, placement.request)

    def on_deallocate(self, placement: Placement) -> None:
        self._book(placement.job, -placement.request)

    def _book(self, job: Job, amount: IntVector) -> None:
        self._jobs.book(job.row, amount)
        if self._namespaces is not None:
            self._namespaces.book(job, amount)
