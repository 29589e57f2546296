"""kopf, embedded in our process, against a small API server over HTTP: what comes in, and what kopf must not do."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.unit.cluster.fakes import PATIENCE
from volcano_py.api.effects import Event
from volcano_py.api.objects import ApiObject, Queue
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.operator.kopf_host import app as kopf_app
from volcano_py.operator.kopf_host.app import KopfApp, KopfEndedError
from volcano_py.operator.queues.commands import CommandController
from volcano_py.operator.queues.feed import QueueFeed
from volcano_py.operator.queues.states import QueueAction

pytestmark = pytest.mark.real_time

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/commands"
_RESOURCES = {
    "/api/v1": [("namespaces", "Namespace"), ("events", "Event")],
    "/apis/scheduling.volcano.sh/v1beta1": [("queues", "Queue")],
    "/apis/bus.volcano.sh/v1alpha1": [("commands", "Command")],
    "/apis/apiextensions.k8s.io/v1": [("customresourcedefinitions", "CustomResourceDefinition")],
}


class Server:
    """Discovery, lists and watches of queues and Commands; the token it accepts; a log of the requests."""

    def __init__(self) -> None:
        self.token = "first"
        self.serves_commands = False
        self.is_mute = False
        """Watches are accepted and bring nothing."""
        self.breaks_discovery = 0
        """How many questions for the API's groups are answered with an error; kopf asks them when it starts."""
        self.refusals: dict[str, int] = {}
        """Path → status with which every question for it is answered."""
        self.breaks_watches = 0
        """Status with which watches of queues are answered; 0: they work."""
        self.requests: list[str] = []
        self.objects: dict[str, dict[str, dict[str, Any]]] = {QUEUES: {}, COMMANDS: {}}
        self.watches: dict[str, list[asyncio.Queue[bytes | None]]] = {QUEUES: [], COMMANDS: []}
        self._version = 100
        app = web.Application(middlewares=[self._authorize])
        app.router.add_route("*", "/{path:.*}", self._answer)
        self.http = TestServer(app)

    def put(self, collection: str, name: str, **fields: Any) -> None:
        """Create or change an object, and notify the watchers."""
        self._version += 1
        change = "MODIFIED" if name in self.objects[collection] else "ADDED"
        metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(self._version)}
        obj = {"metadata": metadata | fields.pop("metadata", {}), **fields}
        self.objects[collection][name] = obj
        self._report(collection, change, obj)

    def delete(self, collection: str, name: str, *, silently: bool = False) -> None:
        self._version += 1
        obj = self.objects[collection].pop(name)
        obj["metadata"]["resourceVersion"] = str(self._version)
        if not silently:
            self._report(collection, "DELETED", obj)

    def end_watches(self) -> None:
        for watches in self.watches.values():
            for watch in watches:
                watch.put_nowait(None)

    def watching(self, collection: str) -> int:
        return len(self.watches[collection])

    def _report(self, collection: str, change: str, obj: dict[str, Any]) -> None:
        for watch in self.watches[collection]:
            if not self.is_mute:
                watch.put_nowait(orjson.dumps({"type": change, "object": obj}) + b"\n")

    @web.middleware
    async def _authorize(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"kind": "Status", "code": 401, "reason": "Unauthorized"}, status=401)
        response: web.StreamResponse = await handler(request)
        return response

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path in self.refusals:
            return web.json_response({"kind": "Status", "code": self.refusals[path]}, status=self.refusals[path])
        groups = [name for name in _RESOURCES if name.startswith("/apis") and self._is_served(name)]
        if path in ("/api", "/apis") and self.breaks_discovery:
            self.breaks_discovery -= 1
            return web.json_response({"kind": "Status", "code": 500}, status=500)
        if path == "/api":
            return web.json_response({"versions": ["v1"]})
        if path == "/apis":
            return web.json_response({"groups": [_group(name) for name in groups]})
        if path in _RESOURCES and self._is_served(path):
            return web.json_response({"resources": [_resource(*names) for names in _RESOURCES[path]]})
        collection, _, name = path.partition("/namespaces/ns")[0], "", path.rsplit("/", 1)[1]
        if path in self.objects and self._is_served(path):
            return await self._watch(request) if "watch" in request.query else self._list(path)
        if request.method == "DELETE" and "/commands/" in path and name in self.objects[COMMANDS]:
            self.delete(COMMANDS, name)
            return web.json_response({})
        return web.json_response({"kind": "Status", "code": 404, "message": collection}, status=404)

    def _is_served(self, path: str) -> bool:
        return self.serves_commands or "bus.volcano.sh" not in path

    def _list(self, path: str) -> web.Response:
        items = list(self.objects[path].values())
        return web.json_response({"metadata": {"resourceVersion": str(self._version)}, "items": items})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        if not request.query.get("timeoutSeconds", "1").isdigit():
            return web.json_response({"kind": "Status", "code": 400}, status=400)
        if self.breaks_watches:
            return web.json_response({"kind": "Status", "code": self.breaks_watches}, status=self.breaks_watches)
        response = web.StreamResponse()
        await response.prepare(request)
        news: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.watches[request.path].append(news)
        try:
            while (line := await news.get()) is not None:
                await response.write(line)
        finally:
            self.watches[request.path].remove(news)
        return response


