"""Counts turned into sentences: what was asked, what is free or allowed, what holds it, and what would help.

Pure functions; callers pass integers in the units of `volcano_py.api.report.Amounts` (CPU in millicores, memory and
storage in bytes, everything else as counts). A sentence starts in lower case and has no full stop, so that it can
follow a name or a `Reason`; `nodes_summary` alone ends with one, as kube-scheduler's does. A message is meant to be the
same in every cycle while nothing changed, so nothing in it may depend on time or on the order of a dict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Final, NamedTuple

import msgspec

from volcano_py.api.names import GROUP_NAME, QUEUE_NAME
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.amounts import amount, amounts, numbers, with_name
from volcano_py.api.wording.explain_gangs import ShortRole
from volcano_py.api.wording.summarize import summarize

# Distinct refusals in one message. A taint with a value of its own on each of 5,000 nodes would otherwise make a
# condition of half a megabyte; the note of an Event is cut at 1,024 characters by the API server.
MOST_REFUSALS: Final = 12
LONGEST_LINE: Final = 300  # characters of a message on one line; tables show the first line only
_LONGEST_ERROR: Final = 200  # characters of a foreign exception's text
_OPEN: Final = "volcano-py queue open --name"


# --- nodes -----------------------------------------------------------------------------------------------------------

# kube-scheduler's words for what a node refuses: dashboards, runbooks and people's eyes search for them.
TOO_MANY_PODS: Final = "Too many pods"
NODE_UNSCHEDULABLE: Final = "node(s) were unschedulable"
NODE_AFFINITY_MISMATCH: Final = "node(s) didn't match Pod's node affinity/selector"
NODE_PORTS_TAKEN: Final = "node(s) didn't have free ports for the requested pod ports"
POD_AFFINITY_MISMATCH: Final = "node(s) didn't match pod affinity rules"
POD_ANTI_AFFINITY_MISMATCH: Final = "node(s) didn't match pod anti-affinity rules"
POD_KEPT_AWAY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
SPREAD_MISMATCH: Final = "node(s) didn't match pod topology spread constraints"
SPREAD_LABEL_MISSING: Final = f"{SPREAD_MISMATCH} (missing required label)"


def insufficient_reason(resource: str) -> str:
    """What a node without room says, in kube-scheduler's words."""
    return TOO_MANY_PODS if resource == "pods" else f"Insufficient {resource}"


def held_for(job: str, when: str = "") -> str:
    """What a node says whose room is kept for a job: `node(s) were held for ml/train, which is to start …`."""
    return f"node(s) were held for {job}{f', {when}' if when else ''}"


def untolerated_taint(key: str, value: str) -> str:
    """What a tainted node says: `node(s) had untolerated taint {dedicated: ml}`."""
    return f"node(s) had untolerated taint {{{key}: {value}}}"


def nodes_summary(total_nodes: int, counts: Mapping[str, int]) -> str:
    """`0/3 nodes are unavailable: 2 Insufficient cpu, 1 node(s) were unschedulable.`

    Sorted by the refusal's text, not by its count, so that the order stays when a count changes. Beyond
    `MOST_REFUSALS` the rarest are summed up: `…, 40 for 31 other reasons.`
    """
    if total_nodes == 0:
        return "0/0 nodes are unavailable: there are no nodes."
    refusals = {reason: int(count) for reason, count in counts.items() if count > 0}
    head = f"0/{total_nodes} nodes are unavailable"
    if not refusals:
        return f"{head}."
    listed = sorted(refusals, key=lambda reason: (-refusals[reason], reason))
    rest = listed[MOST_REFUSALS:]
    parts = [f"{refusals[reason]} {reason}" for reason in sorted(listed[:MOST_REFUSALS])]
    if rest:
        parts.append(f"{sum(refusals[reason] for reason in rest)} for {len(rest)} other reason{_s(len(rest))}")
    return f"{head}: {', '.join(parts)}."


class Shortage(msgspec.Struct, frozen=True):
    """A resource that no node has enough of: `free` is the most that any node (`node`, if known) has left.

    With `others_refuse` there are nodes that refuse the pod whatever they have left, and are not counted among these.
    """

    resource: str
    asked: int
    free: int
    node: str = ""
    others_refuse: bool = False


