"""Leader election by a Lease, so that only one of several replicas decides.

- Time is monotonic: a clock that is set forward or back neither takes a living leader's Lease nor keeps a dead one's.
- Every request has a time limit below the renew deadline. `is_leader` turns false by itself when that deadline passes,
  whatever the renewal is doing.
- Any failure is a failed attempt: refusals, broken connections, answers that cannot be read.
- A replica that has seen another holder waits for the rest of that holder's duration, even if the Lease was deleted
  meanwhile. Only a holder that gives its Lease back ends its time early.
- Stopping gives the Lease back, so that a successor need not wait.
"""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import Callable
from typing import Any, Final

import msgspec
import structlog

from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock, rfc3339, within
from volcano_py.cluster.kubernetes.http.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.http.errors import ConflictError, NotFoundError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.http.transport import JSON

log = structlog.get_logger(__name__)

RETRY_JITTER: Final = 1.2
"""As in client-go, attempts may be up to a fifth further apart than asked for."""

_NEVER: Final = float("-inf")


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Meta(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Lease(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)

    @property
    def holder(self) -> str:
        return self.spec.holder_identity or ""


class LeaderElector:
    """Campaigns for a lease and keeps it. `is_leader()` is the fence to ask before every decision, from any thread.

    The callbacks are plain functions called on the loop that runs this: `on_attempt` after each attempt to get the
    lease, `on_started_leading` once it is ours, `on_stopped_leading` as soon as it is lost or given back; the latter
    must stop the binding, before anything else.
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
        on_attempt: Callable[[], None] = lambda: None,
        lease_duration: float,
        renew_deadline: float,
        retry_period: float,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`identity` is unique to this replica (default: host name and a random part). Times are in seconds.

        Raises:
            ValueError: the times do not fit each other: lease duration > renew deadline > 1.2 × retry period >= 1.2.
        """
        _check(lease_duration, renew_deadline, retry_period)
        self.identity = identity or f"{socket.gethostname()}_{uuid.uuid4()}"
        self._clock = clock
        self._renew_deadline, self._retry_period = renew_deadline, retry_period
        self._on_started, self._on_stopped, self._on_attempt = on_started_leading, on_stopped_leading, on_attempt
        self._lease = _LeaseObject(client, namespace, name, self.identity, lease_duration, clock)
        self._fence_falls = _NEVER  # one value, which other threads read
        self._stop = asyncio.Event()
        self._settle = 0.0
        self.taken_at = self.alone_from = float("inf")
        """Monotonic times: when the lease became ours, and from when on no leader before us can believe that it still
        leads. The latter lies ahead if there was no Lease, since it is not known for how long."""

    def is_leader(self) -> bool:
        """Whether the lease is ours for certain: by the monotonic clock, and even if the renewal hangs."""
        return self._clock.monotonic() < self._fence_falls

    @property
    def holder(self) -> str:
        """Identity of the leader as last seen; "" when there is none, or nothing was seen yet."""
        return self._lease.holder

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

    def stop(self, settle: float = 0.0) -> None:
        """Step down at once, and make `run` give the lease back and return. Finish or stop what needs the lease first;
        where that cannot be, the lease is kept for `settle` seconds, in which what was sent is answered."""
        self._settle = settle
        self._stop.set()
        self._step_down()

    def _step_down(self) -> None:
        if self._fence_falls != _NEVER:
            self._fence_falls = _NEVER
            self._on_stopped()

    # -- loops ---------------------------------------------------------------------------------------------------

    async def _acquire(self) -> bool:
        """Try until the lease is ours (True) or we are to stop."""
        while not self._stop.is_set():
            started = self._clock.monotonic()
            taken = await self._try(self._renew_deadline / 2) and not self._stop.is_set()
            if taken:
                self.taken_at, self.alone_from = self._lease.taken_at, self._lease.alone_from
                # The moment before the request: others count from when they see the renewal, which is later.
                self._fence_falls = started + self._renew_deadline
                log.info("became leader", lease=self._lease.key, identity=self.identity)
                self._on_started()
            self._on_attempt()
            if taken:
                return True
            await self._wait(self._retry_period)
        return False

    async def _keep(self) -> None:
        """Renew until we are to stop, or until no renewal has succeeded for the renew deadline."""
        await self._wait(self._retry_period)
        while not self._stop.is_set():
            started = self._clock.monotonic()
            left = self._fence_falls - started
            if left <= 0:
                log.error("lease lost", lease=self._lease.key, identity=self.identity, holder=self.holder)
                return
            # Half of it at most, so that one request that hangs leaves time for another attempt.
            renewed = await self._try(min(left, self._renew_deadline / 2))
            if self._stop.is_set():
                return
            if renewed:
                self._fence_falls = started + self._renew_deadline
            elif self.holder not in ("", self.identity):
                log.error(
                    "lease held by another replica", lease=self._lease.key, identity=self.identity, holder=self.holder
                )
                return
            await self._wait(min(self._retry_period, self._fence_falls - self._clock.monotonic()))

    async def _try(self, seconds: float) -> bool:
        """One attempt. False when it failed or took too long."""
        try:
            return await within(self._clock, seconds, self._lease.take())
        except Exception as error:
            log.warning("lease not acquired or renewed", lease=self._lease.key, error=str(error))
            return False

    async def _wait(self, seconds: float) -> None:
        """Return after that long, or when we are to stop."""
        if seconds > 0:
            stopped = asyncio.ensure_future(self._stop.wait())
            timer = asyncio.ensure_future(self._clock.sleep(seconds))
            try:
                await asyncio.wait((stopped, timer), return_when=asyncio.FIRST_COMPLETED)
            finally:
                stopped.cancel()
                timer.cancel()

    async def _release(self) -> None:
        await self._clock.sleep(self._settle)
        try:
            if await within(self._clock, self._retry_period, self._lease.release()):
                log.info("lease released", lease=self._lease.key)
        except Exception as error:
            # A successor then waits until it runs out.
            log.warning("lease not released", lease=self._lease.key, error=str(error))


def _check(lease_duration: float, renew_deadline: float, retry_period: float) -> None:
    if lease_duration <= renew_deadline:
        raise ValueError(f"lease_duration must be greater than renew_deadline: {lease_duration:g}, {renew_deadline:g}")
    if renew_deadline <= RETRY_JITTER * retry_period:
        raise ValueError(
            f"renew_deadline must be greater than {RETRY_JITTER:g} * retry_period: {renew_deadline:g}, {retry_period:g}"
        )
    if retry_period < 1:
        raise ValueError(f"retry_period must be at least 1: {retry_period:g}")


class _LeaseObject:
    """The Lease in the API server, and what was seen of it."""

    def __init__(
        self, client: KubernetesClient, namespace: str, name: str, identity: str, duration: float, clock: Clock
    ) -> None:
        self.key = f"{namespace}/{name}"
        self.holder = ""
        self.taken_at = self.alone_from = _NEVER
        """See `LeaderElector`."""
        self._namespace, self._name, self._identity = namespace, name, identity
        self._client, self._duration, self._clock = client, duration, clock
        self._leases = ApiPath("coordination.k8s.io/v1", "leases", namespace)
        self._seen: _Lease | None = None  # as it was when there last was one
        self._others_until = _NEVER
        """Monotonic time at which the last other holder that was seen must have stepped down."""

    async def take(self) -> bool:
        """Make the Lease ours, or renew it. False while it is another's.

        Raises:
            RequestError: the server refused or did not answer.
        """
        try:
            return await self._take()
        except ConflictError:
            # Another replica was faster, and may lead now: read the Lease at once.
            return await self._take()

    async def release(self) -> bool:
        """Give the Lease back if it is ours: no holder, and the shortest duration the API allows, as client-go does."""
        lease = await self._read()
        if lease is None or lease.holder != self._identity:
            return False
        await self._patch(lease, {**self._spec(lease.spec), "holderIdentity": "", "leaseDurationSeconds": 1})
        self.holder = ""
        return True

    async def _take(self) -> bool:
        lease = await self._read()
        now = self._clock.monotonic()
        if self.holder != self._identity and now < self._others_until:
            return False
        if lease is None:
            is_first = self._seen is None
            await self._create()
            # If we have never seen a Lease, an earlier holder and the end of its time are unknown.
            self.alone_from = now + self._duration if is_first else now
        else:
            await self._patch(lease, self._spec(lease.spec))
            self.alone_from = now
        self.taken_at, self.holder, self._others_until = now, self._identity, _NEVER
        return True

    async def _read(self) -> _Lease | None:
        """The current Lease; None when there is none."""
        try:
            answer = await self._request("GET", self._leases.of(self._name))
        except NotFoundError:
            self.holder = ""
            return None
        lease = msgspec.json.decode(answer, type=_Lease)
        self._notice(lease)
        self._seen, self.holder = lease, lease.holder
        return lease

    def _notice(self, lease: _Lease) -> None:
        """Work out until when another replica may believe that it leads."""
        before = self._seen
        if lease.holder not in ("", self._identity):
            # By its measure or by ours, from when we first saw this renewal.
            if before is None or lease.spec != before.spec:
                lasts = max(self._duration, lease.spec.lease_duration_seconds or 0)
                self._others_until = self._clock.monotonic() + lasts
        elif before is not None and before.holder and before.metadata.uid == lease.metadata.uid:
            # Its holder has given it back. Another Lease of the same name says nothing of that holder.
            self._others_until = _NEVER

    def _spec(self, before: _Spec) -> dict[str, Any]:
        now = rfc3339(self._clock.now(), micro=True)
        is_ours = before.holder_identity == self._identity
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(self._duration),
            "acquireTime": before.acquire_time if is_ours else now,
            "renewTime": now,
            "leaseTransitions": (before.lease_transitions or 0) + (not is_ours),
        }

    async def _create(self) -> None:
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": {**self._spec(_Spec()), "leaseTransitions": 0},
        }
        await self._request("POST", self._leases, body)

    async def _patch(self, lease: _Lease, spec: dict[str, Any]) -> None:
        """With the resource version, the server refuses when another replica was faster."""
        body = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        await self._request("PATCH", self._leases.of(self._name), body, PatchType.MERGE)

    async def _request(
        self, verb: str, path: ApiPath, body: dict[str, Any] | None = None, content_type: str = JSON
    ) -> bytes:
        """Urgent: not behind thousands of bindings."""
        return await self._client.request(
            verb, path, body=body, content_type=content_type, within=self._duration, urgent=True
        )
