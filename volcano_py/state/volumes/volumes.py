"""Claims, volumes and storage classes: what they mean for the pods that use them.

What the scheduler has decided counts before the API server shows it: a volume that was chosen for a claim is not
given to another, and a claim whose volume will be created for a node belongs to that node, until the claim is bound or
the binding has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from msgspec.structs import replace

from volcano_py.api.effects import ClaimBinding
from volcano_py.api.objects import Pod
from volcano_py.api.volumes import (
    READ_WRITE_ONCE_POD,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from volcano_py.state.claims.changed import ChangedClaims
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import DerivedStore, Store
from volcano_py.state.volumes import wording as volume_words
from volcano_py.state.volumes.decisions import Decision, Decisions
from volcano_py.state.volumes.needs import BoundNeed, Need, OpenNeed, Trouble, claims_of, own_claims_of
from volcano_py.state.volumes.storage import (
    Capacity,
    Claim,
    Storage,
    Volume,
    read_capacity,
    read_claim,
    read_limits,
    read_volume,
)

KINDS: Final = (
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
)

_NOTHING: Final = Storage()

V = TypeVar("V", Volume, Capacity)


class Volumes:
    """Stores of the storage kinds. `in_use` says whether any pod uses a claim; if none does, no change here matters.

    Attributes:
        stores: by kind.
        changed: claims whose meaning may be another one now.
    """

    def __init__(self, in_use: Callable[[], bool]) -> None:
        self._in_use = in_use
        self._claims = DerivedStore(PersistentVolumeClaim, read_claim, self._claim_changed)
        self._volumes = DerivedStore(PersistentVolume, read_volume, self._volume_changed)
        self._classes = DerivedStore(StorageClass, lambda each: each, self._class_changed)
        self._limits = DerivedStore(CSINode, read_limits, lambda _key, _old, _new: self._decisive())
        self._drivers = DerivedStore(
            CSIDriver, lambda each: each.spec.storage_capacity, lambda _key, _old, _new: self._decisive()
        )
        self._capacities = DerivedStore(CSIStorageCapacity, read_capacity, self._capacity_changed)
        stores: tuple[Store, ...] = (
            self._claims,
            self._volumes,
            self._classes,
            self._limits,
            self._drivers,
            self._capacities,
        )
        self.stores = dict(zip(KINDS, stores, strict=True))
        self._kept_for: dict[str, set[str]] = {}
        """Claim → volumes that name it."""
        self._named_by: dict[str, set[str]] = {}
        """Volume → claims that name it."""
        self._decided = Decisions()
        self.changed = ChangedClaims()
        self._storage: Storage | None = None

    # -- what pods need ----------------------------------------------------------------------------------------------

    def needs(self, pod: Pod, is_shared: Callable[[str], bool]) -> tuple[Need, ...]:
        """What the pod's claims require; a pod that has a node already has no troubles any more."""
        claims = claims_of(pod)
        if not claims:
            return ()
        own = own_claims_of(pod)
        needs = [self._need(claim, pod, shared=is_shared(claim), own=claim in own) for claim in claims]
        if pod.spec.node_name:
            return tuple(need for need in needs if not isinstance(need, Trouble))
        return tuple(needs)

    def _need(self, key: str, pod: Pod, *, shared: bool, own: bool) -> Need:
        claim = self._claims.get(key)
        if claim is None:
            return Trouble(volume_words.not_made_yet(key) if own else volume_words.missing(key))
        if own and claim.owner != pod.metadata.uid:
            return Trouble(volume_words.of_another(key))
        if claim.is_lost:
            return Trouble(volume_words.lost(key, claim.volume))
        if claim.is_deleting and not pod.spec.node_name:
            return Trouble(volume_words.deleting(key))
        exclusive = shared and READ_WRITE_ONCE_POD in claim.access_modes
        need = self._need_of_bound if claim.is_bound else self._need_of_open
        return need(claim, key if shared else "", exclusive)

    def _need_of_bound(self, claim: Claim, name: str, exclusive: bool) -> Need:
        volume = self._volumes.get(claim.volume)
        if volume is None:
            return Trouble(volume_words.volume_missing(claim.key, claim.volume))
        return BoundNeed(name, exclusive, volume.affinity, volume.zones, volume.driver)

    def _need_of_open(self, claim: Claim, name: str, exclusive: bool) -> Need:
        if claim.volume:
            return Trouble(volume_words.not_bound_to(claim.key, claim.volume))
        storage_class = self._classes.get(claim.storage_class)
        if storage_class is None or not storage_class.waits:
            return Trouble(volume_words.not_bound(claim.key, claim.storage_class, exists=storage_class is not None))
        decided = self._decided.of(claim.key)
        reserved = decided.binding.volume if decided is not None else ""
        return OpenNeed(
            name,
            exclusive,
            storage_class=claim.storage_class,
            size=claim.size,
            access_modes=claim.access_modes,
            volume_mode=claim.volume_mode,
            attributes_class=claim.attributes_class,
            selector=claim.selector,
            node=decided.node if decided is not None and not reserved else claim.selected_node,
            reserved=reserved or self._kept_volume(claim),
        )

    def _kept_volume(self, claim: Claim) -> str:
        """The volume that names this claim, "" for none; the first by name of several."""
        for name in sorted(self._kept_for.get(claim.key, ())):
            volume = self._volumes.get(name)
            if volume is not None and volume.claim_uid in ("", claim.uid) and not volume.is_deleting:
                return name
        return ""

    # -- what the scheduler itself has done ----------------------------------------------------------------------------

    def may_assume(self, bindings: Iterable[ClaimBinding], node: str) -> bool:
        """Whether these claims, and the volumes chosen for them, are still available to a pod on that node."""
        return all(self._is_available(binding, node) for binding in bindings)

    def _is_available(self, binding: ClaimBinding, node: str) -> bool:
        key = binding.claim.key
        claim, decided = self._claims.get(key), self._decided.of(key)
        if claim is None or claim.uid != binding.claim.uid or claim.volume or claim.is_deleting:
            return False
        if decided is not None and decided.binding.volume != binding.volume:
            return False
        if not binding.volume:
            ordered_for = claim.selected_node if decided is None else decided.node
            return ordered_for in ("", node)
        volume = self._volumes.get(binding.volume)
        if volume is None or volume.is_deleting or volume.claim not in ("", key):
            return False
        return self._decided.claim_of(volume.name) in ("", key)

    def assume(self, pod: str, bindings: Iterable[ClaimBinding], node: str) -> None:
        """This is being written for the pod with that UID."""
        for binding in bindings:
            key = binding.claim.key
            claim = self._claims.get(key)
            if claim is not None and claim.uid == binding.claim.uid and not claim.is_bound:
                self._decided.put(Decision(pod, binding, node))
                self._claim_means_something_else(key)

    def forget(self, pod: str) -> None:
        """The pod is not bound after all, or is gone: what the API server shows holds."""
        for key in self._decided.drop_pod(pod):
            self._claim_means_something_else(key)

    # -- objects as they come ----------------------------------------------------------------------------------------

    def _claim_changed(self, key: str, old: Claim | None, new: Claim | None) -> Change:
        if old is not None and old.volume:
            _unlink(self._named_by, old.volume, key)
        if new is not None and new.volume:
            _link(self._named_by, new.volume, key)
        decision = self._decided.of(key)
        if decision is not None and (new is None or new.is_bound or new.uid != decision.binding.claim.uid):
            self._decided.drop(key)
        self._claim_means_something_else(key)
        return Change.LATER

    def _volume_changed(self, name: str, old: Volume | None, new: Volume | None) -> Change:
        if old is not None and old.claim:
            _unlink(self._kept_for, old.claim, name)
        if new is not None and new.claim:
            _link(self._kept_for, new.claim, name)
        claims = {volume.claim for volume in (old, new) if volume is not None and volume.claim}
        for claim in claims | self._named_by.get(name, set()):
            self._claim_means_something_else(claim)
        return self._decisive() if new is not None and new.is_free else self._nothing()

    def _class_changed(self, name: str, _old: StorageClass | None, _new: StorageClass | None) -> Change:
        for key, claim in self._claims.items():
            if claim.storage_class == name:
                self._claim_means_something_else(key)
        return self._decisive()

    def _capacity_changed(self, _key: str, old: Capacity | None, new: Capacity | None) -> Change:
        grown = new is not None and (old is None or replace(old, largest=0) != replace(new, largest=0))
        return self._decisive() if grown or (old and new and new.largest > old.largest) else self._nothing()

    def _claim_means_something_else(self, key: str) -> None:
        self.changed.add(key)
        self._storage = None

    def _decisive(self) -> Change:
        self._storage = None
        return Change.DECISION if self._in_use() else Change.LATER

    def _nothing(self) -> Change:
        self._storage = None
        return Change.LATER

    # -- what there is -------------------------------------------------------------------------------------------------

    def storage(self) -> Storage:
        """The picture for a cycle; the same one as long as nothing has changed."""
        if not self._in_use():
            return _NOTHING
        if self._storage is None:
            self._storage = self._current_storage()
        return self._storage

    def _current_storage(self) -> Storage:
        ours = frozenset(self._decided.volumes())
        open_claims = {key: claim.uid for key, claim in self._claims.items() if not claim.is_bound}
        return Storage(
            classes=dict(self._classes.items()),
            free=self._free_by_class(ours),
            kept=self._kept(ours.union(*(self._kept_for.get(key, ()) for key in open_claims))),
            tracked=frozenset(name for name, reports in self._drivers.items() if reports),
            capacities=_by_class(each for each in self._capacities.values() if each is not None),
            limits=self._limits_by_driver(),
            claims=open_claims,
        )

    def _free_by_class(self, decided: frozenset[str]) -> dict[str, tuple[Volume, ...]]:
        """The free volumes of each storage class, smallest first, without those that were decided on."""
        free = _by_class(volume for name, volume in self._volumes.items() if volume.is_free and name not in decided)
        return {name: tuple(sorted(volumes, key=_smallest_first)) for name, volumes in free.items()}

    def _kept(self, names: frozenset[str]) -> dict[str, Volume]:
        """Those of these volumes that exist, by name."""
        return {name: volume for name in names if (volume := self._volumes.get(name)) is not None}

    def _limits_by_driver(self) -> dict[str, dict[str, int]]:
        """Driver → node → how many volumes it attaches there."""
        limits: dict[str, dict[str, int]] = {}
        for node, by_driver in self._limits.items():
            for driver, count in by_driver.items():
                limits.setdefault(driver, {})[node] = count
        return limits


def _by_class(found: Iterable[V]) -> dict[str, tuple[V, ...]]:
    """By storage class, in the order given."""
    lists: dict[str, list[V]] = {}
    for each in found:
        lists.setdefault(each.storage_class, []).append(each)
    return {name: tuple(members) for name, members in lists.items()}


def _link(index: dict[str, set[str]], key: str, member: str) -> None:
    index.setdefault(key, set()).add(member)


def _unlink(index: dict[str, set[str]], key: str, member: str) -> None:
    index[key].discard(member)
    if not index[key]:
        del index[key]


def _smallest_first(volume: Volume) -> tuple[int, str]:
    return volume.size, volume.name
