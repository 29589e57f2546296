"""Sentences about ceilings: a queue, a namespace or the cluster would hold more than it may; and about promises."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from typing import Final

from volcano_py.api.names import QUEUE_ALLOCATION_GATE
from volcano_py.api.wording.amounts import numbers, with_name
from volcano_py.api.wording.explain_nodes import no_node_offers
from volcano_py.api.wording.summarize import summarize

_OPEN: Final = "volcano-py queue open --name"
_ITS_JOBS: Final = "wait until jobs of the queue finish"
_ASK_LESS: Final = "ask for less"


class Ceiling(Enum):
    """What stops a queue: the word in the sentence, for what to wait, what to do instead if the ceiling is too low even
    when nothing is held, and what would help otherwise."""

    CAPABILITY = ("capability", _ITS_JOBS, _ASK_LESS, "raise its spec.capability")
    REAL_CAPABILITY = (
        "left by other queues' guarantees",
        _ITS_JOBS,
        _ITS_JOBS,
        "lower the guarantees of other queues",
    )
    CLUSTER = ("in the whole cluster", "wait until jobs finish", _ASK_LESS, "add nodes")
    DESERVED = ("deserved", _ITS_JOBS, "wait until other queues ask for less", "raise its weight")

    def __init__(self, word: str, wait: str, if_hopeless: str, change: str) -> None:
        self.word = word
        self._wait = wait
        self._if_hopeless = if_hopeless
        self._change = change

    def remedy(self, *, is_hopeless: bool) -> str:
        """What would help; `is_hopeless`: the ceiling is too low even if nothing were held."""
        return f"{self._if_hopeless if is_hopeless else self._wait}, or {self._change}"


def over_ceiling(
    queue: str,
    resource: str,
    *,
    allocated: int,
    asked: int,
    ceiling: int,
    kind: Ceiling,
    by_gang: bool = False,
    inqueue: int = 0,
    above: str = "",
    holder: str = "",
    kept: str = "",
    shard: str = "",
) -> str:
    """`queue team-a: 12 cpu allocated + 8 asked > 16 deserved; …`.

    Args:
        queue: the queue whose ceiling it is.
        by_gang: `asked` is what a gang needs to start, not one pod or job.
        inqueue: promised to admitted jobs that hold nothing yet.
        above: the job's own queue, when `queue` is an ancestor of it.
        holder: the job that holds most of it, ready to read (`ml/train-1 holds 10 cpu`).
        shard: what counts as the whole cluster is the nodes of this shard.
        kept: whose guarantees leave no more than `ceiling`, ready to read (`train: 20 cpu and 3 more`).
    """
    held, promised, wanted, limit, _ = numbers(
        resource, allocated, inqueue, asked, ceiling, allocated + inqueue + asked
    )
    whose = f"queue {queue}, above {above}" if above else f"queue {queue}"
    waiting = f" + {promised} promised" if inqueue else ""
    asking = " by the gang" if by_gang else ""
    held_by = f" ({holder})" if holder else ""
    kept_for = f" ({kept})" if kept else ""
    return (
        f"{whose}: {with_name(resource, held)} allocated{held_by}{waiting} + {wanted} asked{asking} > "
        f"{limit} {_word(kind, shard)}{kept_for}; {kind.remedy(is_hopeless=asked > ceiling)}"
    )


def _word(kind: Ceiling, shard: str) -> str:
    return f"in shard {shard}" if shard and kind is Ceiling.CLUSTER else kind.word


def cluster_overcommitted(
    resource: str,
    *,
    used: int,
    inqueue: int,
    asked: int,
    allocatable: int,
    factor: float,
    freed: int = 0,
    shard: str = "",
) -> str:
    """The overcommit plugin's refusal: the cluster, or `shard` if given, is promised to others up to its factor, though
    evictions could make `freed` free for the job."""
    # the factor as written: 1.15 of 100 is 115, not the 114.99… of binary floats
    limit = int(allocatable * Fraction(repr(factor)))
    held, promised, wanted, most, total, back, _ = numbers(
        resource, used, inqueue, asked, limit, allocatable, freed, used + inqueue + asked
    )
    if not allocatable:
        return f"asks for {with_name(resource, wanted)}; {no_node_offers(resource)}"
    fix = "wait until jobs finish, add nodes or raise the factor"
    if asked > allocatable:  # a job that would be admitted, and find no place
        fix = f"{_ASK_LESS} or add nodes"
    whole = f"shard {shard}" if shard else "cluster"
    evictions = ""
    if freed:
        is_promised = used + asked - freed <= limit
        but = f"but other jobs were promised {promised} before" if is_promised else "which is too little"
        evictions = f"evictions could free {back} for the job, {but}; "
    return (
        f"{whole}: {with_name(resource, held)} used + {promised} promised + {wanted} asked > {most} "
        f"({total} allocatable x overcommit-factor {factor:g}); {evictions}{fix}"
    )


def nodes_held_for(job: str, when: str = "") -> str:
    """Follows the refusal of a job that is not admitted: `Nodes are held for ml/train, which is expected …`."""
    return f"Nodes are held for {job}{f', {when}' if when else ''}."


def places_held_for(jobs: Sequence[str]) -> str:
    """The same where jobs keep the places that they find."""
    return f"Places on nodes are held for {summarize(jobs)}."


def over_quota(
    namespace: str, quota: str, name: str, *, resource: str, used: int, promised: int, asked: int, hard: int
) -> str:
    """The resourcequota plugin's refusal; `name` is as in the quota (`requests.cpu`), `resource` what it is about."""
    held, kept, wanted, most, _ = numbers(resource, used, promised, asked, hard, used + promised + asked)
    waiting = f" + {kept} promised" if promised else ""
    return (
        f"namespace {namespace}: {held} {name} used{waiting} + {wanted} asked > {most} of ResourceQuota {quota}; "
        f"{_ASK_LESS if asked > hard else 'wait until pods of the namespace finish'}, or raise the quota"
    )


