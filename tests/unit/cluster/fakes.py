"""A small API server under the tests' control, time that passes only on request, and a sink that remembers."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web

from volcano_py.api.effects import Bind, Evict, ObjectRef
from volcano_py.api.objects import ApiObject, metadata_of
from volcano_py.cluster.kubernetes.http.paths import ApiPath

# Nothing in these tests takes a hundredth of this; it turns a hang into a failure that says where.
PATIENCE = 60.0


async def settle() -> None:
    """Let everything run that can run without the network."""
    for _ in range(20):
        await asyncio.sleep(0)


class FakeClock:
    """Time stands still until `advance`; `sleeps` are the durations that were asked for.

    `until_settled` returns when all has run that can run before time passes; where there are threads, `settle` is not
    enough.
    """

    def __init__(self, until_settled: Callable[[], Awaitable[None]] = settle) -> None:
        self.until_settled = until_settled
        self.time = 1000.0
        self.start = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
        self.sleeps: list[float] = []
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = itertools.count()

    def monotonic(self) -> float:
        return self.time

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.time - 1000.0)

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, next(self._count), future))
        await future

    @property
    def asleep(self) -> int:
        """How many wait for time to pass."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Let time pass, waking sleepers one moment after the other."""
        await self.until_settled()
        end = self.time + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            moment, _, future = heapq.heappop(self._sleepers)
            self.time = max(self.time, moment)
            if not future.done():
                future.set_result(None)
            await self.until_settled()
        self.time = end
        await self.until_settled()


async def eventually(condition: Callable[[], object], clock: FakeClock | None = None) -> None:
    """Wait for the network until the condition holds; with a clock, time passes meanwhile, a second at a time."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.001)
            if clock is not None:
                await clock.advance(1.0)


@dataclass(frozen=True)
class Request:
    """What a client asked for."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    port: int = 0
    """That of the client's end of the connection."""


@dataclass(frozen=True)
class Reply:
    """An answer; `drop` breaks the connection instead, `hold` waits for that event first."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    hold: asyncio.Event | None = None


Answer = Reply | Callable[[Request], Reply]


def refusal(status: int, reason: str, message: str = "no", **more: Any) -> Reply:
    """A Status object with this code; `headers` and `details` as keywords."""
    body = {
        "kind": "Status",
        "status": "Failure",
        "code": status,
        "reason": reason,
        "message": message,
        "details": more.get("details", {}),
    }
    return Reply(status, body, headers=more.get("headers", {}))


class Watch:
    """A watch that a client has opened; the test is the server."""

    def __init__(self, request: Request, response: web.StreamResponse, transport: asyncio.Transport) -> None:
        self.request = request
        self.ended = asyncio.Event()
        self._response, self._transport = response, transport

    @property
    def resource_version(self) -> str:
        return self.request.query["resourceVersion"]

    async def send(self, kind: str, obj: Mapping[str, Any]) -> None:
        await self.send_raw(json.dumps({"type": kind, "object": obj}).encode() + b"\n")

    async def send_raw(self, data: bytes) -> None:
        await self._response.write(data)

    def end(self) -> None:
        """As at the end of `timeoutSeconds`."""
        self.ended.set()

    def drop(self) -> None:
        """As when the server or the network dies."""
        self._transport.abort()
        self.ended.set()


class FakeApi:
    """Answers as set by `on`, keeps all requests, and hands opened watches to the test."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.url = ""
        self._answers: dict[tuple[str, str], deque[Answer]] = defaultdict(deque)
        self._watches: asyncio.Queue[Watch] = asyncio.Queue()
        self._refused_watches: deque[Reply] = deque()
        self.watches_wait_for: asyncio.Event | None = None
        self.held = 0
        """Requests that wait for the event that is to be set before they are answered."""
        self._open: list[Watch] = []
        self._runner: web.AppRunner | None = None

    def on(self, method: str, path: str | ApiPath, *answers: Answer) -> None:
        """Give these answers one after the other, and then the last one forever."""
        self._answers[method, str(path)] = deque(answers)

    def refuse_watch(self, *replies: Reply) -> None:
        """Refuse the next watches."""
        self._refused_watches.extend(replies)

    async def watch(self) -> Watch:
        """The next watch that a client opens."""
        async with asyncio.timeout(PATIENCE):
            return await self._watches.get()

    @property
    def watch_is_open(self) -> bool:
        """Whether a client has opened a watch that the test has not taken yet."""
        return not self._watches.empty()

    def sent(self, method: str, path: str | ApiPath = "") -> list[Request]:
        """Requests of this method to this path (any, if empty); watches are not among them."""
        return [
            request
            for request in self.requests
            if request.method == method and str(path) in ("", request.path) and "watch" not in request.query
        ]

    async def start(self) -> None:
        application = web.Application(client_max_size=2**24)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"

    async def stop(self) -> None:
        for watch in self._open:
            watch.ended.set()
        if self._runner is not None:
            await self._runner.cleanup()
            await asyncio.sleep(0)  # transports close in the next turn of the loop

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        seen = Request(
            request.method,
            request.path,
            dict(request.query),
            dict(request.headers),
            json.loads(body) if body else None,
            request.transport.get_extra_info("peername")[1] if request.transport is not None else 0,
        )
        self.requests.append(seen)
        if "watch" in seen.query:
            if self.watches_wait_for is not None:
                await self.watches_wait_for.wait()
            if self._refused_watches:
                return _response(self._refused_watches.popleft())
            return await self._serve_watch(request, seen)
        answers = self._answers[request.method, request.path]
        if not answers:
            return _response(refusal(404, "NotFound", f"{request.path} not found"))
        answer = answers.popleft() if len(answers) > 1 else answers[0]
        reply = answer if isinstance(answer, Reply) else answer(seen)
        if reply.hold is not None:
            self.held += 1
            try:
                await reply.hold.wait()
            finally:
                self.held -= 1
        if reply.drop:
            assert request.transport is not None
            request.transport.close()
        return _response(reply)

    async def _serve_watch(self, request: web.Request, seen: Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        assert isinstance(request.transport, asyncio.Transport)
        watch = Watch(seen, response, request.transport)
        self._open.append(watch)
        await self._watches.put(watch)
        await watch.ended.wait()
        return response


def _response(reply: Reply) -> web.Response:
    body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
    return web.Response(status=reply.status, body=body, headers=dict(reply.headers), content_type="application/json")


def kubeconfig(path: Path, server: str, user: Mapping[str, Any] | None = None) -> Path:
    """Write a kubeconfig for this server."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server}}],
        "users": [{"name": "test", "user": dict(user or {"token": "secret"})}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    path.write_text(json.dumps(document))
    return path


def pod(name: str, version: int, *, uid: str = "", **spec: Any) -> dict[str, Any]:
    """A pod as the API sends it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
            "managedFields": [{"manager": "kubectl"}],
        },
        "spec": {"containers": [{"name": "main"}], **spec},
        "status": {"phase": "Pending"},
    }


