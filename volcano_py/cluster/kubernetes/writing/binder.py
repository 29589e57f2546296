"""Binds pods to nodes, and finds out what became of each attempt.

A binding carries the pod's UID as precondition and the server refuses to bind a pod twice, so that repeating one whose
outcome is unknown can do no harm: either it succeeds, or the pod itself shows whether the earlier attempt did.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Iterable
from typing import Final

import msgspec
import orjson
import structlog

from volcano_py.api.effects import Bind
from volcano_py.api.names import CHARGED_QUEUE, GENERATED_GROUP_PREFIX, GROUP_NAME
from volcano_py.api.objects import Pod
from volcano_py.cluster.kubernetes.backoff import RetryPolicy
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ConflictError, NotFoundError, RequestError, StoppedError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.writing.binding_pace import BindingPace
from volcano_py.cluster.kubernetes.writing.turns import CLUSTER
from volcano_py.cluster.kubernetes.writing.workers import LEASE_IS_OVER, Fence, Pipeline, always, stand_back
from volcano_py.cluster.protocol import BindOutcomes

log = structlog.get_logger(__name__)

# A restart of the API server takes some seconds; after half a minute the next cycle decides again on the new state.
RETRIES: Final = RetryPolicy(give_up_after=30.0)
_UNTIL_ANSWERED: Final = RetryPolicy(give_up_after=math.inf)
_ANSWER_WITHIN = 15.0  # seconds for one attempt
_REPORT_WITHIN: Final = 5.0  # seconds; a burst of thousands is mostly bound by then


class BinderStats(msgspec.Struct, frozen=True):
    """`queued` and `in_flight` now; the others since the start. `failed` are those whose server never answered."""

    queued: int
    in_flight: int
    bound: int
    gone: int
    refused: int
    failed: int
    repeated: int


class _Bound(msgspec.Struct, frozen=True):
    """A binding that succeeded, and when, by the monotonic clock."""

    bind: Bind
    moment: float


class Binder:
    """Carries out `Bind` effects in turns, some at a time, and reports each once.

    Nothing waits for a report of success, so bindings go first, for some seconds at most.
    """

    def __init__(
        self,
        client: KubernetesClient,
        outcomes: BindOutcomes,
        *,
        in_flight: int,
        retries: RetryPolicy = RETRIES,
        on_surprise: Callable[[Pod], None] = lambda _pod: None,
        fence: Fence = always,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """`fence` is asked before each request: the lease may be over before the daemon has noticed it. `on_surprise`
        gets pods as the server has them when they are bound already: the decision was made without knowing that."""
        self._client, self._outcomes, self._retries = client, outcomes, retries
        self._on_surprise, self._fence = on_surprise, fence
        self._clock, self._rng = clock, rng or random.Random()
        self.pace = BindingPace(in_flight, clock)
        """Gets what the watch shows."""
        self._pipeline: Pipeline[Bind] = Pipeline(
            "bind",
            self._bind,
            self._abandon,
            namespace=lambda bind: bind.pod.namespace,
            limit=in_flight,
            limit_now=self.pace.limit,
            after=lambda bind: self.pace.shown(bind.pod.uid),
            clock=clock,
        )
        self.quiet = self._pipeline.quiet
        """Set while no binding is queued or under way."""
        self._reports: Pipeline[_Bound] = Pipeline(
            "report", self._report_in_time, self._report, namespace=lambda _bound: CLUSTER, limit=1, clock=clock
        )
        self._bound = self._gone = self._refused = self._failed = self._attempts = self._begun = 0

    def submit(self, binds: Iterable[Bind]) -> None:
        """Bind these, in the order of each namespace. Once stopped, they are reported as failed at once."""
        binds = list(binds)
        self.pace.decided(bind.pod.namespace for bind in binds)
        self._pipeline.submit(binds)

    def stop_new(self, why: str = LEASE_IS_OVER) -> None:
        """Send nothing any more, not even repetitions; wait for the answers to requests under way."""
        self._pipeline.stop_new(why)

    async def drain(self, seconds: float) -> int:
        """Wait that long for all bindings, then give up the rest. Returns how many were given up."""
        given_up = await self._pipeline.drain(seconds)
        await self._reports.drain(0)
        return given_up

    def stats(self) -> BinderStats:
        """The numbers now."""
        return BinderStats(
            queued=self._pipeline.queued,
            in_flight=self._pipeline.busy,
            bound=self._bound,
            gone=self._gone,
            refused=self._refused,
            failed=self._failed,
            repeated=self._attempts - self._begun,
        )

    async def _bind(self, bind: Bind) -> None:
        pod = bind.pod
        body = orjson.dumps(
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {
                    "name": pod.name,
                    "namespace": pod.namespace,
                    "uid": pod.uid,
                    "annotations": _annotations(bind),
                },
                "target": {"apiVersion": "v1", "kind": "Node", "name": bind.node},
            }
        )
        self._begun += 1
        self.pace.sent(pod.uid)
        try:
            await self._carry_out(bind, ApiPath("v1", "pods", pod.namespace).of(pod.name), body)
        except RequestError as error:
            self._fail(bind, error)
        else:
            self._bound += 1
            self._reports.submit([_Bound(bind, self._clock.monotonic())])

    async def _report_in_time(self, bound: _Bound) -> None:
        await stand_back(self.quiet, bound.moment + _REPORT_WITHIN - self._clock.monotonic(), self._clock)
        await asyncio.sleep(0)  # of thousands that have waited, each gives way to what is more urgent
        self._report(bound)

    def _report(self, bound: _Bound, _stopped: StoppedError | None = None) -> None:
        self._outcomes.bound(bound.bind, self._clock.monotonic() - bound.moment)

    async def _carry_out(self, bind: Bind, path: ApiPath, body: bytes) -> None:
        """Raises RequestError: it is not bound to that node; or everything is being stopped, and the outcome is
        unknown.
        """
        try:
            await self._pipeline.retry(lambda: self._attempt(bind, path, body), self._retries, self._rng)
        except RequestError as error:
            # An attempt may have succeeded without an answer. Until the pod shows it, no other pod gets its place.
            if not error.transient or self._pipeline.stopped:
                raise
            if not await self._pipeline.retry(lambda: self._stands(bind, path), _UNTIL_ANSWERED, self._rng):
                raise

    async def _attempt(self, bind: Bind, path: ApiPath, body: bytes) -> None:
        if not self._fence():
            raise StoppedError("bind", LEASE_IS_OVER)
        self._attempts += 1
        try:
            await self._client.post(path.sub("binding"), body, within=_ANSWER_WITHIN)
        except ConflictError:
            # It may have been an earlier attempt whose answer was lost.
            if not await self._stands(bind, path):
                raise

    async def _stands(self, bind: Bind, path: ApiPath) -> bool:
        """Whether the pod is bound to that node. Raises NotFoundError: it is gone."""
        pod = await self._client.read(path, Pod)
        if pod.metadata.uid != bind.pod.uid:
            message = f"the pod is gone, and another (UID {pod.metadata.uid}) has its name"
            raise NotFoundError("POST", str(path), 404, reason="NotFound", message=message)
        if pod.spec.node_name:
            self._on_surprise(pod)
        return pod.spec.node_name == bind.node

    def _fail(self, bind: Bind, error: RequestError) -> None:
        self.pace.failed(bind.pod.uid)
        gone = isinstance(error, NotFoundError)
        if gone:
            self._gone += 1
        elif error.transient or isinstance(error, StoppedError):
            self._failed += 1
        else:
            self._refused += 1
        level = "info" if gone else "warning"
        getattr(log, level)("pod not bound", pod=bind.pod.key, node=bind.node, job=bind.job, error=str(error))
        self._outcomes.bind_failed(bind, error, gone=gone)

    def _abandon(self, bind: Bind, error: StoppedError) -> None:
        self._fail(bind, error)


def _annotations(bind: Bind) -> dict[str, str]:
    """What the API server copies from the binding to the pod: what was decided with its place, the queue it is charged
    to, and the PodGroup if one is made for the pod."""
    group = bind.job.rpartition("/")[2]
    named = {GROUP_NAME: group} if group.startswith(GENERATED_GROUP_PREFIX) else {}
    return {**bind.annotations, CHARGED_QUEUE: bind.queue, **named}