def _group(path: str) -> dict[str, Any]:
    _, _, group, version = path.split("/")
    entry = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [entry], "preferredVersion": entry}


def _resource(plural: str, kind: str) -> dict[str, Any]:
    verbs = ["list", "watch", "patch", "delete"]
    namespaced = kind in ("Event", "Command")
    return {"name": plural, "singularName": kind.lower(), "kind": kind, "namespaced": namespaced, "verbs": verbs}


class Seen:
    """The sink, and other receivers of events."""

    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}
        self.requests: list[tuple[str, QueueAction]] = []
        self.events: list[Event] = []
        self.signals: list[str] = []
        self.bad: list[str] = []

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        self.queues = {}
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        assert isinstance(obj, Queue)
        self.queues[obj.metadata.name] = obj

    def delete(self, kind: str, obj: ApiObject) -> None:
        assert isinstance(obj, Queue)
        del self.queues[obj.metadata.name]

    def request(self, queue: str, action: QueueAction, asked_by: str, uid: str = "") -> None:
        self.requests.append((queue, action))

    def own_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.signals.append, "SIGTERM")
        loop.add_signal_handler(signal.SIGINT, self.signals.append, "SIGINT")

    def bad_object(self, kind: str, key: str, uid: str, error: Exception) -> None:
        self.bad.append(f"{kind} {key}")


async def until(what: Callable[[], bool]) -> None:
    """Wait for something that must happen; the limit should not be involved, it fails the test."""
    async with asyncio.timeout(PATIENCE):
        while not what():  # noqa: ASYNC110 - what is waited for is no event
            await asyncio.sleep(0.005)


class World:
    """A server, a client of it, and kopf between them."""

    def __init__(self, server: Server, client: KubernetesClient, token_file: Path) -> None:
        self.server, self.seen, self.token_file = server, Seen(), token_file
        self.commands = CommandController(client, self.seen, active=lambda: True)
        feed = QueueFeed([self.seen], self.seen.bad_object)
        self.app = KopfApp(
            client,
            feed,
            self.commands,
            own_signals=self.seen.own_signals,
            bad_object=self.seen.bad_object,
            list_every=0.2,
            load_after=self.turn,
        )
        self.its_turn = asyncio.Event()
        self.its_turn.set()

    async def turn(self) -> None:
        await self.its_turn.wait()

    def list_seldom(self) -> None:
        """Only when there is a reason, as it is usual; to be called before kopf runs."""
        self.app._list_every = kopf_app.LIST_EVERY

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """kopf up and watching; afterwards it is stopped, and must leave nothing behind."""
        before = asyncio.all_tasks()
        task = asyncio.create_task(self.app.run())
        stands_in = asyncio.create_task(self.app.stand_in())
        try:
            await until(lambda: task.done() or (self.app.watching and self.server.watching(QUEUES) > 0))
            yield task
        finally:
            task.cancel()
            stands_in.cancel()
            await asyncio.gather(task, stands_in, return_exceptions=True)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
        self.server.end_watches()
        await until(lambda: not _kopfs(asyncio.all_tasks() - before))


