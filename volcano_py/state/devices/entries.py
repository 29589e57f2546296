"""Which claims the entries of a pod's `spec.resourceClaims` stand for."""

from __future__ import annotations

import msgspec

from volcano_py.api.objects import Pod
from volcano_py.state.extended.asked import extended_resources


class Entry(msgspec.Struct, frozen=True):
    """One entry. `claim` is namespace/name, "" while there is none; `template` is the name of the template that the
    claim is generated from, "" for a claim that the pod names."""

    name: str
    claim: str = ""
    template: str = ""


def entries_of(pod: Pod) -> tuple[Entry, ...]:
    """Those that need a claim, in their order. Two entries can stand for one claim."""
    if not pod.spec.resource_claims:
        return ()
    namespace = pod.metadata.namespace
    generated = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    entries = []
    for entry in pod.spec.resource_claims:
        name, template = str(entry.get("name", "")), str(entry.get("resourceClaimTemplateName") or "")
        claim = generated.get(name, "") if template else str(entry.get("resourceClaimName") or "")
        if claim is not None:  # else Kubernetes has found that none is needed
            entries.append(Entry(name, f"{namespace}/{claim}" if claim else "", template))
    return tuple(entries)


def device_claims_of(pod: Pod) -> tuple[str, ...]:
    """The ResourceClaims that a pod uses, as namespace/name, each once, in the order of its entries. A claim that is
    not generated yet is left out. The last may be the one to extended resources (`extended_key`), which need not exist:
    while the pod waits, it is not known whether there is going to be one."""
    has_extended = bool(extended_resources(pod)) if not pod.spec.node_name else names_extended_claim(pod)
    if not pod.spec.resource_claims and not has_extended:
        return ()
    last = [extended_key(pod.metadata.namespace, pod.metadata.uid)] if has_extended else []
    return tuple(dict.fromkeys([*(entry.claim for entry in entries_of(pod) if entry.claim), *last]))


def names_extended_claim(pod: Pod) -> bool:
    """Whether the pod's status names a claim for its extended resources."""
    return pod.status.extended_resource_claim_status is not None


def extended_key(namespace: str, pod: str) -> str:
    """By what the claim to extended resources of the pod with that UID is known, whatever its name: no other claim has
    this one."""
    return f"{namespace}/extended resources of {pod}"