def insufficient(shortage: Shortage) -> str:
    """`asks 8 cpu; the emptiest node, n1, has 3.5 cpu free`."""
    resource = shortage.resource
    which = "suitable node" if shortage.others_refuse else "node"
    if shortage.free <= 0:
        return f"asks {amount(resource, shortage.asked)}; no {which} has any {resource} free"
    asked, free = numbers(resource, shortage.asked, shortage.free)
    node = f", {shortage.node}," if shortage.node else ""
    sentence = f"asks {with_name(resource, asked)}; the emptiest {which}{node} has {with_name(resource, free)} free"
    return sentence if shortage.free < shortage.asked else f"{sentence} but refuses the pod for another reason"


def nodes_refuse(
    total_nodes: int, counts: Mapping[str, int], shortages: Iterable[Shortage] = (), advice: Iterable[str] = ()
) -> str:
    """The summary over all nodes, then what was asked and how much of it is free at best, then what would help.

    `advice` is sentences without a full stop. Where all is more than `LONGEST_LINE`, each stands on a line of its own.
    """
    asked = [f"The pod {insufficient(shortage)}." for shortage in shortages]
    fact = " ".join([nodes_summary(total_nodes, counts), *asked])
    tail = [sentence if sentence.endswith("…") else f"{sentence}." for sentence in advice]
    message = " ".join([fact, *tail])
    return message if len(message) <= LONGEST_LINE else "\n".join([fact, *tail])


def never_fits(resource: str, asked: int, largest: int, *, node: str = "", others_refuse: bool = False) -> str:
    """`asks 64 cpu; the largest node, n7, has 32 cpu even when empty: ask for less or add a larger node`. With
    `others_refuse` there are larger nodes, which refuse the pod whatever is on them."""
    which = _which_node(others_refuse)
    if largest <= 0:
        return f"asks {amount(resource, asked)}; {_no_node_offers(resource, which)}"
    wanted, most = numbers(resource, asked, largest)
    named = f", {node}," if node else ""
    return (
        f"asks {with_name(resource, wanted)}; the largest {which}{named} has {with_name(resource, most)} even when "
        "empty: ask for less or add a larger node"
    )


def _which_node(others_refuse: bool) -> str:
    return "suitable node" if others_refuse else "node"


def _no_node_offers(resource: str, which: str = "node") -> str:
    # That a pod takes the place of one is nothing that its author could leave out.
    fix = "set status.allocatable.pods of a node," if resource == "pods" else "remove the request"
    return f"no {which} offers {resource}: {fix} or add a node that does"


def never_fits_together(asked: Mapping[str, int], *, others_refuse: bool = False) -> str:
    """For what some node has of each, but no node of all; `others_refuse` as in `never_fits`."""
    which = _which_node(others_refuse)
    return (
        f"asks {amounts(asked)}; no single {which} has all of that even when empty: ask for less or add a larger node"
    )


# --- gangs -----------------------------------------------------------------------------------------------------------


def gang_incomplete(
    placed: int, total: int, min_member: int, *, short: Sequence[ShortRole] = (), cause: str = ""
) -> str:
    """`2 of 3 pods have a place, minMember is 3: 1 more must fit before any is bound`, and why it does not. `short`:
    roles of which too few pods have a place."""
    missing = max(min_member - placed, sum(role.minimum - role.existing for role in short), 0)
    roles = f", minTaskMember is not met ({summarize([role.text for role in short])})" if short else ""
    sentence = (
        f"{placed} of {total} pod{_s(total)} {'has' if placed == 1 else 'have'} a place, minMember is "
        f"{min_member}{roles}: {missing} more must fit before any is bound"
    )
    return f"{sentence}; {cause}" if cause else sentence


def gang_unschedulable(missing: int, total: int, summary: str) -> str:
    """Volcano's message of the condition Unschedulable: `1/3 tasks in gang unschedulable: …`."""
    return f"{missing}/{total} tasks in gang unschedulable: {summary}"


# --- ceilings --------------------------------------------------------------------------------------------------------


_ITS_JOBS: Final = "wait until jobs of the queue finish"
_ASK_LESS: Final = "ask for less"