def _kopfs(tasks: set[asyncio.Task[Any]]) -> list[str]:
    """Tasks that kopf has started."""
    return [str(task.get_coro()) for task in tasks if "kopf" in str(getattr(task.get_coro(), "cr_code", ""))]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    server = Server()
    await server.http.start_server()
    token_file = tmp_path / "token"
    token_file.write_text(server.token)
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "test",
                "clusters": [{"name": "test", "cluster": {"server": str(server.http.make_url("")).rstrip("/")}}],
                "users": [{"name": "test", "user": {"tokenFile": str(token_file)}}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            }
        )
    )
    async with await KubernetesClient.connect(kubeconfig) as client:
        yield World(server, client, token_file)
    await server.http.close()


async def test_queues_are_listed_and_followed(world: World) -> None:
    world.server.put(QUEUES, "root")
    async with world.running():
        assert world.app.listed.is_set()
        world.server.put(QUEUES, "team", spec={"weight": 3})
        await until(lambda: "team" in world.seen.queues)
        assert world.seen.queues["team"].spec.weight == 3
        world.server.delete(QUEUES, "team")
        await until(lambda: "team" not in world.seen.queues)
    assert set(world.seen.queues) == {"root"}


async def test_queues_are_known_before_kopf_has_its_turn(world: World) -> None:
    world.server.put(QUEUES, "a")
    world.its_turn.clear()
    task = asyncio.create_task(world.app.run())
    try:
        await world.app.listed.wait()
        assert list(world.seen.queues) == ["a"]
        world.server.put(QUEUES, "b")
        assert not world.app.watching
        world.its_turn.set()
        await until(lambda: "b" in world.seen.queues)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    world.server.end_watches()


async def test_while_the_watch_is_lost_queues_are_listed_and_the_time_since_is_known(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kopf_app, "_LIST_UNWATCHED_EVERY", 0.05)
    world.list_seldom()
    world.server.put(QUEUES, "root")
    async with world.running():
        assert world.app.behind == 0.0
        current: list[float] = []
        world.app.on_current = lambda: current.append(world.app.behind)
        world.server.breaks_watches = 503
        world.server.end_watches()
        await until(lambda: world.app.behind > 0)
        world.server.put(QUEUES, "team")
        await until(lambda: "team" in world.seen.queues)
        assert current, "nobody was called when the list had come"

        world.server.refusals[QUEUES] = 503
        await until(lambda: world.app.behind > 0.3)

        del world.server.refusals[QUEUES]
        world.server.breaks_watches = 0
        await until(lambda: world.server.watching(QUEUES) == 1 and world.app.behind == 0)
        assert current[-1] == 0.0


