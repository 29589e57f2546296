"""Writes which volumes claims get, waits until they have them, and only then lets their pods be bound.

We write, Kubernetes binds: its volume binder completes what a volume's `claimRef` says, and a provisioner creates a
volume for the node that a claim is annotated with. That may take minutes, during which other bindings go first and
other controllers may decide otherwise. So in the end the volume of the claim is checked against the node: a pod that is
bound to a node from which its volume cannot be used would wait there without end. What was written stays when a pod is
given up; the next decision takes it into account.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeVar

import msgspec
import structlog

from volcano_py.api.effects import Bind, ClaimBinding, ObjectRef
from volcano_py.api.volumes import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ClaimReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from volcano_py.cluster.kubernetes.backoff import RetryPolicy, retry
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock, within
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import NotFoundError, RequestError, StoppedError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching.claim_updates import KIND, ClaimUpdates, LatestClaim
from volcano_py.cluster.kubernetes.writing.pod_tasks import PodTasks
from volcano_py.cluster.kubernetes.writing.turns import Slots
from volcano_py.cluster.kubernetes.writing.workers import LEASE_IS_OVER, Fence, always
from volcano_py.cluster.protocol import BindOutcomes
from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.terms import matches

T = TypeVar("T")
log = structlog.get_logger(__name__)

IN_FLIGHT: Final = 32
"""Pods whose claims are written at the same time; Kubernetes' own volume binder is slower than that."""
RETRIES: Final = RetryPolicy(give_up_after=30.0, conflicts=True)
_ANSWER_WITHIN: Final = 15.0  # seconds for one attempt
# Seconds without an update of a claim after which the claim and its volume are read. A lost event or a volume that was
# deleted should not cost the whole time.
_READ_AGAIN_AFTER: Final = 30.0


class ClaimError(RequestError):
    """A claim does not get the volume that was chosen for it."""

    def __init__(self, claim: str, why: str) -> None:
        super().__init__(f"PersistentVolumeClaim {claim} {why}")
        self.verb, self.path = "", ""