class Ceiling(Enum):
    """What stops a queue: the word in the sentence, for what to wait, and what would help otherwise. Waiting
    does not help a job that asks for more than the ceiling, unless the ceiling moves with what others ask for."""

    CAPABILITY = ("capability", _ITS_JOBS, "raise its spec.capability", False)
    REAL_CAPABILITY = (
        "left by other queues' guarantees",
        _ITS_JOBS,
        "lower the guarantees of other queues",
        True,
    )
    CLUSTER = ("in the whole cluster", "wait until jobs finish", "add nodes", False)
    DESERVED = ("deserved", _ITS_JOBS, "raise its weight", True)

    def __init__(self, word: str, wait: str, change: str, moves: bool) -> None:
        self.word = word
        self._wait = wait
        self._change = change
        self._moves = moves

    def remedy(self, *, is_hopeless: bool) -> str:
        """What would help; `is_hopeless`: the ceiling is too low even if nothing were held."""
        return f"{_ASK_LESS if is_hopeless and not self._moves else self._wait}, or {self._change}"


def over_ceiling(
    queue: str,
    resource: str,
    *,
    allocated: int,
    asked: int,
    ceiling: int,
    kind: Ceiling,
    inqueue: int = 0,
    above: str = "",
    holder: str = "",
    kept: str = "",
) -> str:
    """`queue team-a: 12 cpu allocated + 8 asked > 16 deserved; …`.

    Args:
        queue: the queue whose ceiling it is.
        inqueue: promised to admitted jobs that hold nothing yet.
        above: the job's own queue, when `queue` is an ancestor of it.
        holder: the job that holds most of it, ready to read (`ml/train-1 holds 10 cpu`).
        kept: whose guarantees leave no more than `ceiling`, ready to read (`train: 20 cpu and 3 more`).
    """
    held, promised, wanted, limit, _ = numbers(
        resource, allocated, inqueue, asked, ceiling, allocated + inqueue + asked
    )
    whose = f"queue {queue}, above {above}" if above else f"queue {queue}"
    waiting = f" + {promised} promised" if inqueue else ""
    held_by = f" ({holder})" if holder else ""
    kept_for = f" ({kept})" if kept else ""
    return (
        f"{whose}: {with_name(resource, held)} allocated{held_by}{waiting} + {wanted} asked > {limit} "
        f"{kind.word}{kept_for}; {kind.remedy(is_hopeless=asked > ceiling)}"
    )


def cluster_overcommitted(
    resource: str, *, used: int, inqueue: int, asked: int, allocatable: int, factor: float
) -> str:
    """The overcommit plugin's refusal: the cluster is promised to others up to its factor."""
    # the factor as written: 1.15 of 100 is 115, not the 114.99… of binary floats
    limit = int(allocatable * Fraction(repr(factor)))
    held, promised, wanted, most, total, _ = numbers(
        resource, used, inqueue, asked, limit, allocatable, used + inqueue + asked
    )
    if not allocatable:
        return f"asks {with_name(resource, wanted)}; {_no_node_offers(resource)}"
    first = _ASK_LESS if asked > limit else "wait until jobs finish"
    return (
        f"cluster: {with_name(resource, held)} used + {promised} promised + {wanted} asked > {most} "
        f"({total} allocatable x overcommit-factor {factor:g}); {first}, add nodes or raise the factor"
    )


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


def promise_lapsed(seconds: float) -> str:
    """A job that was admitted had no pods for too long."""
    return (
        f"none of its pods was created within {seconds:g}s of its admission, so other jobs may use its resources: see "
        "the events of the controller that creates its pods; it is admitted again after the jobs that were waiting then"
    )


def nothing_freed(seconds: float) -> str:
    """A job was admitted because evictions could make room for it, but got no place in time."""
    return (
        f"it was admitted because evictions could make room for it, but got no place within {seconds:g}s, so other "
        "jobs may use its resources; it is admitted again after the jobs that were waiting then"
    )


def waits_for_earlier(job: str) -> str:
    """A job whose namespace lost a promise in this queue, while `job` was waiting already."""
    return (
        f"a job of this namespace was admitted and did not start in time; PodGroup {job} was waiting then "
        "and is admitted first"
    )


def queue_overused(queue: str) -> str:
    return (
        f"queue {queue} holds all it deserves of every resource: wait until its jobs finish or other queues ask for "
        "less, or raise its weight"
    )


def queue_closed(queue: str, state: str) -> str:
    return f"queue {queue} is {state} and starts no jobs: open it ({_OPEN} {queue}) or choose another queue"


# --- the rest of the reasons -----------------------------------------------------------------------------------------