def page(version: int, *items: Mapping[str, Any], go_on: str = "") -> Reply:
    """A page of a list."""
    return Reply(body={"metadata": {"resourceVersion": str(version), "continue": go_on}, "items": list(items)})


def pod_ref(name: str, uid: str = "") -> ObjectRef:
    """A reference to a pod in namespace `ns`."""
    return ObjectRef("Pod", "ns", name, uid or f"uid-{name}")


class RecordingSink:
    """Keeps what it is given, as the scheduler's state would, and every call."""

    def __init__(self) -> None:
        self.objects: dict[str, ApiObject] = {}
        self.calls: list[tuple[str, ...]] = []
        self.poison: str | None = None

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        self.calls.append(("replace", *(metadata_of(obj).key for obj in objects)))
        if self.poison in [metadata_of(obj).name for obj in objects]:
            raise ValueError("this sink cannot digest one of these")
        self.objects = {metadata_of(obj).key: obj for obj in objects}

    def upsert(self, kind: str, obj: ApiObject) -> None:
        self.calls.append(("upsert", metadata_of(obj).key))
        if metadata_of(obj).name == self.poison:
            raise ValueError("this sink cannot digest it")
        self.objects[metadata_of(obj).key] = obj

    def delete(self, kind: str, obj: ApiObject) -> None:
        meta = metadata_of(obj)
        self.calls.append(("delete", meta.key))
        known = self.objects.get(meta.key)
        if known is not None and metadata_of(known).uid == meta.uid:
            del self.objects[meta.key]

    @property
    def versions(self) -> dict[str, str]:
        """Resource version of each object, by key."""
        return {key: metadata_of(obj).resource_version for key, obj in self.objects.items()}

    @property
    def uids(self) -> dict[str, str]:
        """UID of each object, by key."""
        return {key: metadata_of(obj).uid for key, obj in self.objects.items()}


class DeafSink:
    """A sink without listeners."""

    def upsert(self, kind: str, obj: Any) -> None: ...

    def delete(self, kind: str, obj: Any) -> None: ...

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None: ...


class RecordingOutcomes:
    """What became of binds and evictions, as lines such as `bound a` and `failed b gone`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.errors: list[Exception] = []

    def bound(self, bind: Bind, ago: float) -> None:
        self.lines.append(f"bound {bind.pod.name}")

    def bind_failed(self, bind: Bind, error: Exception, *, gone: bool) -> None:
        self.lines.append(f"failed {bind.pod.name}{' gone' if gone else ''}")
        self.errors.append(error)

    def evicted(self, evict: Evict) -> None:
        self.lines.append(f"evicted {evict.pod.name}")

    def evict_failed(self, evict: Evict, error: Exception) -> None:
        self.lines.append(f"stays {evict.pod.name}")
        self.errors.append(error)


async def gather_up(*coroutines: Awaitable[Any]) -> list[Any]:
    """All results, within the tests' patience."""
    async with asyncio.timeout(PATIENCE):
        return list(await asyncio.gather(*coroutines))
