"""Writes which devices claims get and which pods may use them, and only then lets these pods be bound.

A claim is written in two steps, because its status is a resource of its own: the finalizer that keeps the claim as long
as it has devices, then allocation and reservation together. Every patch names the version that it is based on, so that
nothing is overwritten that somebody else has written meanwhile.

The kubelet starts no pod whose claims are not reserved for it, so the pod is bound last. If that fails, what was
written is taken back before the failure is reported: otherwise the next decision for the same pod could rely on it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import msgspec
import structlog

from volcano_py.api.devices.claims import (
    DELETE_PROTECTION,
    DEVICE_API,
    MOST_RESERVATIONS,
    Allocation,
    ClaimMeta,
    Consumer,
    ResourceClaim,
)
from volcano_py.api.effects import Bind, DeviceBinding, ExtendedClaim, ObjectRef, ReleaseDevices
from volcano_py.api.json_values import Reader
from volcano_py.api.objects import Pod
from volcano_py.cluster.kubernetes.backoff import RetryPolicy, retry
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.http.errors import NotFoundError, RequestError, StoppedError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.writing.devices.extended_claims import ExtendedClaims, FindClaims
from volcano_py.cluster.kubernetes.writing.pod_tasks import PodTasks
from volcano_py.cluster.kubernetes.writing.turns import Slots
from volcano_py.cluster.kubernetes.writing.workers import LEASE_IS_OVER, Fence, always
from volcano_py.cluster.new_claims import owner_of
from volcano_py.cluster.protocol import BindOutcomes
from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.terms import matches

T = TypeVar("T")
log = structlog.get_logger(__name__)

RETRIES: Final = RetryPolicy(give_up_after=30.0, conflicts=True)
_ANSWER_WITHIN: Final = 15.0  # seconds for one attempt
_RELEASED_WITHIN: Final = 10.0
"""Seconds after which a release is not begun any more: the scheduler counts the claim as it is shown after 30."""
_CLAIMS: Final = Reader(ResourceClaim)


class DeviceError(RequestError):
    """A claim does not get what was decided for it. `transient`: another pod of ours may be about to change that."""

    def __init__(self, claim: str, why: str, *, transient: bool = False) -> None:
        super().__init__(f"ResourceClaim {claim} {why}")
        self.verb, self.path = "", ""
        self._transient = transient

    @property
    def transient(self) -> bool:
        return self._transient


class _Desk:
    """One claim. Pods are added to it one after the other, each to what the one before has left."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.seen: ResourceClaim | None = None
        """The claim as the API server showed it last; None while that is not known."""
        self.visitors = 0


