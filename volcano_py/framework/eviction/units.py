"""Units of eviction: what a job gives goes as one, or stays.

A job gives its surplus one pod after the other, a whole sub-group beyond those that it needs, or everything that it
holds; neither a gang nor a sub-group is torn.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job, Task
from volcano_py.state.table.axis import IntVector
from volcano_py.state.table.table import Rows

MOST_DOMAINS: Final = 8
"""Volcano's default of `maxDomains`."""


class Unit(msgspec.Struct, frozen=True, eq=False):
    """Pods of one job that are evicted together.

    Attributes:
        rows: [K] task rows, the most expendable first.
        request: [R] the sum of their requests.
        is_whole: everything that the job holds. Otherwise one pod, or all pods of a sub-group, without which the job
            keeps its minimums.
        sub_group: the name of the sub-group; "" for other units.
        core: [R] the part that goes last: what the job cannot give pod by pod.
    """

    job: Job
    rows: Rows
    request: IntVector
    is_whole: bool
    core: IntVector
    sub_group: str = ""

    @classmethod
    def alone(cls, job: Job, row: int, request: IntVector) -> Unit:
        """A surplus pod."""
        return cls(job, np.array([row], dtype=np.intp), request, is_whole=False, core=request)


class Need(msgspec.Struct, frozen=True, eq=False):
    """What units are evicted for.

    Attributes:
        task: the first task of the job that has no place yet.
        request: [R] the sum of what all its tasks without a place request.
        lacking: [R] the resources of which there is too little for the job.
        among_deadlocked: its job and those of the units are deadlocked gangs.
    """

    task: Task
    request: IntVector
    lacking: NDArray[np.bool_]
    among_deadlocked: bool = False

    @property
    def is_of_one_task(self) -> bool:
        """Whether the first task is all that has no place."""
        return bool((self.request == self.task.task_class.request).all())


class Verdict(IntEnum):
    """Whether a unit may go."""

    NO = 0
    LAST_RESORT = 1
    """Only if no other choice will do: its queue then holds less than it deserves."""
    YES = 2


class Consent(msgspec.Struct, frozen=True):
    """Consent to the eviction of a unit.

    Attributes:
        given_by: the plugins that gave it up, without those that only protect pods.
        is_last_resort: its queue is left with less than it deserves.
    """

    given_by: tuple[str, ...] = ()
    is_last_resort: bool = False


class UnitRules(msgspec.Struct, frozen=True):
    """What the configuration says about units.

    Attributes:
        minimums: a job keeps its minimums or goes whole; otherwise each pod is a unit.
        whole: jobs may go whole.
        min_runtime: seconds for which a complete gang is not taken whole.
        surplus_first: no job goes whole while the surplus of all jobs is enough.
        all_surplus: a job that gives a surplus pod gives all of them.
        most_domains: how many domains of the network are tried for a job that is kept together.
    """

    minimums: bool = True
    whole: bool = True
    min_runtime: float = 0.0
    surplus_first: bool = True
    all_surplus: bool = False
    most_domains: int = MOST_DOMAINS