async def test_queues_are_behind_when_the_first_watch_cannot_be_opened(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list before kopf's turn works, and nothing after it."""
    monkeypatch.setattr(kopf_app, "_LIST_UNWATCHED_EVERY", 0.05)
    world.list_seldom()
    world.its_turn.clear()
    tasks = [asyncio.create_task(each) for each in (world.app.run(), world.app.stand_in())]
    await world.app.listed.wait()
    world.server.refusals[QUEUES] = 503
    world.its_turn.set()
    await until(lambda: world.app.behind > 0.3)

    # Lists alone bring what has changed, and how old it is stays small.
    del world.server.refusals[QUEUES]
    world.server.breaks_watches = 503
    world.server.put(QUEUES, "late")
    await until(lambda: "late" in world.seen.queues and world.app.behind < 0.3)

    world.server.breaks_watches = 0
    await until(lambda: world.server.watching(QUEUES) == 1 and world.app.behind == 0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    world.server.end_watches()


async def test_kopf_only_reads(world: World) -> None:
    """No annotation, finalizer, status or event of kopf's, even on an object with another kopf operator's finalizer."""
    foreign = {"metadata": {"finalizers": ["kopf.zalando.org/KopfFinalizerMarker"]}}
    world.server.put(QUEUES, "root", **foreign)
    async with world.running():
        world.server.put(QUEUES, "root", **foreign)
        world.server.put(QUEUES, "last")
        await until(lambda: "last" in world.seen.queues)
    assert {request.split()[0] for request in world.server.requests} == {"GET"}
    assert not any("customresourcedefinitions" in request for request in world.server.requests)


async def test_queues_are_followed_by_lists_until_kopf_has_its_turn(world: World) -> None:
    world.server.put(QUEUES, "team")
    world.its_turn.clear()
    task = asyncio.create_task(world.app.run())
    await until(lambda: "team" in world.seen.queues)
    world.server.put(QUEUES, "late")
    await until(lambda: "late" in world.seen.queues)
    world.server.delete(QUEUES, "team", silently=True)
    await until(lambda: "team" not in world.seen.queues)
    assert not world.app.watching
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_deletion_that_kopf_never_reports_is_found(world: World) -> None:
    world.server.put(QUEUES, "team")
    async with world.running():
        world.server.delete(QUEUES, "team", silently=True)
        await until(lambda: "team" not in world.seen.queues)


async def test_a_watch_that_brings_nothing_is_replaced(world: World) -> None:
    async with world.running():
        world.server.is_mute = True
        world.server.put(QUEUES, "silent")
        await until(lambda: "silent" in world.seen.queues)  # by the list
        lists = world.server.requests.count("GET /apis")
        await until(lambda: world.server.requests.count("GET /apis") > lists)  # kopf starts again
        world.server.is_mute = False
        await until(lambda: world.app.watching and world.server.watching(QUEUES) > 0)
        world.server.put(QUEUES, "loud")
        await until(lambda: "loud" in world.seen.queues)


async def test_a_watch_that_ends_is_opened_again(world: World) -> None:
    async with world.running():
        world.server.end_watches()
        world.server.put(QUEUES, "team")
        await until(lambda: "team" in world.seen.queues)


async def test_signals_stay_ours(world: World) -> None:
    async with world.running() as task:
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: world.seen.signals == ["SIGTERM"])
        os.kill(os.getpid(), signal.SIGINT)
        await until(lambda: world.seen.signals == ["SIGTERM", "SIGINT"])
        world.server.put(QUEUES, "team")
        await until(lambda: "team" in world.seen.queues)
        assert not task.done()


async def test_tasks_younger_than_kopf_survive_its_end(world: World) -> None:
    async with world.running():
        younger = asyncio.create_task(asyncio.Event().wait())
    await asyncio.sleep(0)
    assert not younger.done()
    younger.cancel()
    await asyncio.gather(younger, return_exceptions=True)


async def test_a_rotated_token_is_taken_up(world: World) -> None:
    async with world.running():
        world.server.token = "second"
        world.token_file.write_text("second")
        world.server.end_watches()
        world.server.put(QUEUES, "team")
        await until(lambda: "team" in world.seen.queues)
        await until(lambda: world.server.watching(QUEUES) > 0)


async def test_without_the_queue_api_it_waits_until_there_is_one(world: World) -> None:
    queues = world.server.objects.pop(QUEUES)
    task = asyncio.create_task(world.app.run())
    await until(lambda: world.server.requests.count(f"GET {QUEUES}") >= 2)
    assert not world.app.listed.is_set()
    world.server.objects[QUEUES] = queues
    await asyncio.wait_for(world.app.listed.wait(), PATIENCE)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_kopfs_own_end_is_reported_and_it_can_run_again(world: World) -> None:
    async with world.running() as task:
        world.server.breaks_watches = 404
        world.server.end_watches()
        with pytest.raises(KopfEndedError, match="kopf ended by itself"):
            await asyncio.wait_for(task, PATIENCE)
        assert not world.app.watching
    world.server.breaks_watches = 0
    async with world.running():
        world.server.put(QUEUES, "team")
        await until(lambda: "team" in world.seen.queues)


class Stubborn:
    """A kopf that takes a cancellation for the end of a watch, and begins another one, while it has connections."""

    def __init__(self) -> None:
        self.runs, self.has_connections = 0, False

    async def run(self, serves_commands: bool, stop: asyncio.Event, ready: asyncio.Event) -> None:
        self.runs, self.has_connections = self.runs + 1, True
        ready.set()
        while self.has_connections:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def aclose(self) -> None:
        self.has_connections = False


async def test_a_kopf_that_does_not_end_is_started_again_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kopf_app, "_STOP_WITHIN", 0.05)
    kopf = Stubborn()
    monkeypatch.setattr(world.app, "_kopf", kopf)
    task = asyncio.create_task(world.app.run())
    await until(lambda: kopf.runs == 1)
    world.server.serves_commands = True  # a reason to start it again
    await until(lambda: kopf.runs == 2)
    task.cancel()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


