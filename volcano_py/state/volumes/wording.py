"""Why a pod waits for a claim, in sentences; `claim` is namespace/name."""

from __future__ import annotations


def missing(claim: str) -> str:
    return f"PersistentVolumeClaim {claim} does not exist; create it"


def not_made_yet(claim: str) -> str:
    """The claim of a generic ephemeral volume."""
    return (
        f"PersistentVolumeClaim {claim} does not exist yet; Kubernetes creates it for the pod's ephemeral volume. If "
        "this lasts, look at the log of kube-controller-manager"
    )


def of_another(claim: str) -> str:
    return (
        f"PersistentVolumeClaim {claim} was not created for this pod, but the pod's ephemeral volume needs this name; "
        "delete the claim, or recreate it under another name"
    )


def deleting(claim: str) -> str:
    return f"PersistentVolumeClaim {claim} is being deleted; create it again when it is gone"


def lost(claim: str, volume: str) -> str:
    return f"PersistentVolumeClaim {claim} has lost its volume {volume}; restore the volume or recreate the claim"


def volume_missing(claim: str, volume: str) -> str:
    return f"PersistentVolumeClaim {claim} is bound to volume {volume}, which does not exist; restore the volume"


def not_bound_to(claim: str, volume: str) -> str:
    return f"PersistentVolumeClaim {claim} names volume {volume} and is not bound to it yet; {_see(claim)}"


def not_bound(claim: str, storage_class: str, *, exists: bool) -> str:
    if not storage_class:
        return (
            f"PersistentVolumeClaim {claim} is not bound yet; it names no storage class, so it waits for a volume: "
            "create a volume, or name a storage class"
        )
    if not exists:
        return (
            f"PersistentVolumeClaim {claim} is not bound, and its storage class {storage_class} does not exist; "
            "create that class or name another"
        )
    return (
        f"PersistentVolumeClaim {claim} is not bound yet; its storage class {storage_class} binds without a pod: "
        f"{_see(claim)}"
    )


def _see(claim: str) -> str:
    namespace, _, name = claim.partition("/")
    return f"kubectl -n {namespace} describe pvc {name} shows why"
