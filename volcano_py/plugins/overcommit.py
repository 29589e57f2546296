"""overcommit: admit jobs up to a factor of the cluster's resources, so that pods that cannot be placed do not pile
up.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain_ceilings import cluster_overcommitted
from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.flags import Flags
from volcano_py.config.values import AtLeast
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.votes import PERMIT, Ballot, reject
from volcano_py.plugins.amounts.shares import sums_by_group
from volcano_py.plugins.queues.inqueue_requests import InqueueRequests
from volcano_py.plugins.queues.takings import Takings
from volcano_py.state.table.axis import PODS


class OvercommitArguments(Arguments):
    factor: Annotated[float, AtLeast(1.0, otherwise=1.2)] = argument(
        "overcommit-factor",
        1.2,
        "Factor of the cluster's resources that pods may use and jobs may be promised together.",
    )


class Overcommit(Plugin):
    """Votes on jobs with minResources; those without are always admitted.

    Admitted jobs count with what they do not hold yet of theirs: what they hold is in use already. What `reclaim` or
    `preempt` could free for a job counts as free, if the action is configured.
    """

    name = "overcommit"
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = OvercommitArguments

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        # As written: 1.15 of 100 devices are 115, not the 114.99… of binary floats.
        self._factor = Fraction(repr(arguments.factor))

    def on_session_open(self, ssn: Session) -> None:
        nodes = ssn.ledger.nodes
        self._names, self._shard = ssn.axis.names, ssn.snapshot.hard_shard
        self._total: list[int] = ssn.total.tolist()
        self._limit = [int(amount * self._factor) for amount in self._total]
        self._used: list[int] = (nodes.used[nodes.present].sum(axis=0) + ssn.elsewhere).tolist()
        self._takings = ssn.shared(Takings)
        self._promises = promises = ssn.shared(InqueueRequests)
        each = promises.outstanding(promises.rows)
        is_apart = promises.rows == ssn.findings.nodes_held_for
        self._apart: list[int] = each[is_apart].sum(axis=0).tolist()
        """[R] promised to the job for which nodes are held: others are kept from those, and may have the rest."""
        each = each[~is_apart]
        self._promised: list[int] = sums_by_group(np.zeros(len(each), dtype=np.intp), each, 1)[0].tolist()

    def job_enqueueable(self, job: Job) -> Ballot:
        if job.min_resources is None:
            return PERMIT
        wanted = job.min_resources.tolist()
        if self._exceeded(wanted, self._promised) is None:
            return PERMIT
        bounds = self._promises.bounds()
        wanted = bounds.asked(job).tolist()
        columns = zip(self._promised, self._apart, bounds.without_effect(job), strict=True)
        # (what is apart may be without effect, too)
        counting = [min(promised, promised + apart - less) for promised, apart, less in columns]
        dim = self._exceeded(wanted, counting)
        if dim is None:
            return PERMIT
        freed = self._takings.of(job, wanted)
        dim = self._exceeded(wanted, counting, freed)
        if dim is None:
            self._takings.rely(job)
            return PERMIT
        return reject(Reason.CLUSTER_OVERCOMMITTED, self._explain(dim, wanted[dim], counting[dim], freed[dim]))

    def _exceeded(self, wanted: list[int], promised: list[int], freed: Sequence[int] = ()) -> int | None:
        """The first resource of which the cluster cannot promise `wanted` [R] as well, with `freed` [R] back."""
        freed = freed or [0] * len(wanted)
        return next(
            (
                dim
                for dim, asked in enumerate(wanted)
                if asked and dim != PODS and self._used[dim] + promised[dim] + asked - freed[dim] > self._limit[dim]
            ),
            None,
        )

    def job_enqueued(self, job: Job) -> None:
        if job.min_resources is not None:
            for dim, asked in enumerate(self._promises.add(job).tolist()):
                self._promised[dim] += asked
            self._takings.admitted(job)

    def _explain(self, dim: int, asked: int, promised: int, freed: int) -> str:
        return cluster_overcommitted(
            self._names[dim],
            used=self._used[dim],
            inqueue=promised,
            asked=asked,
            allocatable=self._total[dim],
            factor=self.arguments.factor,
            freed=freed,
            shard=self._shard,
        )