async def test_with_kopf_ends_all_that_it_has_begun(world: World) -> None:
    """Of the questions that it asks at its start one ends it, while it asks another one again and again."""
    world.server.refusals = {"/api": 503, "/apis": 400}
    before = asyncio.all_tasks()
    with pytest.raises(KopfEndedError, match="kopf ended by itself"):
        await asyncio.wait_for(world.app.run(), PATIENCE)
    assert _kopfs(asyncio.all_tasks() - before) == []
    world.server.refusals.clear()
    async with world.running():
        world.server.put(QUEUES, "team")
        await until(lambda: "team" in world.seen.queues)


@pytest.mark.parametrize("status", [403, 429, 500, 503])
async def test_a_server_in_trouble_does_not_end_kopf(world: World, status: int) -> None:
    async with world.running() as task:
        world.server.breaks_watches = status
        world.server.end_watches()
        await until(lambda: world.server.watching(QUEUES) == 0)
        asked = world.server.requests.count(f"GET {QUEUES}")
        await until(lambda: world.server.requests.count(f"GET {QUEUES}") > asked + 3)
        world.server.breaks_watches = 0
        await until(lambda: world.server.watching(QUEUES) > 0)
        assert not task.done()


async def test_a_request_that_is_tried_again_is_no_error(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Neither when kopf starts, nor when it is stopped while it does."""
    world.server.breaks_discovery = 3
    async with world.running():
        await until(lambda: world.server.watching(QUEUES) > 0)
    assert world.server.breaks_discovery == 0
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_an_object_that_cannot_be_read_does_not_stop_the_others(world: World) -> None:
    world.server.serves_commands = True
    async with world.running():
        world.server.put(QUEUES, "odd", spec={"weight": "heavy"})
        world.server.put(COMMANDS, "odd", metadata={"namespace": "ns"}, action=["OpenQueue"])
        world.server.put(QUEUES, "team")
        await until(lambda: "team" in world.seen.queues)
        await until(lambda: {"Queue odd", "Command ns/odd"} <= set(world.seen.bad))


def close(world: World, name: str) -> None:
    target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "team", "uid": "uid-team"}
    world.server.put(COMMANDS, name, metadata={"namespace": "ns"}, action="CloseQueue", target=target)


@asynccontextmanager
async def carrying_out(world: World) -> AsyncIterator[None]:
    task = asyncio.create_task(world.commands.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_commands_are_carried_out(world: World) -> None:
    world.server.serves_commands = True
    close(world, "before")
    async with carrying_out(world), world.running():
        await until(lambda: len(world.seen.requests) == 1)
        await until(lambda: world.server.watching(COMMANDS) > 0)
        close(world, "after")
        await until(lambda: len(world.seen.requests) == 2)
    assert world.seen.requests == [("team", QueueAction.CLOSE)] * 2
    assert world.server.objects[COMMANDS] == {}


async def test_commands_may_come_to_the_cluster_later(world: World) -> None:
    async with carrying_out(world), world.running():
        assert world.server.watching(COMMANDS) == 0
        world.server.serves_commands = True
        await until(lambda: world.server.watching(COMMANDS) > 0)
        close(world, "c")
        await until(lambda: len(world.seen.requests) == 1)