class DeviceBinder:
    """Hands on `Bind` effects whose claims are reserved, and hears what becomes of them (`BindOutcomes`)."""

    def __init__(
        self,
        client: KubernetesClient,
        outcomes: BindOutcomes,
        hand_on: Callable[[Iterable[Bind]], None],
        *,
        in_flight: int,
        on_prepared: Callable[[Bind], None] = lambda _bind: None,
        find_node: Callable[[str], NodeInfo | None] = NodeInfo,
        find_vacant: Callable[[str], ClaimMeta | None] = lambda _claim: None,
        find_extended: FindClaims = lambda _namespace, _pod: (),
        retries: RetryPolicy = RETRIES,
        fence: Fence = always,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """`hand_on` gets what is ready to be bound, and `on_prepared` is called for it, if `find_node` still has the
        node; `find_vacant` is what is known of a claim (namespace/name) without devices; `find_extended` finds claims
        that pods have for extended resources; `fence` is asked before each write. `in_flight`: claims that are written
        at the same time."""
        self._client, self._outcomes, self._hand_on = client, outcomes, hand_on
        self._on_prepared, self._find_node, self._find_vacant = on_prepared, find_node, find_vacant
        self._retries, self._fence = retries, fence
        self._clock, self._rng = clock, rng or random.Random()
        self._slots = Slots(in_flight)
        self._desks: dict[str, _Desk] = {}
        """By the claim's UID, those at which a pod is."""
        self._extended = ExtendedClaims(client, self._in_turn, find_extended)
        self._created: set[str] = set()
        """UIDs of claims that were created for pods, until it is known what became of their bindings."""
        self._reserved: dict[str, Collection[ObjectRef]] = {}
        """Pod → claims that were reserved for it, until it is known what became of its binding."""
        self._tasks = PodTasks(clock)

    @property
    def waiting(self) -> int:
        """Pods whose claims are being written or taken back, and claims that are being released."""
        return len(self._tasks)

    def submit(self, binds: Iterable[Bind]) -> None:
        """Write the claims of these, then bind the pods. Once stopped, they are reported as failed at once."""
        for bind in binds:
            if self._tasks.stopped:
                self._fail(bind, StoppedError("claims", self._tasks.stopped))
            else:
                self._tasks.begin(self._run(bind), f"devices of {bind.pod.key}")

    def release(self, releases: Iterable[ReleaseDevices]) -> None:
        """Clear the devices of these claims. Once stopped, that is left to the next leader."""
        for each in releases:
            if not self._tasks.stopped:
                self._tasks.begin(self._release(each), f"release of {each.claim.key}")

    def stop_new(self, why: str = LEASE_IS_OVER) -> None:
        """Write nothing any more, and take nothing back: what is written is the next leader's."""
        self._tasks.stop(why)

    async def drain(self, seconds: float) -> int:
        """Wait that long until all is written. Returns how many were given up."""
        return await self._tasks.drain(seconds, self._tasks.idle)

    # -- what became of the binding ----------------------------------------------------------------------------------

    def bound(self, bind: Bind, ago: float) -> None:
        claims = self._reserved.pop(bind.pod.uid, ())
        self._created.difference_update(each.uid for each in claims)
        self._outcomes.bound(bind, ago)

    def bind_failed(self, bind: Bind, error: Exception, *, gone: bool) -> None:
        claims = self._reserved.pop(bind.pod.uid, None)
        if not claims or self._tasks.stopped or isinstance(error, StoppedError):
            self._outcomes.bind_failed(bind, error, gone=gone)
        else:
            self._tasks.begin(self._undo(bind, claims, error, gone=gone), f"devices back from {bind.pod.key}")

    # -- one pod -----------------------------------------------------------------------------------------------------

    async def _run(self, bind: Bind) -> None:
        written: dict[str, ObjectRef] = {}  # by UID
        try:
            for binding in bind.devices:
                if binding.extended is None:
                    await self._reserve(bind, binding, written)
                else:
                    await self._reserve_extended(bind, binding, binding.extended, written)
        except RequestError as error:
            await self._give_up(bind, written.values(), error)
        except asyncio.CancelledError:
            self._fail(bind, StoppedError("claims", self._tasks.stopped))
            raise
        except Exception as error:
            # After a bug of ours the pod must not keep devices without a node.
            log.exception("unexpected error while reserving claims", pod=bind.pod.key)
            await self._give_up(
                bind, written.values(), DeviceError(bind.devices[0].claim.key, f"could not be written: {error}")
            )
        else:
            if written:
                self._reserved[bind.pod.uid] = written.values()
            self._on_prepared(bind)
            self._hand_on([bind])

    async def _give_up(self, bind: Bind, written: Collection[ObjectRef], error: RequestError) -> None:
        log.warning("claims not reserved", pod=bind.pod.key, node=bind.node, error=str(error))
        await self._undo(bind, written, error, gone=False)

    async def _undo(self, bind: Bind, claims: Collection[ObjectRef], error: Exception, *, gone: bool) -> None:
        """Take the pod's reservations back, then report the failure."""
        try:
            if claims and not isinstance(error, StoppedError) and not await self._has_node(bind.pod):
                for claim in claims:
                    if claim.uid in self._created:
                        await self._extended.take_back(bind.pod, claim)
                    else:
                        await self._take_back(bind.pod, claim)
        except RequestError as problem:
            # The next decision for the pod, or Kubernetes' controller once the pod is gone, deals with what is left.
            log.warning("reservations not taken back", pod=bind.pod.key, error=str(problem))
        finally:
            self._created.difference_update(each.uid for each in claims)
            self._outcomes.bind_failed(bind, error, gone=gone)

    async def _has_node(self, pod: ObjectRef) -> bool:
        """Whether the pod runs somewhere after all: another scheduler may have bound it."""

        async def attempt() -> bool:
            try:
                found = await self._client.read(ApiPath("v1", "pods", pod.namespace).of(pod.name), Pod)
            except NotFoundError:
                return False
            return found.metadata.uid == pod.uid and bool(found.spec.node_name)

        return await self._insist(attempt)

    def _fail(self, bind: Bind, error: RequestError) -> None:
        log.warning("claims not reserved", pod=bind.pod.key, node=bind.node, error=str(error))
        self._outcomes.bind_failed(bind, error, gone=False)

    # -- one claim ---------------------------------------------------------------------------------------------------

    async def _reserve_extended(
        self, bind: Bind, binding: DeviceBinding, extended: ExtendedClaim, written: dict[str, ObjectRef]
    ) -> None:
        """The same with the claim to extended resources of the pod, which its status has to name."""
        claim: ResourceClaim | None = None
        if binding.creates:
            claim = await self._extended.create(bind.pod, extended)
            meta = claim.metadata
            reference = ObjectRef("ResourceClaim", meta.namespace, meta.name, meta.uid)
            binding = msgspec.structs.replace(binding, claim=reference)
            self._created.add(meta.uid)
            written[meta.uid] = reference
        await self._reserve(bind, binding, written, claim)
        await self._extended.name_in_status(bind.pod, binding.claim.name, extended)

    async def _reserve(
        self,
        bind: Bind,
        binding: DeviceBinding,
        written: dict[str, ObjectRef],
        created: ResourceClaim | None = None,
    ) -> None:
        """Let the pod use the claim, which was just `created` or not. `written` gets the claim if that has to be
        written, before it is."""
        # A claim without devices is written first as the watch has shown it: if that is outdated, it is a conflict.
        is_first = binding.allocation is not None

        async def attempt(desk: _Desk) -> None:
            nonlocal is_first
            if is_first and created is not None:
                desk.seen = created
            elif is_first and desk.seen is None and (known := self._find_vacant(binding.claim.key)) is not None:
                desk.seen = ResourceClaim(metadata=known)
            is_first = False
            try:
                desk.seen = claim = await self._look(binding.claim, desk)
                self._check(bind, binding, claim)
                if bind.pod.uid not in _users(claim):
                    written[binding.claim.uid] = binding.claim
                    desk.seen = None
                    desk.seen = await self._write(bind.pod, claim, binding.allocation)
            except NotFoundError as error:
                raise DeviceError(binding.claim.key, "was deleted") from error

        await self._at_desk(binding.claim, attempt)

    async def _take_back(self, pod: ObjectRef, reference: ObjectRef) -> None:
        """End the pod's reservation; a claim that has no other user gives its devices back."""

        async def attempt(desk: _Desk) -> None:
            try:
                claim = await self._look(reference, desk)
            except NotFoundError:
                return
            if claim.metadata.uid != reference.uid or pod.uid not in _users(claim):
                return
            others = [each for each in claim.status.reserved_for if each.uid != pod.uid]
            await self._keep_only(claim, others, desk)

        await self._at_desk(reference, attempt)

    async def _release(self, effect: ReleaseDevices) -> None:
        """Clear the devices of a claim, unless one of its pods has a node by now, or others use it. One to extended
        resources is deleted, as its pod may need none on its next node."""
        claim, pods, ends = effect.claim, {each.uid for each in effect.pods}, self._clock.monotonic() + _RELEASED_WITHIN
        owner: ObjectRef | None = None

        async def attempt(desk: _Desk) -> None:
            nonlocal owner
            try:
                found = await self._look(claim, desk)
            except NotFoundError:
                return
            is_idle = found.status.allocation is not None and _users(found) <= pods
            if found.metadata.uid == claim.uid and is_idle and self._clock.monotonic() < ends:
                await self._keep_only(found, [], desk)
                owner = owner_of(found)
                log.info("devices released", claim=claim.key, waiting=[each.key for each in effect.pods])

        try:
            for pod in effect.pods:
                if await self._has_node(pod):
                    return
            await self._at_desk(claim, attempt)
            if owner is not None:
                await self._extended.take_back(owner, claim)
        except RequestError as problem:
            # As long as the pods wait, later cycles decide the same.
            log.warning("devices not released", claim=claim.key, error=str(problem))

    async def _keep_only(self, claim: ResourceClaim, users: Sequence[Consumer], desk: _Desk) -> None:
        """These alone use the claim from now on; if there are none, it gives its devices back. (What drivers say of
        devices goes with them: the API server drops it.)"""
        status: dict[str, Any] = {"reservedFor": users} if users else {"allocation": None, "reservedFor": None}
        desk.seen = None
        desk.seen = await self._patch(_path(claim).sub("status"), {"metadata": _version(claim), "status": status})

    async def _at_desk(self, claim: ObjectRef, work: Callable[[_Desk], Awaitable[None]]) -> None:
        """Do this when it is our turn at the claim; again, if it fails for a reason that may pass."""
        with self._visit(claim) as desk:

            async def attempt() -> None:
                async with desk.turn, self._slots.hold(claim.namespace):
                    if not self._fence():
                        raise StoppedError("claims", LEASE_IS_OVER)
                    await work(desk)

            await self._insist(attempt)

    @contextmanager
    def _visit(self, claim: ObjectRef) -> Iterator[_Desk]:
        desk = self._desks.setdefault(claim.uid, _Desk())
        desk.visitors += 1
        try:
            yield desk
        finally:
            desk.visitors -= 1
            if not desk.visitors:
                del self._desks[claim.uid]

    async def _look(self, claim: ObjectRef, desk: _Desk) -> ResourceClaim:
        if desk.seen is not None:
            return desk.seen
        return await self._client.read(_path(claim), ResourceClaim)

    def _check(self, bind: Bind, binding: DeviceBinding, claim: ResourceClaim) -> None:
        """Whether what was decided for the claim still holds.

        Raises:
            DeviceError: it does not, or not yet.
        """
        key, meta, has = binding.claim.key, claim.metadata, claim.status.allocation
        if meta.uid != binding.claim.uid:
            raise DeviceError(key, f"was replaced by another one (UID {meta.uid})")
        if meta.deletion_timestamp is not None:
            raise DeviceError(key, "is being deleted")
        if has is None and binding.allocation is None:
            why = "has no devices: they were to come with another pod that uses it, or were given back"
            raise DeviceError(key, why, transient=True)
        if has is not None and binding.allocation is not None and _devices(has) != _devices(binding.allocation):
            raise DeviceError(key, "was given other devices meanwhile; is there another scheduler for these devices?")
        if len(claim.status.reserved_for) >= MOST_RESERVATIONS and bind.pod.uid not in _users(claim):
            raise DeviceError(key, f"is reserved for {MOST_RESERVATIONS} pods already, which is the limit")
        if has is not None:
            self._check_reach(bind.node, key, has)

    def _check_reach(self, name: str, key: str, allocation: Allocation) -> None:
        """Whether these devices can be used from the node: a claim may have been given back and allocated elsewhere."""
        node, selector = self._find_node(name), allocation.node_selector
        if node is None:
            raise DeviceError(key, f"is not needed on node {name}, which is gone")
        if selector is not None and not matches(node, selector):
            raise DeviceError(key, f"has devices that cannot be used from node {name}")

    async def _write(self, pod: ObjectRef, claim: ResourceClaim, allocation: Allocation | None) -> ResourceClaim:
        """The claim, with its devices and this pod among its users."""
        finalizers = claim.metadata.finalizers
        if DELETE_PROTECTION not in finalizers:
            metadata = {**_version(claim), "finalizers": [*finalizers, DELETE_PROTECTION]}
            claim = await self._patch(_path(claim), {"metadata": metadata})
        user = Consumer(resource="pods", name=pod.name, uid=pod.uid)
        changes: list[dict[str, Any]] = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": claim.metadata.resource_version},
            {"op": "add", "path": "/status/reservedFor", "value": [*claim.status.reserved_for, user]},
        ]
        if claim.status.allocation is None and allocation is not None:
            moment = self._clock.now().replace(microsecond=0)
            value = msgspec.structs.replace(allocation, allocation_timestamp=moment)
            changes.append({"op": "add", "path": "/status/allocation", "value": value})
        # A merge patch would drop what is null in the parameters of drivers.
        return await self._patch(_path(claim).sub("status"), changes, PatchType.JSON)

    async def _patch(
        self, path: ApiPath, body: dict[str, Any] | list[dict[str, Any]], kind: PatchType = PatchType.MERGE
    ) -> ResourceClaim:
        return _CLAIMS.decode(await self._client.patch(path, msgspec.json.encode(body), kind, within=_ANSWER_WITHIN))

    async def _in_turn(self, namespace: str, call: Callable[[], Awaitable[T]]) -> T:
        async def attempt() -> T:
            async with self._slots.hold(namespace):
                if not self._fence():
                    raise StoppedError("claims", LEASE_IS_OVER)
                return await call()

        return await self._insist(attempt)

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        return await retry(call, self._retries, self._clock, rng=self._rng, keep_trying=lambda: not self._tasks.stopped)


def _path(claim: ResourceClaim | ObjectRef) -> ApiPath:
    where = claim if isinstance(claim, ObjectRef) else claim.metadata
    return ApiPath(DEVICE_API, "resourceclaims", where.namespace).of(where.name)


def _version(claim: ResourceClaim) -> dict[str, str]:
    """What a patch names: if the claim has changed since, it is a conflict, and the claim is read again."""
    return {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}


def _users(claim: ResourceClaim) -> set[str]:
    return {each.uid for each in claim.status.reserved_for}


def _devices(allocation: Allocation) -> set[tuple[str, str, str, str]]:
    return {(each.request, each.driver, each.pool, each.device) for each in allocation.devices.results}