class NamedBy(Enum):
    """Where a PodGroup that its user did not write has its queue from: the field, after «in»."""

    POD = f"its annotation {QUEUE_NAME}"
    TEMPLATE = f"the annotation {QUEUE_NAME} of its pod template"
    JOB = "its spec.queue"
    NAMESPACE = f"the annotation {QUEUE_NAME} of its namespace"


class QueueSource(msgspec.Struct, frozen=True):
    """`maker` is what the PodGroup was made for, in this `namespace`: `Pod hello`, `ReplicaSet web-5f`, `Job train`."""

    named_by: NamedBy
    maker: str
    namespace: str


def queue_not_found(queue: str, source: QueueSource | None = None) -> str:
    """Names what the user has written: by default the PodGroup.

    A generated PodGroup keeps its queue: to change it, recreate what it was generated for.
    """
    if source is None:
        return f"queue {queue} does not exist: create it or name an existing one in spec.queue of the PodGroup"
    if source.named_by is NamedBy.NAMESPACE:
        return (
            f"queue {queue}, which the annotation {QUEUE_NAME} of namespace {source.namespace} names, does not exist: "
            f"create it, or name an existing one there and recreate {source.maker}"
        )
    fix = f"recreate {source.maker} with an existing one in {source.named_by.value}"
    return f"queue {queue} does not exist: create it, or {fix}"


def invalid_queue(queue: str, problem: str) -> str:
    """`problem` says what is wrong and what would fix it."""
    return f"queue {queue}: {problem}"


def pod_group_not_found(namespace: str, name: str) -> str:
    return f"PodGroup {namespace}/{name} does not exist: create it or correct the pod's annotation {GROUP_NAME}"


def invalid_field(field: str, found: object, fix: str) -> str:
    """`spec.minMember is -1: must not be negative`; `found` is cut, as users can make it long."""
    return f"{field} is {cut(repr(found))}: {fix}"


def unsupported(feature: str) -> str:
    return (
        f"the pod uses {feature}, which this scheduler does not evaluate yet: leave it out, or give the pod to another "
        "scheduler"
    )


def plugin_failed(plugin: str = "") -> str:
    """`plugin` may be unknown."""
    who = f"plugin {plugin}" if plugin else "a plugin"
    return f"{who} failed; see the scheduler's log, and fix the plugin or remove it from the configuration"


def scheduling_gated(gates: Sequence[str]) -> str:
    listed, it = summarize(gates), _it(gates)
    return f"has the scheduling gate{_s(len(gates))} {listed}: the controller or user that set {it} must remove {it}"


def refused_by_plugin(plugin: str, rule: str) -> str:
    return f"plugin {plugin} refuses the job: {rule}"


class Party(NamedTuple):
    """A pod or a PodGroup (namespace/name), its queue and its priority."""

    key: str
    queue: str
    priority: int


def makes_room(victim: Party, pod: Party, *, node: str) -> str:
    """Why a pod is evicted for another one."""
    return f"{_versus(victim, pod)} on node {node}"


def gang_makes_room(gang: Party, pod: Party, *, pods: int, minimum: int) -> str:
    """Why all that a gang holds is evicted for a pod of another job: it cannot run with less."""
    return f"{_versus(gang, pod)}: the whole gang is evicted, {pods} pods (minimum {minimum})"


def deadlocked_gang_makes_room(gang: Party, pod: Party, *, pods: int, minimum: int) -> str:
    """Why an incomplete gang is evicted for another one: each holds places that the other needs."""
    why = "both gangs are incomplete and hold places that the other needs, so the last in order is evicted"
    return f"{_versus(gang, pod)}: {why}, {pods} pod{'s' * (pods != 1)} (minimum {minimum})"


def _versus(victim: Party, pod: Party) -> str:
    theirs, its = (f" in queue {victim.queue}", f" in queue {pod.queue}") if victim.queue != pod.queue else ("", "")
    where = "" if theirs else f" in queue {pod.queue}"
    return (
        f"{victim.key} (priority {victim.priority}){theirs} makes room for {pod.key} (priority {pod.priority})"
        f"{its}{where}"
    )


def not_yet_evaluated() -> str:
    return "the scheduler has not evaluated it yet; if that lasts, check in its /status and log that it runs and leads"


def message(reason: Reason, sentence: str) -> str:
    """A whole message: the closed code first, so that machines find it, then the sentence."""
    return f"{reason.value}: {sentence}"


def cut(text: str, longest: int = _LONGEST_ERROR) -> str:
    """At most this many characters, with dots where there were more."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"
