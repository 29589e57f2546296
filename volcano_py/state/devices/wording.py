"""Why a pod waits for a ResourceClaim, and why devices are left out, in sentences; `claim` is namespace/name."""

from __future__ import annotations

from typing import Final

from volcano_py.api.devices.claims import ALL_DEVICES, EXACT_COUNT, MOST_RESERVATIONS
from volcano_py.api.wording.summarize import counted

# -- claims ------------------------------------------------------------------------------------------------------------


def missing(claim: str) -> str:
    return f"ResourceClaim {claim} does not exist; create it"


def not_generated(entry: str, template: str) -> str:
    """`template` is namespace/name."""
    return (
        f"the ResourceClaim for entry {entry} of spec.resourceClaims is not generated yet; Kubernetes generates it "
        f"from ResourceClaimTemplate {template}. If this lasts, check that the template exists, and look at the log of "
        "kube-controller-manager"
    )


def generated_missing(claim: str) -> str:
    """The claim was generated, or is just being created, but is not there."""
    return (
        f"ResourceClaim {claim}, which status.resourceClaimStatuses of the pod names, does not exist; if this lasts, "
        "it was deleted: recreate the pod"
    )


def of_another(claim: str) -> str:
    return (
        f"ResourceClaim {claim} was not generated for this pod, but status.resourceClaimStatuses of the pod names it; "
        "recreate the pod, so that a claim is generated for it"
    )


def deleting(claim: str) -> str:
    return f"ResourceClaim {claim} is being deleted; create it again when it is gone"


def fully_reserved(claim: str) -> str:
    return (
        f"ResourceClaim {claim} is reserved for {MOST_RESERVATIONS} pods, which is the most that a claim can have; "
        "wait for one of them to end, or name another claim"
    )


def class_missing(claim: str, request: str, device_class: str) -> str:
    return (
        f"request {request} of ResourceClaim {claim} names DeviceClass {device_class}, which does not exist; create "
        "that class, or recreate the claim with an existing one"
    )


def entry_without_claim(entry: str) -> str:
    return (
        f"entry {entry} of spec.resourceClaims names neither resourceClaimName nor resourceClaimTemplateName; recreate "
        "the pod with one of them"
    )


def asks_for_nothing(claim: str, request: str) -> str:
    return (
        f"request {request} of ResourceClaim {claim} has neither exactly nor firstAvailable, and other kinds of "
        "requests are not evaluated yet; recreate the claim with one of them"
    )


def capacity_unreadable(claim: str, request: str, error: ValueError) -> str:
    return (
        f"request {request} of ResourceClaim {claim} asks for an amount of capacity that cannot be read: {error}; "
        "recreate the claim with a quantity"
    )


def unknown_mode(claim: str, request: str, mode: str) -> str:
    return (
        f"request {request} of ResourceClaim {claim} has allocationMode {mode}, which is not evaluated yet; recreate "
        f"the claim with {EXACT_COUNT} or {ALL_DEVICES}"
    )


def selector_without_cel(claim: str, request: str) -> str:
    """The selector is the claim's or its device class's."""
    return (
        f"request {request} of ResourceClaim {claim}, or its DeviceClass, has a selector without cel.expression, and "
        "other kinds of selectors are not evaluated yet; recreate it with one"
    )


def unknown_constraint(claim: str) -> str:
    return (
        f"ResourceClaim {claim} has a constraint with neither matchAttribute nor distinctAttribute, and other kinds of "
        "constraints are not evaluated yet; recreate the claim with one of them"
    )


# -- devices that are not usable; these end a sentence such as "3 devices are not usable: …" ---------------------------

HAS_CONDITIONS: Final = "has conditions for its binding"
SELECTS_NODES: Final = "is in a slice with perDeviceNodeSelection"

# -- pools that give nothing -------------------------------------------------------------------------------------------


def incomplete(there: int, announced: int) -> str:
    return f"{there} of its {counted(announced, 'ResourceSlice')} are published"


def device_twice(device: str) -> str:
    return f"it has several devices with the name {device}"


def counter_set_twice(counter_set: str) -> str:
    return f"it has several counter sets with the name {counter_set}"


def amount_unreadable(error: ValueError) -> str:
    return f"of its counters or capacities, a value is not usable: {error}"


def counters_missing(device: str, counters: str) -> str:
    return f"its device {device} consumes counters that it does not have: {counters}"