def promise_lapsed(seconds: float, *, has_inherited: bool) -> str:
    """A job that was admitted had no pods for too long, with the time of PodGroups that it has replaced if
    `has_inherited`."""
    since = "of its admission"
    if has_inherited:
        since = "in all, with the time that PodGroups of its namespace had used that were deleted without pods"
    return (
        f"none of its pods was created within {seconds:g}s {since}, so other jobs may use its resources: see "
        "the events of the controller that creates its pods; it is admitted again after the jobs that were waiting then"
    )


def nothing_freed(seconds: float) -> str:
    """A job was admitted because evictions could make room for it, but got no place in time."""
    return (
        f"it was admitted because evictions could make room for it, but got no place within {seconds:g}s, so other "
        "jobs may use its resources; it is admitted again after the jobs that were waiting then"
    )


def waits_for_earlier(job: str) -> str:
    """A job whose namespace lost a promise while `job` was waiting already."""
    return (
        f"a job of this namespace was admitted and did not start in time; PodGroup {job} was waiting then "
        "and is admitted first"
    )


def queue_overused(queue: str) -> str:
    return (
        f"queue {queue} holds all it deserves of every resource: wait until its jobs finish or other queues ask for "
        "less, or raise its weight"
    )


def queue_gate_closed(queue: str) -> str:
    return (
        f"queue {queue} has no room left after its waiting pods without a gate, which come first: the gate "
        f"{QUEUE_ALLOCATION_GATE} is removed when there is more room"
    )


def queue_closed(queue: str, state: str, above: tuple[str, str] | None = None) -> str:
    """`above`: the queue above it to open first (name, state)."""
    closed = f"queue {queue} is {state} and starts no jobs"
    if above is None:
        return f"{closed}: open it ({_OPEN} {queue}) or choose another queue"
    top, its_state = above
    return (
        f"{closed}, and queue {top} above it is {its_state}: open {top} first ({_OPEN} {top}) or choose another queue"
    )
