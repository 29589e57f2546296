"""Sentences about nodes that refuse a pod: kube-scheduler's summary, what was asked, what is free, what would help.

See `explain.py` for what holds for all sentences. `nodes_summary` alone ends with a full stop, as kube-scheduler's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from volcano_py.api.devices.claims import CLASS_AS_RESOURCE
from volcano_py.api.wording.amounts import amount, amounts, numbers, with_name
from volcano_py.api.wording.summarize import plural

# Distinct refusals in one message. A taint with a value of its own on each of 5,000 nodes would otherwise make a
# condition of half a megabyte; the note of an Event is cut at 1,024 characters by the API server.
MOST_REFUSALS: Final = 12

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


def nodes_summary(total_nodes: int, counts: Mapping[str, int], shard: str = "") -> str:
    """`0/3 nodes are unavailable: 2 Insufficient cpu, 1 node(s) were unschedulable.`

    Sorted by the refusal's text, not by its count, so that the order stays when a count changes. Beyond
    `MOST_REFUSALS` the rarest are summed up: `…, 40 for 31 other reasons.` With a `shard`: `0/3 nodes of shard a are …`
    """
    which = f"nodes of shard {shard}" if shard else "nodes"
    if total_nodes == 0:
        return f"0/0 {which} are unavailable: there are no nodes."
    refusals = {reason: int(count) for reason, count in counts.items() if count > 0}
    head = f"0/{total_nodes} {which} are unavailable"
    if not refusals:
        return f"{head}."
    listed = sorted(refusals, key=lambda reason: (-refusals[reason], reason))
    rest = listed[MOST_REFUSALS:]
    parts = [f"{refusals[reason]} {reason}" for reason in sorted(listed[:MOST_REFUSALS])]
    if rest:
        parts.append(f"{sum(refusals[reason] for reason in rest)} for {len(rest)} other {plural('reason', len(rest))}")
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
    """`asks for 8 cpu; the emptiest node, n1, has 3.5 cpu free`."""
    resource = shortage.resource
    which = "suitable node" if shortage.others_refuse else "node"
    if shortage.free <= 0:
        return f"asks for {amount(resource, shortage.asked)}; no {which} has any {resource} free"
    asked, free = numbers(resource, shortage.asked, shortage.free)
    node = f", {shortage.node}," if shortage.node else ""
    sentence = f"asks for {with_name(resource, asked)}; the emptiest {which}{node} has {with_name(resource, free)} free"
    return sentence if shortage.free < shortage.asked else f"{sentence} but refuses the pod for another reason"


def nodes_refuse(
    total_nodes: int,
    counts: Mapping[str, int],
    shortages: Iterable[Shortage] = (),
    advice: Iterable[str] = (),
    *,
    shard: str = "",
) -> str:
    """The summary over all nodes, then what was asked and how much of it is free at best, then what would help.

    `shard`: the nodes are those of this shard. `advice` is sentences without a full stop. All is one line: the tables
    of kubectl show the first line of a message only.
    """
    asked = [f"The pod {insufficient(shortage)}." for shortage in shortages]
    tail = [sentence if sentence.endswith("…") else f"{sentence}." for sentence in advice]
    return " ".join([nodes_summary(total_nodes, counts, shard), *asked, *tail])


def never_fits(
    resource: str, asked: int, largest: int, *, node: str = "", others_refuse: bool = False, device_class: str = ""
) -> str:
    """`asks for 64 cpu; the largest node, n7, has 32 cpu even when empty: ask for less or add a larger node`. With
    `others_refuse` there are larger nodes, which refuse the pod whatever is on them. `device_class`: the DeviceClass
    that offers the resource."""
    which = _which_node(others_refuse)
    if largest <= 0:
        return f"asks for {amount(resource, asked)}; {no_node_offers(resource, which, device_class)}"
    wanted, most = numbers(resource, asked, largest)
    named = f", {node}," if node else ""
    return (
        f"asks for {with_name(resource, wanted)}; the largest {which}{named} has {with_name(resource, most)} even when "
        "empty: ask for less or add a larger node"
    )


def _which_node(others_refuse: bool) -> str:
    return "suitable node" if others_refuse else "node"


def no_node_offers(resource: str, which: str = "node", device_class: str = "") -> str:
    """`no node offers nvidia.com/gpu: remove the request or add a node that does`. `device_class`: the DeviceClass
    that offers it instead, of whose devices there are none."""
    if which == "node" and device_class:
        return (
            f"no node offers {resource}, and none has devices of DeviceClass {device_class}, which offers it: check "
            "the selectors of the class and the ResourceSlices that its driver publishes, or remove the request"
        )
    if which == "node" and resource.startswith(CLASS_AS_RESOURCE):
        name = resource.removeprefix(CLASS_AS_RESOURCE)
        return f"no node offers {resource}: create DeviceClass {name}, correct the name, or remove the request"
    if resource == "pods":  # which no author of a pod can leave out
        fix = "add a node, or set status.allocatable.pods of one (on a real node, maxPods of its kubelet)"
    elif which == "node":
        fix = "remove the request or add a node that does"
    else:
        fix = "fix why those that offer it refuse the pod, or add a node"
    return f"no {which} offers {resource}: {fix}"


def never_fits_together(asked: Mapping[str, int], *, others_refuse: bool = False) -> str:
    """For what some node has of each, but no node of all; `others_refuse` as in `never_fits`."""
    which = _which_node(others_refuse)
    return (
        f"asks for {amounts(asked)}; no single {which} has all of that even when empty: ask for less or add a larger "
        "node"
    )
