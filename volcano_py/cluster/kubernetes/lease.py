"""Leader election by a Lease, so that only one of several replicas decides.

The steps of an election (read the lease, see who holds it, take or renew it) are kubernetes_asyncio's own
`leaderelection`. What it lacks for a scheduler is here:

- time: it compares wall-clock times, so that a clock set forward steals a living leader's lease, and one set back keeps
  a dead one's. Our lock hides a holder whose lease is over, and refuses to overwrite one whose is not, both by the
  monotonic clock (`_Lock`);
- hanging: its loops wait for each request without end. Here every step has a time limit below the renew deadline, and
  `is_leader` turns false by itself when that deadline passes, whatever the renewal is doing;
- errors: it foresees refusals of the API server only. Here any failure at all is a failed attempt;
- release: it never gives a lease back. Here stopping does, so that a successor need not wait for the lease to run out.
"""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import Callable
from typing import Any, Final

import msgspec
import orjson
import structlog
from kubernetes_asyncio.client import ApiException
from kubernetes_asyncio.leaderelection.electionconfig import Config
from kubernetes_asyncio.leaderelection.leaderelection import LeaderElection
from kubernetes_asyncio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes_asyncio.leaderelection.resourcelock.baselock import BaseLock

from volcano_py.cluster.kubernetes.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock, rfc3339, within
from volcano_py.cluster.kubernetes.errors import ApiError, NotFoundError
from volcano_py.cluster.kubernetes.transport import JSON

log = structlog.get_logger(__name__)

# Seconds; Volcano's settings, which are client-go's.
LEASE_DURATION: Final = 15.0
RENEW_DEADLINE: Final = 10.0
RETRY_PERIOD: Final = 2.0


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Lease(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)


