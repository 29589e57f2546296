"""Sentences on why preempt or reclaim evict nothing for a job that waits."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from volcano_py.api.wording.amounts import number, with_name
from volcano_py.api.wording.summarize import counted, summarize


class Standing(msgspec.Struct, frozen=True):
    """What a queue holds of a resource, and what it deserves of it.

    Attributes:
        deserved: None where no plugin says.
        in_spec: whether it is what the queue's spec says.
    """

    queue: str
    resource: str
    held: int
    deserved: int | None
    in_spec: bool = False

    @property
    def beyond(self) -> int:
        """How much more it holds than it deserves."""
        return self.held - (self.deserved or 0)


class Protection(msgspec.Struct, frozen=True):
    """So many pods that cannot be evicted, and what protects them: `by PodDisruptionBudget web`."""

    pods: int
    by: str


class Gang(msgspec.Struct, frozen=True):
    """A gang that holds places for fewer pods than its minimum."""

    key: str
    placed: int
    minimum: int


def never(action: str) -> str:
    """The pods forbid it."""
    return f"{action} evicts nothing for its pods, because their preemptionPolicy is Never"


def for_minimums_only(action: str, minimum: int) -> str:
    """The job has its minimum, and what it has beyond that evicts nothing."""
    has = "its minimum" if minimum < 1 else f"its minimum of {counted(minimum, 'pod')}"
    return f"{action} evicts nothing for it: the job has {has}, and {action} evicts for minimums only"


def claims_too_much(action: str, standing: Standing, asked: int) -> str:
    """The queue of the job has what it deserves, or would exceed it."""
    asks = with_name(standing.resource, number(standing.resource, asked))
    if standing.deserved is None:
        return f"{action} evicts nothing for it, because queue {standing.queue} already has its share"
    if not standing.deserved:
        advice = f"; set {standing.resource} in its spec.deserved" if standing.in_spec else ""
        return f"{action} evicts nothing for it: it asks for {asks}, and queue {standing.queue} deserves none{advice}"
    if asked > standing.deserved:
        deserved = number(standing.resource, standing.deserved)
        return (
            f"{action} evicts nothing for it: it asks for {asks}, and queue {standing.queue} deserves {deserved} in all"
        )
    return (
        f"{action} evicts nothing for it: queue {standing.queue} {_holds(standing)}, and the job asks for {asks} more"
    )


def promised_to_others(action: str, standing: Standing, promised: int, asked: int) -> str:
    """What the queue of the job deserves is promised to jobs of it that were admitted and hold nothing yet."""
    given, asks = number(standing.resource, promised), with_name(standing.resource, number(standing.resource, asked))
    return (
        f"{action} evicts nothing for it: queue {standing.queue} {_holds(standing)}, of which {given} is "
        f"promised to jobs that were admitted before; the job asks for {asks}"
    )


def no_donor(action: str, standing: Standing, promised_twice: str) -> str:
    """No other queue holds more than it deserves, which may be as queues together deserve more than there is."""
    others = f"no other queue holds more {standing.resource} than it deserves"
    twice = f": {promised_twice}" if promised_twice else ""
    return f"{action} finds nothing to evict: {_own(standing)}{others}{twice}"


def deserve_more_than_the_cluster(resource: str, deserved_by_all: int, total: int) -> str:
    """What all queues deserve, and what there is."""
    deserved, there = (number(resource, units) for units in (deserved_by_all, total))
    return (
        f"all queues together deserve {deserved}, and the cluster has {there}; "
        "lower what some of them deserve, or add nodes"
    )


def deserve_more_than_the_queue_above(above: Standing, deserved_below: int) -> str:
    """What the queues below a queue deserve, and what that one does."""
    assert above.deserved is not None
    below, own = (number(above.resource, units) for units in (deserved_below, above.deserved))
    return (
        f"the queues below {above.queue} together deserve {below}, and {above.queue} deserves {own}; "
        f"lower what some of them deserve, or raise what {above.queue} deserves"
    )


def no_lesser_job(action: str, queue: str, *, equals_may_give: bool = False) -> str:
    """No job of a lower priority gives anything; `equals_may_give`: others would, as far as their shares allow it."""
    shares = (
        ", and evicting enough surplus of jobs of equal priority would leave them with smaller shares than this job"
        if equals_may_give
        else ""
    )
    return f"{action} finds nothing to evict: no job of a lower priority holds anything useful in queue {queue}{shares}"


def donors_keep(
    action: str,
    standing: Standing,
    donors: Sequence[Standing],
    protections: Sequence[Protection],
    otherwise: str = "",
) -> str:
    """Other queues hold more than they deserve, but give nothing; `otherwise` says why, where no pod is protected."""
    amounts = [(each.queue, with_name(each.resource, number(each.resource, each.beyond))) for each in donors]
    beyond = [f"{queue} holds {amount} more than it deserves" for queue, amount in amounts]
    because = kept(protections, otherwise)
    return f"{action} finds nothing to evict: {_own(standing)}{summarize(beyond, most=2)}, but {because}"


class Claim(msgspec.Struct, frozen=True):
    """What one side, `queue b` or `namespace ml`, holds of a resource, and how much more a job of it asks for."""

    side: str
    resource: str
    held: int
    asked: int


def shares_keep(action: str, claim: Claim, protections: Sequence[Protection]) -> str:
    """Queues, or namespaces, are compared by their shares, and no other gives anything."""
    if protections:
        return f"{action} finds nothing to evict: {kept(protections)}"
    kind = claim.side.split(" ", 1)[0]
    held, asked = (number(claim.resource, units) for units in (claim.held, claim.asked))
    because = (
        f"an eviction would leave any other {kind} with a smaller share than {claim.side}, which holds "
        f"{with_name(claim.resource, held)} and asks for {asked} more"
    )
    return f"{action} finds nothing to evict: {because}"


def guaranteed(queue: str, resource: str, amount: int) -> str:
    """The queue would not keep what it is guaranteed."""
    return (
        f"{queue} would be left with less than the {with_name(resource, number(resource, amount))} that it is "
        "guaranteed"
    )


def deadlocked(action: str, gang: Gang, protections: Sequence[Protection], otherwise: str) -> str:
    """The job holds places without its minimum, and so does `gang`, which keeps them; `otherwise` says why, where no
    pod is protected."""
    places = f"{gang.placed} of {gang.minimum} pods placed"
    return (
        f"{action} finds nothing to evict: gang {gang.key} blocks it and is incomplete too ({places}), "
        f"but {kept(protections, otherwise)}"
    )


def lesser_jobs_keep(action: str, queue: str, jobs: int, protections: Sequence[Protection]) -> str:
    """Jobs of a lower priority hold something useful in the queue, but give nothing."""
    there = f"{counted(jobs, 'job')} of a lower priority run{'s' if jobs == 1 else ''} in queue {queue}"
    return f"{action} finds nothing to evict: {there}, but {kept(protections)}"


def would_come_back(action: str, victim: str) -> str:
    """A victim could take the place back."""
    return (
        f"{action} could make room by evicting {victim}, but {victim} could then evict this job by the same rules, and "
        "so on without end; the plugins that choose victims must rank one of the two first"
    )


def _own(standing: Standing) -> str:
    return f"{standing.queue} {_holds(standing)}; " if standing.deserved is not None else ""


def _holds(standing: Standing) -> str:
    assert standing.deserved is not None
    held, deserved = (number(standing.resource, units) for units in (standing.held, standing.deserved))
    return f"holds {held} {standing.resource} and deserves {deserved}"


def not_admitted(action: str) -> str:
    """The job has not been admitted to its queue."""
    return f"{action} evicts nothing for a job that its queue has not admitted"


def has_no_more_than_deserved(standing: Standing) -> str:
    """A queue gives nothing of what it deserves."""
    return f"queue {standing.queue} {_holds(standing)}"


def no_lesser_priority(priority: int, claimant: int) -> str:
    """Inside a queue, what is as important stays."""
    return f"its priority {priority} is not below {claimant}"


def plugin_keeps(plugin: str) -> str:
    """A plugin refuses (empty: none names it)."""
    return f"plugin {plugin} does not allow its eviction" if plugin else "no plugin allows its eviction"


def kept(protections: Sequence[Protection], otherwise: str = "") -> str:
    """What protects pods, the most frequent first; `otherwise` where nothing does."""
    if not protections:
        return otherwise or "evicting all that may be evicted would not make enough room"
    first, *rest = [f"{each.pods} {each.by}" for each in protections]
    pods, by = first.split(" ", 1)
    are = f"{counted(int(pods), 'pod')} {'is' if pods == '1' else 'are'} protected {by}"
    return " and ".join((are, *rest)) if len(rest) < 2 else ", ".join((are, *rest))
