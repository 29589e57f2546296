"""Classes of pods that are identical to the scheduler, so that nodes are evaluated once per class and not per pod.

The key is made of what matters for scheduling, never of something a pod's author could set to borrow another pod's
verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import msgspec
import numpy as np

from volcano_py.api import names
from volcano_py.api.objects import (
    Affinity,
    ContainerPort,
    NodeSelector,
    Pod,
    PodSpec,
    PreferredSchedulingTerm,
    Toleration,
)
from volcano_py.api.quantity import Nano, Rounding, from_nano, parse_nano
from volcano_py.api.reasons import Reason
from volcano_py.api.requests import PodRequests, RequestError
from volcano_py.state.cards.asked import PARTS_OF_CARDS, CardsAsked, cards_asked, cards_fault
from volcano_py.state.classes.unsupported import not_chosen, strict_policy
from volcano_py.state.devices.needs import DeviceNeed, ExtendedDevices
from volcano_py.state.numa.asked import CpusAsked, cpus_asked
from volcano_py.state.table.axis import CPU, MEMORY, IntVector
from volcano_py.state.table.units import whole_units
from volcano_py.state.terms.affinity import AffinityTerm, affinity_fault, affinity_terms
from volcano_py.state.terms.pod_terms import PodTerm, distinct
from volcano_py.state.terms.profiles import Profile
from volcano_py.state.terms.spread import Spread, spread_fault, spreads_of
from volcano_py.state.volumes.disks import Disk, disks_of
from volcano_py.state.volumes.needs import Need

# kube-scheduler's stand-ins for containers that ask for no cpu or memory, used for scores only
# (pkg/scheduler/util: DefaultMilliCPURequest, DefaultMemoryRequest).
NONZERO_MILLI_CPU = 100
NONZERO_MEMORY = 200 * 1024 * 1024
_STAND_INS = {"cpu": parse_nano(f"{NONZERO_MILLI_CPU}m"), "memory": parse_nano(NONZERO_MEMORY)}
# Characters kept of an annotation, which may be 256 KiB; a list of weights that was cut is reported as no JSON.
_LONGEST_STRATEGY = 4096


class Refusal(msgspec.Struct, frozen=True):
    """Why something may not be: the closed reason and a sentence for people."""

    reason: Reason
    message: str


class Signature(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """Everything of a pod that decides where it may go; its encoding is the class key."""

    units: tuple[tuple[str, int], ...]
    nonzero: tuple[int, int]
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[tuple[str, str, int], ...] = ()
    images: tuple[str, ...] = ()
    namespace: str = ""
    problem: tuple[Reason, str] | None = None
    strategy: tuple[str, str] = ("", "")
    affinity_terms: tuple[AffinityTerm, ...] = ()
    volumes: tuple[Need, ...] = ()
    spreads: tuple[Spread, ...] = ()
    disks: tuple[Disk, ...] = ()
    cards: CardsAsked | None = None
    devices: tuple[DeviceNeed, ...] = ()
    cpus: CpusAsked | None = None

    def pod_terms(self) -> tuple[PodTerm, ...]:
        """All terms of these pods about other pods, each once: the term book holds them while there are such pods."""
        counted = (spread.term for spread in self.spreads if spread.term is not None)
        return distinct((*(one.term for one in self.affinity_terms), *counted))


class TaskClass(msgspec.Struct, frozen=True, eq=False):
    """One class. `row` is its row in the class table, `request` [R] what each of its pods asks for.

    `problem` is set when the pod can never be placed as it stands (unreadable request, unsupported feature).
    """

    row: int
    key: bytes
    signature: Signature
    request: IntVector
    nonzero_request: IntVector
    best_effort: bool
    problem: Refusal | None
    variant: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Plugin name → what sets these pods apart from otherwise equal ones, within one session."""
    profile: Profile = ()
    """Which terms (slots of the snapshot's term picture) match these pods while they are pending."""
    spread_among: PodTerm | None = None
    """The pods among which these are spread when they do not say so themselves; see state.spread_defaults."""

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        return self.signature.tolerations

    @property
    def node_selector(self) -> tuple[tuple[str, str], ...]:
        return self.signature.node_selector

    @property
    def required_node_affinity(self) -> NodeSelector | None:
        affinity = self.signature.affinity
        return affinity.node_affinity.required if affinity and affinity.node_affinity else None

    @property
    def preferred_node_affinity(self) -> list[PreferredSchedulingTerm]:
        affinity = self.signature.affinity
        return affinity.node_affinity.preferred if affinity and affinity.node_affinity else []

    @property
    def affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Affinity and anti-affinity to pods, required and preferred."""
        return self.signature.affinity_terms

    @property
    def spreads(self) -> tuple[Spread, ...]:
        """Topology spread constraints, required and preferred."""
        return self.signature.spreads

    @property
    def host_ports(self) -> tuple[tuple[str, str, int], ...]:
        """(host IP, protocol, port) triples; "0.0.0.0" is every address."""
        return self.signature.host_ports

    @property
    def images(self) -> tuple[str, ...]:
        """One of each container, init containers included; several may have the same."""
        return self.signature.images

    @property
    def volumes(self) -> tuple[Need, ...]:
        """What the claims of such a pod to volumes require."""
        return self.signature.volumes

    @property
    def devices(self) -> tuple[DeviceNeed, ...]:
        """What the claims of such a pod to devices require."""
        return self.signature.devices

    @property
    def extended(self) -> tuple[ExtendedDevices, ...]:
        """Extended resources of such a pod for which devices stand in on some nodes."""
        return tuple(need for need in self.devices if isinstance(need, ExtendedDevices))

    @property
    def uses_claims(self) -> bool:
        """Whether such a pod needs claims to devices on any node."""
        return _uses_claims(self.devices)

    @property
    def disks(self) -> tuple[Disk, ...]:
        """Disks that such a pod names itself, without a claim."""
        return self.signature.disks

    @property
    def cards(self) -> CardsAsked | None:
        """Parts of GPUs that such a pod asks for; None for none."""
        return self.signature.cards

    @property
    def cpus(self) -> CpusAsked | None:
        """CPUs of its own that such a pod asks for, and how they are to lie; None for none."""
        return self.signature.cpus

    @property
    def uses_amounts_only(self) -> bool:
        """Whether such a pod uses only amounts of its node: no host ports, disks, volumes, cards or devices."""
        signature = self.signature  # (asked in every turn of a series)
        return not (
            signature.host_ports or signature.disks or signature.volumes or signature.cards or signature.devices
        )

    @property
    def strategy(self) -> tuple[str, str]:
        """What the pods' annotations say of how nodes are scored for them: type and weights, as written."""
        return self.signature.strategy

    @property
    def requested(self) -> IntVector:
        """Positions on the resource axis that the class asks something of."""
        return np.flatnonzero(self.request)


