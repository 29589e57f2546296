"""Kubernetes' controller of ResourceClaims over objects in memory, and what a scheduler writes of them.

As the real one: a pod gets a claim from each template that it names; a pod that is gone or has finished uses no claim
any more; with the last user a claim loses its devices; a claim that was generated for a pod goes with it.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from msgspec.structs import replace

from volcano_py.api.devices.claims import (
    DELETE_PROTECTION,
    POD_CLAIM_NAME,
    ClaimMeta,
    Consumer,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceClaimTemplate,
)
from volcano_py.api.effects import Bind, DeviceBinding, ExtendedClaim, ObjectRef, ReleaseDevices
from volcano_py.api.objects import ExtendedClaimStatus, OwnerReference, Pod, PodClaimStatus
from volcano_py.cluster.memory_volumes import Store
from volcano_py.cluster.new_claims import new_claim, owner_of

_CLAIM: Final = "ResourceClaim"
_TEMPLATE: Final = "ResourceClaimTemplate"


class MemoryDevices:
    """Keeps the ResourceClaims of one cluster in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._extended: dict[ObjectRef, dict[str, None]] = {}
        """Pod → claims for its extended resources, by namespace/name."""

    def index(self, claim: ResourceClaim) -> None:
        """The claim is in the store."""
        if (owner := owner_of(claim)) is not None:
            self._extended.setdefault(owner, {})[claim.metadata.key] = None

    def leave_out(self, claim: ResourceClaim) -> None:
        """The claim is not in the store any more."""
        owner = owner_of(claim)
        if owner is not None and owner in self._extended:
            self._extended[owner].pop(claim.metadata.key, None)
            if not self._extended[owner]:
                del self._extended[owner]

    def reserve(self, bind: Bind) -> None:
        """Write what the scheduler has chosen for the claims of a pod."""
        for decided in bind.devices:
            binding = decided
            if decided.extended is not None:
                binding = self._with_claim(bind.pod, decided, decided.extended)
            claim = self._store.get(_CLAIM, binding.claim.key, ResourceClaim)
            if claim is None or claim.metadata.uid != binding.claim.uid:
                continue
            others = [each for each in claim.metadata.finalizers if each != DELETE_PROTECTION]
            metadata = replace(claim.metadata, finalizers=[*others, DELETE_PROTECTION])
            users = [each for each in claim.status.reserved_for if each.uid != bind.pod.uid]
            users.append(Consumer(resource="pods", name=bind.pod.name, uid=bind.pod.uid))
            allocation = claim.status.allocation or binding.allocation
            status = ResourceClaimStatus(allocation=allocation, reserved_for=users)
            self._store.put(_CLAIM, replace(claim, metadata=metadata, status=status))

    def _with_claim(self, pod: ObjectRef, binding: DeviceBinding, extended: ExtendedClaim) -> DeviceBinding:
        """The same with a claim that exists and that the pod's status names."""
        reference = binding.claim
        if binding.creates:
            for left in [*self._extended.get(pod, ())]:
                self._store.remove(_CLAIM, left)
            suffix = hashlib.sha256(pod.uid.encode()).hexdigest()[:5]
            claim = new_claim(pod, extended, f"{pod.name}-extended-resources-{suffix}", f"resourceclaim-{pod.uid}")
            self._store.put(_CLAIM, claim)
            reference = ObjectRef(_CLAIM, pod.namespace, claim.metadata.name, claim.metadata.uid)
        status = ExtendedClaimStatus(request_mappings=list(extended.mappings), resource_claim_name=reference.name)
        self._name_in_status(pod, status)
        return replace(binding, claim=reference)

    def _name_in_status(self, pod: ObjectRef, claim: ExtendedClaimStatus | None) -> None:
        found = self._store.get("Pod", pod.key, Pod)
        if found is not None and found.metadata.uid == pod.uid:
            self._store.put("Pod", replace(found, status=replace(found.status, extended_resource_claim_status=claim)))

    def release(self, effect: ReleaseDevices) -> None:
        """Clear the devices of a claim, unless a pod that runs uses it."""
        claim = self._store.get(_CLAIM, effect.claim.key, ResourceClaim)
        if claim is None or claim.metadata.uid != effect.claim.uid:
            return
        users = {each.uid for each in claim.status.reserved_for}
        pods = [self._store.get("Pod", each.key, Pod) for each in effect.pods]
        has_node = any(pod is not None and pod.metadata.uid in users and pod.spec.node_name for pod in pods)
        if users <= {each.uid for each in effect.pods} and not has_node:
            if (owner := owner_of(claim)) is not None:
                self._store.remove(_CLAIM, claim.metadata.key)
                self._name_in_status(owner, None)
            else:
                self._store.put(_CLAIM, replace(claim, status=ResourceClaimStatus()))

    def run(self) -> None:
        """Do all there is to do."""
        self._generate()
        for claim in self._store.objects(_CLAIM, ResourceClaim):
            released = self._released(claim)
            if self._goes(released):
                self._store.remove(_CLAIM, claim.metadata.key)
            elif released is not claim:
                self._store.put(_CLAIM, released)

    # -- claims of templates -----------------------------------------------------------------------------------------

    def _generate(self) -> None:
        made: dict[tuple[str, str], str] | None = None
        for pod in self._store.pods_with_claim_templates():
            known = {each.name for each in pod.status.resource_claim_statuses}
            missing = [each for each in pod.spec.resource_claims if each.get("name") not in known]
            if missing and not _has_ended(pod) and pod.metadata.deletion_timestamp is None:
                made = self._made() if made is None else made
                self._generate_for(pod, missing, made)

    def _made(self) -> dict[tuple[str, str], str]:
        """(UID of a pod, its name for a claim) → the generated claim, for pods whose status does not say so."""
        return {
            (owner.uid, claim.metadata.annotations[POD_CLAIM_NAME]): claim.metadata.name
            for claim in self._store.objects(_CLAIM, ResourceClaim)
            for owner in claim.metadata.owner_references
            if owner.controller and POD_CLAIM_NAME in claim.metadata.annotations
        }

    def _generate_for(self, pod: Pod, entries: list[dict[str, Any]], made: dict[tuple[str, str], str]) -> None:
        statuses = list(pod.status.resource_claim_statuses)
        for entry in entries:
            name, template = str(entry.get("name", "")), entry.get("resourceClaimTemplateName")
            claim = made.get((pod.metadata.uid, name)) or (self._from(str(template), pod, name) if template else "")
            if claim:
                statuses.append(PodClaimStatus(name=name, resource_claim_name=claim))
        if len(statuses) > len(pod.status.resource_claim_statuses):
            self._store.put("Pod", replace(pod, status=replace(pod.status, resource_claim_statuses=statuses)))

    def _from(self, template: str, pod: Pod, entry: str) -> str:
        """Generate a claim; returns its name, "" while the template is missing."""
        namespace, uid = pod.metadata.namespace, pod.metadata.uid
        found = self._store.get(_TEMPLATE, f"{namespace}/{template}", ResourceClaimTemplate)
        if found is None:
            return ""
        # Not by the pod's name: the claim of its predecessor may still be there.
        suffix = hashlib.sha256(f"{uid}/{entry}".encode()).hexdigest()[:5]
        own = found.spec.metadata
        metadata = ClaimMeta(
            namespace=namespace,
            name=f"{pod.metadata.name}-{entry}-{suffix}",
            uid=f"resourceclaim-{uid}-{entry}",
            labels=own.labels,
            annotations={**own.annotations, POD_CLAIM_NAME: entry},
            owner_references=[
                OwnerReference(api_version="v1", kind="Pod", name=pod.metadata.name, uid=uid, controller=True)
            ],
        )
        self._store.put(_CLAIM, ResourceClaim(metadata=metadata, spec=found.spec.spec))
        return metadata.name

    # -- users that have left ----------------------------------------------------------------------------------------

    def _released(self, claim: ResourceClaim) -> ResourceClaim:
        """The claim without users that have left."""
        before, namespace = claim.status.reserved_for, claim.metadata.namespace
        users = [each for each in before if not (_is_pod(each) and self._has_left(namespace, each.name, each.uid))]
        if len(users) == len(before):
            return claim
        status = replace(claim.status, reserved_for=users) if users else ResourceClaimStatus()
        return replace(claim, status=status)

    def _goes(self, claim: ResourceClaim) -> bool:
        """Whether nothing keeps the claim: it was generated for a pod that has left, or somebody deletes it."""
        if claim.status.reserved_for:
            return False
        meta, owners = claim.metadata, [each for each in claim.metadata.owner_references if each.kind == "Pod"]
        has_no_owner = owners and all(self._has_left(meta.namespace, each.name, each.uid) for each in owners)
        return bool(has_no_owner) or meta.deletion_timestamp is not None

    def _has_left(self, namespace: str, name: str, uid: str) -> bool:
        pod = self._store.get("Pod", f"{namespace}/{name}", Pod)
        return pod is None or pod.metadata.uid != uid or _has_ended(pod)


def _is_pod(user: Consumer) -> bool:
    return user.resource == "pods" and not user.api_group


def _has_ended(pod: Pod) -> bool:
    return pod.status.phase in ("Succeeded", "Failed")