class VolumeBinder:
    """Hands on `Bind` effects whose claims are bound. `claims` is a sink that must get all claims."""

    def __init__(
        self,
        client: KubernetesClient,
        outcomes: BindOutcomes,
        hand_on: Callable[[Iterable[Bind]], None],
        *,
        on_prepared: Callable[[Bind], None] = lambda _bind: None,
        find_node: Callable[[str], NodeInfo | None] = NodeInfo,
        in_flight: int = IN_FLIGHT,
        retries: RetryPolicy = RETRIES,
        fence: Fence = always,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """`hand_on` gets what is ready to be bound, and `on_prepared` is called for it, if `find_node` after all that
        time still has the node, and the volumes can be used from there; `fence` is asked before each write."""
        self.claims = ClaimUpdates()
        self._client, self._outcomes, self._hand_on = client, outcomes, hand_on
        self._on_prepared, self._find_node = on_prepared, find_node
        self._retries, self._fence = retries, fence
        self._clock, self._rng = clock, rng or random.Random()
        self._slots = Slots(in_flight)
        self._tasks = PodTasks(clock)
        self._writing = 0
        self._written = asyncio.Event()
        self._written.set()

    @property
    def waiting(self) -> int:
        """Pods whose claims are being written, or are not bound yet."""
        return len(self._tasks)

    def submit(self, binds: Iterable[Bind]) -> None:
        """Bind the claims of these, then the pods. Once stopped, they are reported as failed at once."""
        for bind in binds:
            if self._tasks.stopped:
                self._fail(bind, StoppedError("claims", self._tasks.stopped))
                continue
            self._writing += 1
            self._written.clear()
            self._tasks.begin(self._run(bind), f"claims of {bind.pod.key}")

    def stop_new(self, why: str = LEASE_IS_OVER) -> None:
        """Write nothing any more, and wait no longer."""
        self._tasks.stop(why)

    async def drain(self, seconds: float) -> int:
        """Wait that long for pending writes, but not for claims to be bound. Returns how many were given up."""
        return await self._tasks.drain(seconds, self._written)

    # -- one pod -----------------------------------------------------------------------------------------------------

    async def _run(self, bind: Bind) -> None:
        ends = self._clock.monotonic() + bind.claims_within
        try:
            with self.claims.listening(bind.claims) as latest:
                await self._write(bind, latest)
                for binding, heard in zip(bind.claims, latest, strict=True):
                    claim = await self._until_bound(bind, binding, heard, ends)
                    await self._check_reach(bind, binding.claim, claim.spec.volume_name)
        except RequestError as error:
            self._fail(bind, error)
        except asyncio.CancelledError:
            self._fail(bind, StoppedError("claims", self._tasks.stopped))
            raise
        except Exception as error:
            # After a bug of ours the pod must not stay half bound.
            log.exception("unexpected error while binding claims", pod=bind.pod.key)
            self._fail(bind, ClaimError(bind.claims[0].claim.key, f"could not be bound: {error}"))
        else:
            self._on_prepared(bind)
            self._hand_on([bind])

    async def _write(self, bind: Bind, latest: list[LatestClaim]) -> None:
        try:
            async with self._slots.hold(bind.pod.namespace):
                for binding, heard in zip(bind.claims, latest, strict=True):
                    await self._decide(bind, binding, heard)
        finally:
            self._writing -= 1
            if not self._writing:
                self._written.set()

    def _fail(self, bind: Bind, error: RequestError) -> None:
        log.warning("claims not bound", pod=bind.pod.key, node=bind.node, error=str(error))
        self._outcomes.bind_failed(bind, error, gone=False)

    # -- one claim ---------------------------------------------------------------------------------------------------

    async def _decide(self, bind: Bind, binding: ClaimBinding, latest: LatestClaim) -> None:
        """Write what was decided for one claim, unless another controller has decided otherwise."""

        async def attempt() -> None:
            if not self._fence():
                raise StoppedError("claims", LEASE_IS_OVER)
            claim = await self._client.read(_path(binding), PersistentVolumeClaim)
            latest.take(claim)
            if _is_bound(binding, claim):
                return
            if binding.volume:
                await self._reserve(binding)
            else:
                await self._order(bind, binding, claim, latest)

        await self._insist(attempt)

    async def _reserve(self, binding: ClaimBinding) -> None:
        """The volume is the claim's: Kubernetes binds the two."""
        claim = binding.claim
        volume = await self._volume(claim, binding.volume)
        if not _is_kept(volume, claim):
            reference = ClaimReference(
                kind=KIND, api_version="v1", namespace=claim.namespace, name=claim.name, uid=claim.uid
            )
            # A volume that was made for this claim stays so; one that was chosen by us Kubernetes may take back.
            marks = {BOUND_BY_CONTROLLER: "yes"} if volume.spec.claim_ref is None else {}
            await self._patch(_volume_path(binding.volume), volume, marks, reference)

    async def _order(
        self, bind: Bind, binding: ClaimBinding, claim: PersistentVolumeClaim, latest: LatestClaim
    ) -> None:
        """Ask for a volume on the pod's node."""
        if not _is_ordered(bind, claim):
            answer = await self._patch(_path(binding), claim, {SELECTED_NODE: bind.node})
            latest.take(msgspec.json.decode(answer, type=PersistentVolumeClaim))

    async def _patch(
        self,
        path: ApiPath,
        seen: PersistentVolume | PersistentVolumeClaim,
        annotations: Mapping[str, str],
        claim: ClaimReference | None = None,
    ) -> bytes:
        """Change the object as it was seen; if it has changed since, it is a conflict, and the claim is read again."""
        meta = seen.metadata
        metadata = {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": annotations}
        body: dict[str, object] = {"metadata": metadata}
        if claim is not None:
            body["spec"] = {"claimRef": claim}
        return await self._client.patch(path, msgspec.json.encode(body), within=_ANSWER_WITHIN)

    async def _until_bound(
        self, bind: Bind, binding: ClaimBinding, latest: LatestClaim, ends: float
    ) -> PersistentVolumeClaim:
        """The claim with its volume."""
        while latest.claim is None or not _is_bound(binding, latest.claim):
            if latest.is_gone:
                raise ClaimError(binding.claim.key, "was deleted")
            if not binding.volume and latest.claim is not None and _was_given_up(bind, latest.claim):
                raise ClaimError(
                    binding.claim.key, f"will get no volume on node {bind.node}: its provisioner has given up"
                )
            left = ends - self._clock.monotonic()
            if left <= 0:
                why = f"is not bound {bind.claims_within:g} s after its volume was chosen; its events may say more"
                raise ClaimError(binding.claim.key, why)
            try:
                await within(self._clock, min(left, _READ_AGAIN_AFTER), latest.next())
            except TimeoutError:
                await self._look(binding, latest)
        return latest.claim

    async def _look(self, binding: ClaimBinding, latest: LatestClaim) -> None:
        """Check whether an event was lost, and whether the volume is still reserved for the claim, for which there is
        no event. A server that does not answer at the moment is no reason to give up."""
        try:
            claim = await self._client.read(_path(binding), PersistentVolumeClaim)
            latest.take(claim)
            if binding.volume and not _is_bound(binding, claim):
                volume = await self._volume(binding.claim, binding.volume)
                if not _is_kept(volume, binding.claim):
                    raise ClaimError(
                        binding.claim.key, f"cannot use volume {binding.volume}: it is no longer reserved for the claim"
                    )
        except RequestError as error:
            if not error.transient:
                raise

    async def _check_reach(self, bind: Bind, claim: ObjectRef, name: str) -> None:
        """Whether the pod can use the volume of that name, which its claim has, from its node.

        Raises:
            ClaimError: it cannot, or the node is gone.
        """
        async with self._slots.hold(bind.pod.namespace):
            volume = await self._insist(lambda: self._volume(claim, name))
        node, affinity = self._find_node(bind.node), volume.spec.node_affinity
        if node is None:
            raise ClaimError(claim.key, f"is bound, but node {bind.node} is gone")
        if affinity is not None and affinity.required is not None and not matches(node, affinity.required):
            raise ClaimError(
                claim.key,
                f"was bound to volume {name}, which by its nodeAffinity cannot be used from node {bind.node}; "
                "correct the labels of the node, or create the claim again",
            )

    async def _volume(self, claim: ObjectRef, name: str) -> PersistentVolume:
        try:
            return await self._client.read(_volume_path(name), PersistentVolume)
        except NotFoundError as error:
            raise ClaimError(claim.key, f"cannot use volume {name}, which does not exist") from error

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        return await retry(call, self._retries, self._clock, rng=self._rng, keep_trying=lambda: not self._tasks.stopped)


def _path(binding: ClaimBinding) -> ApiPath:
    return ApiPath("v1", "persistentvolumeclaims", binding.claim.namespace).of(binding.claim.name)


def _volume_path(name: str) -> ApiPath:
    return ApiPath("v1", "persistentvolumes").of(name)


def _is_bound(binding: ClaimBinding, claim: PersistentVolumeClaim) -> bool:
    """Whether the claim has its volume.

    Raises:
        ClaimError: it has another one, or will have none.
    """
    key, meta = binding.claim.key, claim.metadata
    if meta.uid != binding.claim.uid:
        raise ClaimError(key, f"was replaced by another one (UID {meta.uid})")
    if meta.deletion_timestamp is not None:
        raise ClaimError(key, "is being deleted")
    if claim.status.phase == "Lost":
        raise ClaimError(key, f"has lost its volume {claim.spec.volume_name}")
    if binding.volume and claim.spec.volume_name not in ("", binding.volume):
        raise ClaimError(key, f"was bound to volume {claim.spec.volume_name}, not {binding.volume}")
    return claim.is_bound


def _is_kept(volume: PersistentVolume, claim: ObjectRef) -> bool:
    """Whether the volume is this very claim's, so that Kubernetes binds the two.

    Raises:
        ClaimError: it belongs to another claim, or is being deleted.
    """
    owner, name = volume.spec.claim_ref, volume.metadata.name
    if volume.metadata.deletion_timestamp is not None:
        raise ClaimError(claim.key, f"cannot use volume {name}, which is being deleted")
    if owner is not None and (owner.key != claim.key or owner.uid not in ("", claim.uid)):
        raise ClaimError(claim.key, f"cannot use volume {name}, which belongs to {owner.key}")
    return owner is not None and bool(owner.uid)


def _is_ordered(bind: Bind, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume on the pod's node has been asked for.

    Raises:
        ClaimError: for another one.
    """
    selected = claim.metadata.annotations.get(SELECTED_NODE, "")
    if selected not in ("", bind.node):
        raise ClaimError(claim.metadata.key, f"gets its volume for node {selected}, not for {bind.node}")
    return bool(selected)


def _was_given_up(bind: Bind, claim: PersistentVolumeClaim) -> bool:
    """A provisioner that cannot make the volume takes the node off the claim, so that another one is chosen."""
    return not claim.spec.volume_name and not _is_ordered(bind, claim)