def _uses_claims(devices: tuple[DeviceNeed, ...]) -> bool:
    return any(not isinstance(need, ExtendedDevices) for need in devices)


def signature_of(pod: Pod, volumes: tuple[Need, ...] = (), devices: tuple[DeviceNeed, ...] = ()) -> Signature:
    """The signature of a pod whose claims require `volumes` and `devices`.

    Never raises: what cannot be read becomes the signature's `problem`.
    """
    spec = pod.spec
    amounts, scored, unreadable = _amounts(pod)
    units, capped = whole_units(amounts, Rounding.UP)
    units["pods"] = 1
    cards, cpus = cards_asked(pod), cpus_asked(pod)
    requested = {name for name, value in units.items() if value}
    problem = unreadable or _problem(pod, capped, requested, cards, cpus, uses_devices=_uses_claims(devices))
    terms, spreads = affinity_terms(pod), spreads_of(pod)
    # Labels are left out: most would split classes for nothing. Those that some term looks at do so in class_split.
    return Signature(
        units=tuple(sorted((name, value) for name, value in units.items() if value)),
        nonzero=_nonzero(scored),
        node_selector=tuple(sorted(spec.node_selector.items())),
        affinity=_of_nodes(spec.affinity),
        tolerations=tuple(spec.tolerations),
        host_ports=_host_ports(spec),
        images=tuple(sorted(container.image for container in (*spec.containers, *spec.init_containers))),
        namespace=pod.metadata.namespace if terms or spreads else "",
        problem=problem,
        strategy=strategy_of(pod),
        affinity_terms=terms,
        volumes=volumes,
        spreads=spreads,
        disks=disks_of(pod),
        cards=cards,
        devices=devices,
        cpus=cpus,
    )


