"""Which pods a job may preempt inside its queue by fairness: first between namespaces, then between jobs.

`taken_by` says what has gone of a candidate's group once the candidate goes: with those before it, or `alone`. Alone, a
candidate leaves most behind, so it is a victim if it is one in any company.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.eviction.units import Need, Unit
from volcano_py.framework.job import Task
from volcano_py.plugins.amounts.shares import dominant_share, sums_up_to
from volcano_py.plugins.drf.job_shares import JobShares
from volcano_py.plugins.drf.namespaces import NamespaceShares

# Shares closer than this count as equal when victims are sought (Volcano's shareDelta).
_SAME_SHARE: Final = 1e-6

Mask = NDArray[np.bool_]
TakenBy: TypeAlias = Callable[[NDArray[np.integer[Any]], NDArray[np.int64]], NDArray[np.int64]]
"""[K] groups and [K, R] requests of candidates → [K, R]."""


def alone(groups: NDArray[np.integer[Any]], requests: NDArray[np.int64]) -> NDArray[np.int64]:  # noqa: ARG001
    """Each as if no other pod had been evicted before it."""
    return requests


def by_jobs(
    shares: JobShares,
    preemptor: Task,
    jobs: NDArray[np.int32],
    requests: NDArray[np.int64],
    taken_by: TakenBy = sums_up_to,
) -> Mask:
    """[K] pods of jobs that, without the pod and those before it, still hold as much as the preemptor's job with it.

    `jobs` [K] and `requests` [K, R] are those of the candidates.
    """
    wanted = shares.held[preemptor.job.row] + preemptor.task_class.request
    left = dominant_share(shares.held[jobs] - taken_by(jobs, requests), shares.total)
    victims: Mask = left >= shares.share_of(wanted) - _SAME_SHARE
    return victims


def by_namespaces_and_jobs(
    shares: JobShares,
    namespaces: NamespaceShares,
    preemptor: Task,
    jobs: NDArray[np.int32],
    requests: NDArray[np.int64],
    taken_by: TakenBy = sums_up_to,
) -> Mask:
    """[K] pods of other namespaces that, without the pod and those before it, keep as large a share as the preemptor's
    namespace with it, and a larger one than that has now; where the namespaces are equal before and after, and inside
    the preemptor's namespace, the jobs decide."""
    mine, accounts = int(namespaces.of_job[preemptor.job.row]), namespaces.of_job[jobs]
    held = namespaces.held[mine]
    now, then = namespaces.share_of(mine, held), namespaces.share_of(mine, held + preemptor.task_class.request)
    taken = taken_by(accounts, requests)
    left = dominant_share(namespaces.held[accounts] - taken, namespaces.bases[accounts])
    keeps_as_much = left >= then - _SAME_SHARE
    victims: Mask = (accounts != mine) & keeps_as_much & (left > now + _SAME_SHARE)
    undecided = (accounts == mine) | (keeps_as_much & ~victims)
    victims[undecided] = by_jobs(shares, preemptor, jobs[undecided], requests[undecided], taken_by)
    return victims


def namespace_gives_whole(namespaces: NamespaceShares, need: Need, unit: Unit) -> bool:
    """Whether a job of another namespace, of no higher priority, may go whole: its namespace keeps as large a share as
    the preemptor's gets with all that its job needs, and a larger one than that has now."""
    mine, theirs = int(namespaces.of_job[need.task.job.row]), int(namespaces.of_job[unit.job.row])
    if mine == theirs or unit.job.priority > need.task.job.priority:
        return False
    now = namespaces.share_of(mine, namespaces.held[mine])
    left, then = _shares_after(namespaces, mine, theirs, need, unit)
    return left >= then - _SAME_SHARE and left > now + _SAME_SHARE


def gives_surplus(shares: JobShares, namespaces: NamespaceShares | None, need: Need, unit: Unit) -> bool:
    """Whether pods that are victims of the first task are so of all that the preemptor's job needs: what a large pod
    leaves may have room for more of them than the first."""
    if need.is_of_one_task:
        return True
    row, victim = need.task.job.row, unit.job.row
    if namespaces is not None and (mine := int(namespaces.of_job[row])) != (theirs := int(namespaces.of_job[victim])):
        left, then = _shares_after(namespaces, mine, theirs, need, unit)
    else:
        left = shares.share_of(shares.held[victim] - unit.request)
        then = shares.share_of(shares.held[row] + need.request)
    return left >= then - _SAME_SHARE


def _shares_after(namespaces: NamespaceShares, mine: int, theirs: int, need: Need, unit: Unit) -> tuple[float, float]:
    """The share that the unit's namespace keeps, and that the preemptor's has with all that its job needs."""
    left = namespaces.share_of(theirs, namespaces.held[theirs] - unit.request)
    return left, namespaces.share_of(mine, namespaces.held[mine] + need.request)