class LeaderElector:
    """Campaigns for a lease and keeps it. `is_leader()` is the fence to ask before every decision.

    The callbacks are plain functions called on the loop: `on_started_leading` once the lease is ours,
    `on_stopped_leading` as soon as it is lost or given back; the latter must stop the binding, before anything else.
    """

    def __init__(
        self,
        client: KubernetesClient,
        namespace: str,
        name: str,
        *,
        identity: str | None = None,
        on_started_leading: Callable[[], None] = lambda: None,
        on_stopped_leading: Callable[[], None] = lambda: None,
        lease_duration: float = LEASE_DURATION,
        renew_deadline: float = RENEW_DEADLINE,
        retry_period: float = RETRY_PERIOD,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`identity` tells this replica from others (default: host name and a random part). Times are in seconds.

        Raises:
            ValueError: the times do not fit each other: lease duration > renew deadline > 1.2 × retry period >= 1.2.
        """
        self.identity = identity or f"{socket.gethostname()}_{uuid.uuid4()}"
        self._clock = clock
        self._renew_deadline, self._retry_period = renew_deadline, retry_period
        self._on_started, self._on_stopped = on_started_leading, on_stopped_leading
        self._lock = _Lock(client, namespace, name, self.identity, lease_duration, clock)
        self._election = LeaderElection(
            # The module's own loops, which would call these, are not used.
            Config(self._lock, lease_duration, renew_deadline, retry_period, _nothing, _nothing)
        )
        self._leading = False
        self.made_lease = False
        """Whether there was no lease before we made it, and so no leader before us."""
        self.given_back = ""
        """The version of the lease that had no holder, when we took it from there; "" when its holder's time was over,
        so that nobody knows how far it came."""
        self._renewed_at = float("-inf")
        self._stop = asyncio.Event()

    def is_leader(self) -> bool:
        """Whether the lease is ours for certain: by the monotonic clock, and even if the renewal hangs."""
        return self._leading and self._clock.monotonic() < self._renewed_at + self._renew_deadline

    @property
    def holder(self) -> str:
        """Identity of the leader as last seen; "" when there is none, or nothing was seen yet."""
        return self._lock.holder

    async def run(self) -> None:
        """Campaign, then lead. Returns when the lease is lost, or after `stop`; by then it has been given back."""
        try:
            if await self._acquire():
                await self._keep()
        finally:
            # However it ended, a cancelled task included.
            self._step_down()
        if self._stop.is_set():
            await self._release()

    def stop(self) -> None:
        """Make `run` step down, give the lease back and return. Finish or stop what needs the lease first."""
        self._stop.set()

    # -- loops ---------------------------------------------------------------------------------------------------

    async def _acquire(self) -> bool:
        """Try until the lease is ours (True) or we are told to stop."""
        while not self._stop.is_set():
            started = self._clock.monotonic()
            if await self._try(self._renew_deadline / 2):
                # The moment before the request: others count from when they see the renewal, which is later.
                self._renewed_at = started
                self._leading = True
                self.made_lease, self.given_back = self._lock.found_none, self._lock.found_free_at
                log.info("leading", lease=self._lock.key, identity=self.identity)
                self._on_started()
                return True
            await self._wait(self._retry_period)
        return False

    async def _keep(self) -> None:
        """Renew until told to stop, or until no renewal has succeeded for the renew deadline."""
        await self._wait(self._retry_period)
        while not self._stop.is_set():
            started = self._clock.monotonic()
            left = self._renewed_at + self._renew_deadline - started
            if left <= 0:
                log.error("the lease is lost", lease=self._lock.key, identity=self.identity, holder=self.holder)
                return
            # Half of it at most, so that one request that hangs leaves time for another attempt.
            if await self._try(min(left, self._renew_deadline / 2)):
                self._renewed_at = started
            elif self.holder not in ("", self.identity):
                log.error("the lease is another's", lease=self._lock.key, identity=self.identity, holder=self.holder)
                return
            await self._wait(min(self._retry_period, self._renewed_at + self._renew_deadline - self._clock.monotonic()))

    async def _try(self, seconds: float) -> bool:
        """One step of the election. False for whatever went wrong, or took too long."""
        try:
            return await within(self._clock, seconds, self._election.try_acquire_or_renew())
        except Exception as error:
            log.warning("the lease could not be taken or renewed", lease=self._lock.key, error=str(error))
            return False

    async def _wait(self, seconds: float) -> None:
        """Return after that long, or when told to stop."""
        if seconds > 0:
            stopped = asyncio.ensure_future(self._stop.wait())
            timer = asyncio.ensure_future(self._clock.sleep(seconds))
            try:
                await asyncio.wait((stopped, timer), return_when=asyncio.FIRST_COMPLETED)
            finally:
                stopped.cancel()
                timer.cancel()

    def _step_down(self) -> None:
        if self._leading:
            self._leading = False
            self._on_stopped()

    async def _release(self) -> None:
        try:
            if await within(self._clock, self._retry_period, self._lock.release()):
                log.info("the lease is given back", lease=self._lock.key)
        except Exception as error:
            # A successor then waits until it runs out.
            log.warning("the lease could not be given back", lease=self._lock.key, error=str(error))


async def _nothing() -> None:
    """A callback that is never called."""


class _Lock(BaseLock):
    """The Lease object, in the form the election module wants. Names, records and times it hands over are our own."""

    def __init__(
        self, client: KubernetesClient, namespace: str, name: str, identity: str, duration: float, clock: Clock
    ) -> None:
        super().__init__(name, namespace, identity)
        self.key = f"{namespace}/{name}"
        self.holder = ""
        self._client, self._duration, self._clock = client, duration, clock
        self._leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._lease: _Lease | None = None
        self._seen_at = 0.0

    @property
    def found_none(self) -> bool:
        """Whether there was no Lease when it was last looked for."""
        return self._lease is None

    @property
    def found_free_at(self) -> str:
        """The version of the Lease that was last seen, if it had no holder then."""
        lease = self._lease
        return lease.metadata.resource_version if lease is not None and not lease.spec.holder_identity else ""

    async def get(self, *_: object) -> tuple[bool, LeaderElectionRecord] | tuple[bool, Exception]:
        """The record; an empty one, which the module takes as nobody's, when its holder's time is over."""
        try:
            answer = await self._request("GET", f"{self._leases}/{self.name}")
        except ApiError as error:
            if isinstance(error, NotFoundError):
                self._lease = None
            return False, _as_module_error(error)
        lease = msgspec.json.decode(answer, type=_Lease)
        if self._lease is None or lease.spec != self._lease.spec:
            self._seen_at = self._clock.monotonic()
        self._lease = lease
        self.holder = lease.spec.holder_identity or ""
        if self._is_free(lease):
            return True, LeaderElectionRecord(None, None, None, None)
        acquired, renewed = lease.spec.acquire_time or "unknown", lease.spec.renew_time or "unknown"
        return True, LeaderElectionRecord(self.holder, str(self._duration), acquired, renewed)

    async def create(self, *_: object, **__: object) -> bool:
        """Create the Lease as ours."""
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": self._spec(None),
        }
        await self._request("POST", self._leases, body)
        self.holder = self.identity
        return True

    async def update(self, *_: object) -> bool:
        """Make the Lease ours, or renew it; False when it is another's and has not run out."""
        lease = self._lease
        if lease is None or not (self._is_free(lease) or lease.spec.holder_identity == self.identity):
            return False
        await self._patch(lease, self._spec(lease.spec))
        self.holder = self.identity
        return True

    async def release(self) -> bool:
        """Give the Lease back if it is ours: no holder, and the shortest duration the API allows, as client-go does."""
        await self.get()
        lease = self._lease
        if lease is None or lease.spec.holder_identity != self.identity:
            return False
        await self._patch(lease, {**self._spec(lease.spec), "holderIdentity": "", "leaseDurationSeconds": 1})
        self.holder = ""
        return True

    def _is_free(self, lease: _Lease) -> bool:
        """Nobody holds it, or another does who has not renewed it for as long as it lasts, by his or by our measure."""
        holder = lease.spec.holder_identity or ""
        lasts = max(self._duration, lease.spec.lease_duration_seconds or 0)
        return not holder or (holder != self.identity and self._clock.monotonic() >= self._seen_at + lasts)

    def _spec(self, before: _Spec | None) -> dict[str, Any]:
        now = rfc3339(self._clock.now(), micro=True)
        ours_already = before is not None and before.holder_identity == self.identity
        changes = 0 if before is None else (before.lease_transitions or 0) + (not ours_already)
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self._duration),
            "acquireTime": before.acquire_time if before is not None and ours_already else now,
            "renewTime": now,
            "leaseTransitions": changes,
        }

    async def _patch(self, lease: _Lease, spec: dict[str, Any]) -> None:
        """The resource version makes the server refuse when someone else was faster."""
        body = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        await self._request("PATCH", f"{self._leases}/{self.name}", body, PatchType.MERGE)

    async def _request(
        self, verb: str, path: str, body: dict[str, Any] | None = None, content_type: str = JSON
    ) -> bytes:
        """Urgent: not behind thousands of bindings."""
        return await self._client.request(
            verb, path, body=body, content_type=content_type, within=self._duration, urgent=True
        )


def _as_module_error(error: ApiError) -> ApiException:
    refusal = ApiException(status=error.status, reason=error.reason)
    refusal.body = orjson.dumps({"code": error.status})
    return refusal
