"""What is wrong, as a sentence: with which object, what was asked, what is there, and what would help.

Pure functions; callers pass integers in the units of `volcano_py.api.report.Amounts` (CPU in millicores, memory and
storage in bytes, everything else as counts). A sentence starts in lower case and has no full stop, so that it can
follow a name or a `Reason`. A message is meant to be the
same in every cycle while nothing changed, so nothing in it may depend on time or on the order of a dict.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec

from volcano_py.api.names import GROUP_NAME, NUMA_POLICY, QUEUE_ALLOCATION_GATE, QUEUE_NAME
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.summarize import plural, summarize

_LONGEST_ERROR: Final = 200  # characters of a foreign exception's text


class NamedBy(Enum):
    """Where a PodGroup that its user did not write has its queue from: the field, after «in»."""

    POD = f"its annotation {QUEUE_NAME}"
    DEPLOYMENT = f"the annotation {QUEUE_NAME} of the pod template of its Deployment"
    TEMPLATE = f"the annotation {QUEUE_NAME} of its pod template"
    JOB = "its spec.queue"
    NAMESPACE = f"the annotation {QUEUE_NAME} of its namespace"


class QueueSource(msgspec.Struct, frozen=True):
    """`maker` is what the PodGroup was made for, in this `namespace`: `Pod hello`, `ReplicaSet web-5f`, `Job train`."""

    named_by: NamedBy
    maker: str
    namespace: str


def queue_not_found(queue: str, source: QueueSource | None = None) -> str:
    return f"queue {queue} does not exist: create it, or {name_queue('an existing one', source)}"


def name_queue(which: str, source: QueueSource | None) -> str:
    """How to give a job another queue: where its user has named the queue, by default in the PodGroup.

    A generated PodGroup keeps its queue: to change it, recreate what it was generated for. A Deployment does so
    itself.
    """
    if source is None:
        return f"name {which} in spec.queue of the PodGroup"
    if source.named_by is NamedBy.NAMESPACE:
        field = f"the annotation {QUEUE_NAME} of namespace {source.namespace}"
        return f"name {which} in {field} and recreate {source.maker}"
    if source.named_by is NamedBy.DEPLOYMENT:
        return f"name {which} in the annotation {QUEUE_NAME} of the pod template of {source.maker}"
    return f"recreate {source.maker} with {which} in {source.named_by.value}"


def invalid_queue(queue: str, problem: str) -> str:
    """`problem` says what is wrong and what would fix it."""
    return f"queue {queue}: {problem}"


def pod_group_not_found(namespace: str, name: str) -> str:
    """`name` is cut, as an annotation can be long."""
    return f"PodGroup {namespace}/{cut(name)} does not exist: create it or correct the pod's annotation {GROUP_NAME}"


def invalid_field(field: str, found: object, fix: str) -> str:
    """`spec.minMember is -1: must not be negative`; `found` is cut, as users can make it long."""
    return f"{field} is {cut(repr(found))}: {fix}"


def unsupported(feature: str) -> str:
    return (
        f"the pod uses {feature}, which this scheduler does not evaluate yet: leave it out, or give the pod to another "
        "scheduler"
    )


def cards_not_chosen(resources: str, argument: str, instead: str = "") -> str:
    """`resources` are those that the plugin deviceshare could choose cards for, with this argument; `instead` are those
    that it is configured for."""
    if instead:
        return (
            f"the pod asks for {resources}, and the plugin deviceshare is configured for {instead}: ask for GPUs by "
            f"these, or configure {argument}: true instead"
        )
    return (
        f"the pod asks for {resources}, and no plugin chooses its GPUs: add the plugin deviceshare to the "
        f"configuration, with {argument}: true"
    )


def cpus_not_aligned(policy: str) -> str:
    """`policy`: of the pod's annotation."""
    return (
        f"the pod has the annotation {NUMA_POLICY}: {policy}, and no plugin aligns its CPUs: add the plugin numa-aware "
        "to the configuration"
    )


def devices_not_chosen() -> str:
    return (
        "the pod uses spec.resourceClaims (dynamic resource allocation), and no plugin chooses its devices: add the "
        "plugin predicates to the configuration, without predicate.DynamicResourceAllocationEnable: false"
    )


def plugin_failed(plugin: str = "") -> str:
    """`plugin` may be unknown."""
    who = f"plugin {plugin}" if plugin else "a plugin"
    return f"{who} failed; see the scheduler's log, and fix the plugin or remove it from the configuration"


def scheduling_gated(gates: Sequence[str], subject: str = "the pod") -> str:
    if all(gate == QUEUE_ALLOCATION_GATE for gate in gates):
        return (
            f"{subject} has the scheduling gate {QUEUE_ALLOCATION_GATE}: the scheduler removes it when the queue has "
            "room for the pod"
        )
    listed, it = summarize(gates), _it(gates)
    which = plural("scheduling gate", len(gates))
    return f"{subject} has the {which} {listed}: the controller or user that set {it} must remove {it}"


def gate_not_removed(answer: str, *, is_forbidden: bool) -> str:
    """`answer`: that of the API server; `is_forbidden`: it is 403, which mostly is a missing right."""
    text = f"the scheduler cannot remove the scheduling gate {QUEUE_ALLOCATION_GATE}: {answer}"
    if not is_forbidden:
        return text
    return (
        f"{text}; the right to patch pods is granted by kubectl apply -f manifests/overlays/queue-gates/rbac.yaml "
        "(with Helm: custom.queue_gates_enable)"
    )


def refused_by_plugin(plugin: str, rule: str) -> str:
    return f"plugin {plugin} refuses the job: {rule}"


def not_yet_evaluated() -> str:
    return (
        "the scheduler has not evaluated it yet; if this lasts, check in the scheduler's /status and log that it is "
        "running and is the leader"
    )


def message(reason: Reason, sentence: str) -> str:
    """A whole message: the closed code first, so that machines find it, then the sentence."""
    return f"{reason.value}: {sentence}"


def cut(text: str, longest: int = _LONGEST_ERROR) -> str:
    """At most this many characters, with dots where there were more."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"