def _amounts(pod: Pod) -> tuple[Mapping[str, Fraction], Mapping[str, Fraction], tuple[Reason, str] | None]:
    """What the pod requests, what it counts with in scores, and what is wrong if that cannot be read."""
    try:
        asked = PodRequests(pod.spec, pod.status)
        amounts = asked.total()
        stand_ins = _stand_ins(pod.spec, amounts)
        return amounts, {**amounts, **asked.total(stand_ins)} if stand_ins else amounts, None
    except RequestError as error:
        scored = {name: from_nano(value) for name, value in _STAND_INS.items()}
        return {}, scored, (Reason.INVALID_POD, str(error))


def _problem(
    pod: Pod,
    capped: str | None,
    requested: set[str],
    cards: CardsAsked | None,
    cpus: CpusAsked | None,
    *,
    uses_devices: bool,
) -> tuple[Reason, str] | None:
    """Why no pod like this can be placed as it is. `capped`: a resource of which it requests an absurd amount."""
    if capped is not None:
        text = f"asks for an impossible amount of {capped} (more than 2^50 units); lower the request"
        return Reason.INVALID_POD, text
    if (fault := affinity_fault(pod.spec.affinity) or spread_fault(pod)) is not None:
        return Reason.INVALID_POD, fault
    if cards is not None and (fault := cards_fault(pod, cards)) is not None:
        return Reason.INVALID_POD, fault
    feature = not_chosen(PARTS_OF_CARDS.intersection(requested), uses_devices=uses_devices, policy=strict_policy(cpus))
    return None if feature is None else (Reason.UNSUPPORTED, feature)


def _stand_ins(spec: PodSpec, amounts: Mapping[str, Fraction]) -> Mapping[str, Nano]:
    """What containers that do not ask for it count with in scores: in pods that ask for resources as a whole, only
    what the pod asks for nowhere."""
    if spec.resources is not None and (spec.resources.requests or spec.resources.limits):
        return {name: amount for name, amount in _STAND_INS.items() if name not in amounts}
    containers = (*spec.containers, *spec.init_containers)
    asked = ({*container.resources.requests, *container.resources.limits} for container in containers)
    return {} if all(names >= _STAND_INS.keys() for names in asked) else _STAND_INS


def _nonzero(amounts: Mapping[str, Fraction]) -> tuple[int, int]:
    """Millicores and bytes."""
    units, _ = whole_units({name: amounts.get(name, Fraction(0)) for name in _STAND_INS}, Rounding.UP)
    return units.get("cpu", 0), units.get("memory", 0)


def _of_nodes(affinity: Affinity | None) -> Affinity | None:
    """Node affinity alone; what is said of pods is in `affinity_terms`, resolved."""
    if affinity is None or affinity.node_affinity is None:
        return None
    return Affinity(node_affinity=affinity.node_affinity)


def strategy_of(pod: Pod) -> tuple[str, str]:
    """The annotations that put a scoring strategy of the pod's own in place of the configured one; "" where absent."""
    annotations = pod.metadata.annotations
    kind = annotations.get(names.RESOURCE_STRATEGY_TYPE, "")
    weights = annotations.get(names.RESOURCE_STRATEGY_WEIGHT, "")
    return kind[:_LONGEST_STRATEGY], weights[:_LONGEST_STRATEGY]


def _host_ports(spec: PodSpec) -> tuple[tuple[str, str, int], ...]:
    def host(port: ContainerPort) -> tuple[str, str, int]:
        return (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)

    sidecars = [container for container in spec.init_containers if container.restart_policy == "Always"]
    lasting = [*spec.containers, *sidecars]
    return tuple(sorted({host(port) for container in lasting for port in container.ports if port.host_port}))


def nonzero_vector(signature: Signature) -> IntVector:
    """[2] cpu and memory for scoring."""
    vector = np.zeros(2, dtype=np.int64)
    vector[CPU], vector[MEMORY] = signature.nonzero
    return vector
