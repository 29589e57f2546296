"""ResourceClaims, the devices that there are, and who has them: from API objects to the picture that a cycle gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import numpy as np

from volcano_py.api.devices.claims import (
    CLASS_AS_RESOURCE,
    MOST_RESERVATIONS,
    Allocation,
    ClaimMeta,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from volcano_py.api.devices.slices import ResourceSlice
from volcano_py.api.effects import DeviceBinding, ObjectRef
from volcano_py.api.objects import NodeSelector, Pod
from volcano_py.state.claims.changed import ChangedClaims
from volcano_py.state.devices import wording
from volcano_py.state.devices.claims import (
    Claim,
    Class,
    DeviceKey,
    ask_of_class,
    devices_by_class,
    devices_of,
    open_devices,
    read_claim,
    read_class,
)
from volcano_py.state.devices.decisions import Decisions
from volcano_py.state.devices.entries import Entry, entries_of, extended_key, names_extended_claim
from volcano_py.state.devices.holders import Holders
from volcano_py.state.devices.needs import Ask, DeviceNeed, DeviceTrouble, ExtendedDevices, GivenDevices, Request
from volcano_py.state.devices.picture import NO_DEVICES, ClaimInfo, DevicePicture
from volcano_py.state.devices.pools import Pools
from volcano_py.state.devices.slices import Slice, read_slice
from volcano_py.state.extended.asked import asked_of, extended_resources
from volcano_py.state.extended.claims import ExtendedClaims
from volcano_py.state.extended.offers import Offers
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import DerivedStore, Store

KINDS: Final = ("ResourceClaim", "DeviceClass", "ResourceSlice")

NOWHERE: Final = NodeSelector()
"""It selects no node."""
_NOBODY: Final[frozenset[str]] = frozenset()


class _Standing(msgspec.Struct, frozen=True):
    """What of a claim matters to the pods that use it. `full`: its users, once there can be no more of them."""

    uid: str
    owner: str
    is_deleting: bool
    asked: object
    is_given: bool
    nodes: NodeSelector | None
    devices: tuple[tuple[str, int], ...]
    full: frozenset[str]


class Devices:
    """Stores of the kinds of dynamic resource allocation. `in_use` says whether any pod uses a claim; if none does, no
    change here matters.

    Attributes:
        stores: by kind.
        changed: claims whose meaning may be another one now.
        offers: which classes offer extended resources.
        changed_resources: extended resources for which that may be another class now, or the class says something else.
    """

    def __init__(self, in_use: Callable[[], bool]) -> None:
        self._in_use = in_use
        self._claims = DerivedStore(ResourceClaim, read_claim, self._claim_changed)
        self._classes = DerivedStore(DeviceClass, read_class, self._class_changed)
        self._slices = DerivedStore(ResourceSlice, read_slice, self._slice_changed)
        stores: tuple[Store, ...] = (self._claims, self._classes, self._slices)
        self.stores = dict(zip(KINDS, stores, strict=True))
        self._pools = Pools()
        self._decided = Decisions()
        self._holders = Holders()
        self._extended = ExtendedClaims()
        self.offers = Offers(self._classes.get)
        self.changed = ChangedClaims()
        self.changed_resources = ChangedClaims()
        self._infos: dict[str, ClaimInfo] = {}
        self._held = np.zeros(0, dtype=np.int32)
        """[D] how many of them have each device."""
        self._taken = np.zeros(0, dtype=np.int64)
        """[K] what they take of devices that are shared."""
        self._going = np.zeros(0, dtype=np.int32)
        self._going_taken = np.zeros(0, dtype=np.int64)
        """The same of claims that are about to give their devices back."""
        self._left: dict[str, frozenset[str]] = {}
        """Claims whose pods are gone → their users then. Kubernetes' controller releases them, a moment later."""
        self._stale: set[str] = set()
        """Claims whose `_infos` are to be made again."""
        self._configs: dict[str, tuple[dict[str, Any], ...]] | None = None
        self._offered: Mapping[str, Ask] | None = None
        self._picture: DevicePicture | None = None

    # -- what pods need ------------------------------------------------------------------------------------------------

    def needs(self, pod: Pod, is_shared: Callable[[str], bool]) -> tuple[DeviceNeed, ...]:
        """What the pod's claims require; a pod that has a node already has no troubles any more."""
        needs = dict[str, DeviceNeed]()  # by claim: each counts once
        for entry in entries_of(pod):
            needs[entry.claim or f"entry {entry.name}"] = self._need(entry, pod, is_shared)
        found = (*needs.values(), *self._extended_needs(pod))
        if pod.spec.node_name:
            return tuple(need for need in found if not isinstance(need, DeviceTrouble))
        return found

    def _need(self, entry: Entry, pod: Pod, is_shared: Callable[[str], bool]) -> DeviceNeed:
        key = entry.claim
        if not key:
            return DeviceTrouble(_without_claim(entry, pod.metadata.namespace))
        claim = self._claims.get(key)
        if claim is None:
            return DeviceTrouble(wording.generated_missing(key) if entry.template else wording.missing(key))
        if entry.template and claim.owner != pod.metadata.uid:
            return DeviceTrouble(wording.of_another(key))
        if claim.is_deleting and not pod.spec.node_name:
            return DeviceTrouble(wording.deleting(key))
        name = key if is_shared(key) else ""
        allocation = self._allocation(claim)
        if allocation is None:
            return open_devices(claim, name, self._classes.get)
        users = self._users(claim)
        if len(users) >= MOST_RESERVATIONS and pod.metadata.uid not in users:
            return DeviceTrouble(wording.fully_reserved(key))
        # A pod that has a node is there, whatever its devices say: pods on all nodes stay one class.
        nodes = None if pod.spec.node_name else allocation.node_selector
        return GivenDevices(name, nodes, devices_by_class(claim, allocation))

    def _extended_needs(self, pod: Pod) -> Iterator[DeviceNeed]:
        """What the pod's extended resources require that classes offer: the claim that it has for them, or one."""
        if pod.spec.node_name and not names_extended_claim(pod):
            return
        claim = self._extended.get(extended_key(pod.metadata.namespace, pod.metadata.uid))
        if claim is not None and claim.allocation is not None:
            yield self._extended_given(pod, claim, claim.allocation)
        elif not pod.spec.node_name:
            for resource in extended_resources(pod):
                if (need := self._extended_need(pod, resource)) is not None:
                    yield need

    def _extended_given(self, pod: Pod, claim: Claim, allocation: Allocation) -> GivenDevices:
        devices = devices_by_class(claim, allocation)
        if pod.spec.node_name:
            return GivenDevices(devices=devices)
        names = {each.name for each in claim.asked.requests}
        mappings = (each for resource in extended_resources(pod) for each in asked_of(pod, resource).mappings)
        has = tuple(each for each in mappings if each.request_name in names)
        # A claim with other requests than the pod has is of no use on any node, so it is released (framework.devices).
        is_of_use = names == {each.request_name for each in has}
        return GivenDevices(nodes=allocation.node_selector if is_of_use else NOWHERE, devices=devices, mappings=has)

    def _extended_need(self, pod: Pod, resource: str) -> ExtendedDevices | None:
        """None if no class offers the resource, or none whose selectors are understood: only nodes that have the
        resource themselves will do."""
        name = self.offers.device_class(resource)
        device_class = None if name is None else self._classes.get(name)
        if name is None or device_class is None:
            return None
        asked = asked_of(pod, resource)
        asks = [ask_of_class(request, count, name, device_class) for request, count in asked.requests]
        requests = tuple(Request(ask.name, (ask,)) for ask in asks if ask is not None)
        return ExtendedDevices(resource, requests, asked.mappings) if requests and None not in asks else None

    def _claim(self, key: str) -> Claim | None:
        """The claim that pods know by this key. That to extended resources of a pod is known by the pod's."""
        if (found := self._extended.get(key)) is not None:
            return found
        claim = self._claims.get(key)
        return None if claim is not None and self._extended.is_used(claim) else claim

    def _allocation(self, claim: Claim) -> Allocation | None:
        """What the claim has, or is about to get."""
        return claim.allocation or self._decided.allocation(claim.key)

    def _users(self, claim: Claim) -> frozenset[str]:
        """Those that use the claim, or are about to."""
        return claim.users.union(pod for pod, _ in self._decided.of(claim.key))

    # -- what the scheduler itself has done ----------------------------------------------------------------------------

    def found_users(self, key: str) -> None:
        """There are pods that use the claim."""
        if self._left.pop(key, None) is not None:
            self._renew_later(key)

    def lost_users(self, key: str) -> None:
        """The last pod that used the claim is gone, or has ended."""
        claim = self._claim(key)
        if claim is not None and claim.allocation is not None and claim.users:
            self._left[key] = claim.users
            self._renew_later(key)

    def _renew_later(self, key: str) -> None:
        self._stale.add(key)
        self._picture = None

    def may_assume(self, pod: str, bindings: Iterable[DeviceBinding]) -> bool:
        """Whether these claims, and the devices chosen for them, are still available to the pod with that UID."""
        given, devices = [*bindings], set[DeviceKey]()
        for binding in given:
            devices.update(devices_of(binding.allocation))
        return (
            all(self._is_available(pod, each) for each in given)
            and self._pools.have_counters_for(devices, self._holders.is_held)
            and self._has_capacity_for([binding.allocation for binding in given])
        )

    def _is_available(self, pod: str, binding: DeviceBinding) -> bool:
        if binding.creates:
            is_new = self._claim(binding.claim.key) is None
            return is_new and not any(map(self._is_taken, devices_of(binding.allocation)))
        claim = self._claims.get(binding.claim.key)
        if claim is None or claim.uid != binding.claim.uid or claim.is_deleting:
            return False
        is_given = self._allocation(claim) is not None
        if binding.allocation is None:
            users = self._users(claim)
            return is_given and (pod in users or len(users) < MOST_RESERVATIONS)
        return not is_given and not any(map(self._is_taken, devices_of(binding.allocation)))

    def _is_taken(self, device: DeviceKey) -> bool:
        return self._holders.is_held(device) and not self._pools.is_shared(device)

    def _has_capacity_for(self, allocations: Iterable[Allocation | None]) -> bool:
        """Whether shared devices have enough left for these."""
        sharing = [each for each in allocations if each is not None and any(of.share_id for of in each.devices.results)]
        if not sharing:
            return True
        self._settle()
        wanted: Counter[int] = Counter()
        for allocation in sharing:
            wanted.update(self._pools.taken(allocation))
        left = self._pools.shares.value - self._taken
        return all(left[column] >= amount for column, amount in wanted.items())

    def assume(self, pod: str, bindings: Iterable[DeviceBinding]) -> None:
        """This is being written for the pod with that UID."""
        for binding in bindings:
            key = binding.claim.key
            claim = self._claim(key)
            before = self._standing(claim)
            if binding.creates:
                self._extended.assume(_assumed(pod, binding))
            elif claim is not None and claim.uid == binding.claim.uid:
                self._decided.put(pod, binding)
            else:
                continue
            self._follow(key, before)

    def forget(self, pod: str) -> None:
        """The pod is not bound after all, or is over: what the API server shows holds."""
        for key in self._decided.claims_of(pod):
            before = self._standing(self._claim(key))
            self._decided.drop(key, pod)
            self._follow(key, before)
        if (assumed := self._extended.assumed_for(pod)) is not None:
            before = self._standing(self._claim(assumed))
            self._extended.forget(pod)
            self._follow(assumed, before)

    def _follow(self, key: str, before: _Standing | None) -> bool:
        """A claim that stood so has changed, or what is decided about it; returns whether devices became free."""
        claim = self._claim(key)
        for pod, binding in [*self._decided.of(key)]:
            is_shown = claim is not None and claim.allocation is not None and pod in claim.users
            if is_shown or claim is None or claim.uid != binding.claim.uid:
                self._decided.drop(key, pod)
        allocation = None if claim is None else self._allocation(claim)
        if allocation is None:
            self._decided.drop_claim(key)  # others were to use what it does not get
        self._renew_later(key)
        if claim is None or allocation is None:
            self._left.pop(key, None)
        if self._standing(claim) != before:
            self.changed.add(key)
        return self._holders.put(key, devices_of(allocation))

    def _standing(self, claim: Claim | None) -> _Standing | None:
        if claim is None:
            return None
        allocation, users = self._allocation(claim), self._users(claim)
        return _Standing(
            claim.uid,
            claim.owner,
            claim.is_deleting,
            claim.asked,
            allocation is not None,
            None if allocation is None else allocation.node_selector,
            () if allocation is None else devices_by_class(claim, allocation),
            users if len(users) >= MOST_RESERVATIONS else _NOBODY,
        )

    # -- objects as they come ------------------------------------------------------------------------------------------

    def _claim_changed(self, key: str, old: Claim | None, new: Claim | None) -> Change:
        of_pods = {each.extended for each in (old, new) if each is not None and each.extended}
        before = {each: self._standing(self._claim(each)) for each in of_pods}
        self._extended.put(old, new)
        frees_devices = [self._follow(key, self._standing(old))]
        for each in of_pods:
            frees_devices.append(self._follow(each, before[each]))
            frees_devices += [self._follow(one.key, self._standing(one)) for one in self._extended.of_pod(each)]
        return self._decisive() if any(frees_devices) else Change.LATER

    def _class_changed(self, name: str, old: Class | None, new: Class | None) -> Change:
        waiting = (each for each in self._claims.items() if self._allocation(each[1]) is None)
        self.changed.update(key for key, claim in waiting if name in claim.classes)
        self.changed_resources.update(self.offers.put(name, old, new))
        self._configs = self._offered = self._picture = None
        return Change.LATER  # (of what has become possible, the pods tell whose class is another now)

    def _slice_changed(self, _name: str, old: Slice | None, new: Slice | None) -> Change:
        self._pools.put(old, new)
        self._picture = None
        return self._decisive()

    def _decisive(self) -> Change:
        """What it means that there may be more devices to give."""
        return Change.DECISION if self._in_use() else Change.LATER

    def vacant(self, key: str) -> ClaimMeta | None:
        """Metadata of the claim as it was seen last, if it had neither devices nor users then."""
        claim = self._claims.get(key)
        if claim is None or claim.is_deleting or claim.allocation is not None or claim.users:
            return None
        namespace, _, name = key.partition("/")
        return ClaimMeta(
            namespace=namespace,
            name=name,
            uid=claim.uid,
            resource_version=claim.version,
            finalizers=list(claim.finalizers),
        )

    def extended_claims(self, namespace: str, pod: str) -> list[ObjectRef]:
        """All claims that were created for extended resources of the pod with that UID, as they were seen last."""
        found = self._extended.of_pod(extended_key(namespace, pod))
        return [ObjectRef("ResourceClaim", namespace, each.name, each.uid) for each in found]

    # -- what there is -------------------------------------------------------------------------------------------------

    def picture(self) -> DevicePicture:
        """The picture for a cycle; the same one as long as nothing has changed."""
        if not self._in_use():
            return NO_DEVICES
        if self._picture is None:
            self._picture = self._current_picture()
        return self._picture

    def _current_picture(self) -> DevicePicture:
        self._settle()
        if self._configs is None:
            self._configs = {name: each.config for name, each in self._classes.items() if each.config}
        if self._offered is None:
            self._offered = dict(self._offers())
        return DevicePicture(
            version=self._pools.version,
            devices=self._pools.devices,
            faults=self._pools.faults,
            claims=self._infos.copy(),
            class_configs=self._configs,
            offered=self._offered,
            held=self._held.copy(),
            going=self._going.copy(),
            counters=self._pools.counters,
            shares=self._pools.shares,
            taken=self._taken.copy(),
            going_taken=self._going_taken.copy(),
        )

    def _offers(self) -> Iterator[tuple[str, Ask]]:
        """Extended resources that classes offer, each with one device of the class."""
        for resource in (*self.offers.resources(), *(CLASS_AS_RESOURCE + name for name, _ in self._classes.items())):
            name = self.offers.device_class(resource)
            device_class = None if name is None else self._classes.get(name)
            if name is not None and device_class is not None:
                ask = ask_of_class("", 1, name, device_class)
                if ask is not None:
                    yield resource, ask

    def _settle(self) -> None:
        """Make what is known of pools and claims current."""
        if self._pools.settle():
            self._stale.update(key for key, _ in self._claims.items())
            self._stale.update(self._extended.keys())
            self._infos.clear()
            self._held, self._going = (np.zeros(len(self._pools.devices), dtype=np.int32) for _ in range(2))
            self._taken, self._going_taken = (np.zeros_like(self._pools.shares.value) for _ in range(2))
        for key in self._stale:
            self._renew(key)
        self._stale.clear()

    def _renew(self, key: str) -> None:
        """Make the info of a claim again."""
        if (before := self._infos.pop(key, None)) is not None:
            self._count(before, -1)
        if (claim := self._claim(key)) is not None:
            info = self._infos[key] = self._info(claim)
            self._count(info, 1)

    def _count(self, info: ClaimInfo, sign: int) -> None:
        devices, columns = list(info.devices), list(info.taken)
        amounts = np.array([*info.taken.values()], dtype=np.int64)
        self._held[devices] += sign
        self._taken[columns] += sign * amounts
        if info.is_left:
            self._going[devices] += sign
            self._going_taken[columns] += sign * amounts

    def _info(self, claim: Claim) -> ClaimInfo:
        allocation = self._allocation(claim)
        positions = (self._pools.position(key) for key in devices_of(allocation))
        return ClaimInfo(
            uid=claim.uid,
            name=claim.name,
            users=self._users(claim),
            devices=tuple(dict.fromkeys(position for position in positions if position is not None)),
            is_given=allocation is not None,
            is_left=bool(claim.users) and claim.users <= self._left.get(claim.key, _NOBODY),
            config=claim.config,
            taken=self._pools.taken(allocation),
        )


def _without_claim(entry: Entry, namespace: str) -> str:
    if entry.template:
        return wording.not_generated(entry.name, f"{namespace}/{entry.template}")
    return wording.entry_without_claim(entry.name)


def _assumed(pod: str, binding: DeviceBinding) -> Claim:
    """The claim that is being created for extended resources of the pod with that UID."""
    requests = [] if binding.extended is None else binding.extended.requests
    exactly = [(name, ExactDeviceRequest(device_class_name=of, count=count)) for name, of, count in requests]
    return Claim(
        key=binding.claim.key,
        uid="",
        version="",
        finalizers=(),
        owner=pod,
        is_deleting=False,
        asked=DeviceClaim(requests=[DeviceRequest(name=name, exactly=each) for name, each in exactly]),
        allocation=binding.allocation,
        users=frozenset((pod,)),
        name="",
    )
