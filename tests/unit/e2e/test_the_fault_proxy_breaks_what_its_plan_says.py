"""The proxy of the fault suite: what it breaks, that it counts it, and that the same seed breaks the same.

Between a scripted API server and a plain HTTP client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from itertools import groupby

import aiohttp
import pytest
import pytest_asyncio

import e2e.faults.injection.proxy as proxies
from e2e.faults.injection.plans import (
    REFUSALS,
    SPELLS,
    Always,
    Call,
    Calm,
    Fault,
    Gate,
    Injection,
    Outage,
    Plan,
    Seeded,
    is_binding,
    is_read,
    is_write,
)
from e2e.faults.injection.proxy import FaultProxy, call_of
from tests.unit.cluster.fakes import PATIENCE, FakeApi, Reply, eventually, page, pod

PODS = "/api/v1/pods"
BINDING = "/api/v1/namespaces/ns/pods/a/binding"


@pytest_asyncio.fixture
async def api() -> AsyncIterator[FakeApi]:
    api = FakeApi()
    await api.start()
    api.on("GET", PODS, page(10, pod("a", 3)))
    api.on("POST", BINDING, Reply(201))
    yield api
    await api.stop()


@pytest_asyncio.fixture
async def proxy(api: FakeApi) -> AsyncIterator[FaultProxy]:
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the API server speaks plain HTTP; to load CAs takes a while
    async with FaultProxy(api.url, trust=trust, serve=None) as proxy:
        yield proxy


@pytest_asyncio.fixture
async def session(proxy: FaultProxy) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(proxy.url) as session:
        yield session


class Script(Calm):
    """These faults for the events of watches, one after the other."""

    def __init__(self, *faults: Fault | None) -> None:
        self._faults = list(faults)

    async def for_event(self, call: Call) -> Injection | None:
        fault = self._faults.pop(0) if self._faults else None
        return Injection(fault, 0.01) if fault is not None else None


@pytest.mark.parametrize(
    ("method", "path", "query", "call"),
    [
        ("GET", "/api/v1/pods", {"watch": "1"}, Call("watch", "pods", "", "")),
        ("GET", "/api/v1/nodes", {}, Call("list", "nodes", "", "")),
        ("GET", "/api/v1/namespaces/ns", {}, Call("get", "namespaces", "", "ns")),
        ("POST", BINDING, {}, Call("create", "pods/binding", "ns", "a")),
        (
            "PATCH",
            "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups/g",
            {},
            Call("patch", "podgroups", "ns", "g"),
        ),
        (
            "PATCH",
            "/apis/scheduling.volcano.sh/v1beta1/queues/q/status",
            {},
            Call("patch", "queues/status", "", "q"),
        ),
    ],
)
def test_a_request_is_known_for_what_it_is(method: str, path: str, query: dict[str, str], call: Call) -> None:
    assert call_of(method, path, query) == call


async def test_a_calm_proxy_passes_everything_on(api: FakeApi, session: aiohttp.ClientSession) -> None:
    async with session.post(BINDING, json={"target": "n1"}, headers={"Authorization": "Bearer secret"}) as answer:
        assert answer.status == 201

    (request,) = api.requests
    assert request.body == {"target": "n1"}
    assert request.headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize("fault", list(REFUSALS))
async def test_a_refusal_never_reaches_the_server(
    fault: Fault, api: FakeApi, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    proxy.plan = Always(is_binding, fault)

    async with session.post(BINDING) as answer:
        body = await answer.json()

    assert (answer.status, body["code"], body["reason"]) == (REFUSALS[fault][0], *REFUSALS[fault])
    assert answer.headers.get("Retry-After") == ("1" if fault is Fault.TOO_MANY_REQUESTS else None)
    assert api.requests == []
    assert proxy.injected == Counter({("bindings", fault): 1})


@pytest.mark.parametrize(
    ("fault", "done"), [(Fault.RESET, 0), (Fault.ANSWER_LOST, 1), (Fault.ANSWER_CUT, 1), (Fault.SILENT, 0)]
)
async def test_a_connection_breaks_before_or_after_the_server_has_done_its_work(
    fault: Fault, done: int, api: FakeApi, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    api.on("POST", BINDING, Reply(201, {"answer": "of some length"}))
    proxy.plan = Always(is_binding, fault, seconds=0.01)

    with pytest.raises((aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, ConnectionResetError)):
        async with session.post(BINDING) as answer:
            await answer.read()

    assert len(api.requests) == done
    assert proxy.faults == 1


async def test_a_slow_call_is_answered_all_the_same(
    api: FakeApi, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    proxy.plan = Always(is_binding, Fault.SLOW, seconds=0.05)
    before = asyncio.get_running_loop().time()

    async with session.post(BINDING) as answer:
        assert answer.status == 201

    assert asyncio.get_running_loop().time() >= before + 0.05


async def seen(
    api: FakeApi, session: aiohttp.ClientSession, names: Sequence[str], *, ends: bool = True
) -> tuple[list[str], bytes]:
    """Names of the events that a client gets of those the server sends, and what is left at the end of its watch."""
    async with session.get(PODS, params={"watch": "1"}) as answer:
        watch = await api.watch()
        for number, name in enumerate(names):
            await watch.send("ADDED", pod(name, number + 1))
        if ends:
            watch.end()
        data = b""
        with contextlib.suppress(aiohttp.ClientPayloadError, ConnectionResetError):
            async for chunk in answer.content.iter_any():
                data += chunk
        watch.end()
    *lines, rest = data.split(b"\n")
    events = [json.loads(line) for line in lines]
    return [event["object"].get("metadata", {}).get("name") or event["object"]["reason"] for event in events], rest


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (Fault.DROPPED, ["b", "c"]),
        (Fault.DELAYED, ["a", "b", "c"]),
        (Fault.DOUBLED, ["a", "a", "b", "c"]),
        (Fault.SWAPPED, ["b", "a", "c"]),
    ],
)
async def test_events_are_lost_late_doubled_or_swapped(
    fault: Fault,
    names: list[str],
    api: FakeApi,
    proxy: FaultProxy,
    session: aiohttp.ClientSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proxies, "_SWAP_WITHIN", PATIENCE)
    proxy.plan = Script(fault)

    assert await seen(api, session, "abc") == (names, b"")

    assert proxy.injected == Counter({("watches", fault): 1})


async def test_an_event_without_a_next_one_is_not_held_back_for_long(
    api: FakeApi, proxy: FaultProxy, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And counts as nothing, as nothing was swapped."""
    monkeypatch.setattr(proxies, "_SWAP_WITHIN", 0.01)
    proxy.plan = Script(Fault.SWAPPED)
    async with session.get(PODS, params={"watch": "1"}) as answer:
        watch = await api.watch()
        await watch.send("ADDED", pod("a", 1))
        line = await answer.content.readline()
        watch.end()

    assert json.loads(line)["object"]["metadata"]["name"] == "a"
    assert proxy.faults == 0


@pytest.mark.parametrize(
    ("fault", "names", "rest"),
    [
        (Fault.WATCH_CUT, ["a"], b""),
        (Fault.WATCH_CUT_IN_EVENT, ["a"], b'{"type": "ADDED"'),
        (Fault.WATCH_EXPIRED, ["a", "Expired"], b""),
    ],
)
async def test_watches_end_before_their_time(
    fault: Fault, names: list[str], rest: bytes, api: FakeApi, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    proxy.plan = Script(None, fault)

    events, left = await seen(api, session, "abc", ends=False)

    assert events == names
    assert left.startswith(rest)
    assert bool(left) == bool(rest)
    assert proxy.injected == Counter({("watches", fault): 1})


async def test_a_watch_stays_open_and_brings_nothing_more(
    api: FakeApi, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    proxy.plan = Script(None, Fault.WATCH_MUTE)

    assert await seen(api, session, "abc") == (["a"], b"")

    assert proxy.injected == Counter({("watches", Fault.WATCH_MUTE): 1})


async def test_an_answer_is_compressed_although_it_was_not_requested(
    api: FakeApi, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    proxy.plan = Always(lambda call: call.verb == "list", Fault.COMPRESSED)

    async with session.get(PODS, headers={"Accept-Encoding": "identity"}) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        body = await answer.json()

    assert [item["metadata"]["name"] for item in body["items"]] == ["a"]
    assert proxy.injected == Counter({("reads", Fault.COMPRESSED): 1})


async def test_a_compressed_watch_brings_each_event_at_once(
    api: FakeApi, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    proxy.plan = Always(lambda call: call.verb == "watch", Fault.COMPRESSED)
    async with session.get(PODS, params={"watch": "1"}) as answer:
        watch = await api.watch()
        for name in ("a", "b"):
            await watch.send("ADDED", pod(name, 1))
            line = await answer.content.readline()
            assert json.loads(line)["object"]["metadata"]["name"] == name
        watch.end()
        assert await answer.content.read() == b""

    assert answer.headers["Content-Encoding"] == "gzip"
    assert proxy.injected == Counter({("watches", Fault.COMPRESSED): 1})


async def test_an_outage_concerns_some_verbs_and_ends_their_watches() -> None:
    writes, reads = Outage(1, is_write), Outage(1, is_read, deaf=True)
    binding, watch = Call("create", "pods/binding", "ns", "a"), Call("watch", "pods", "", "")

    failed = await _faults(writes, [binding] * 50)
    assert {each.fault for each in failed if each is not None} == {Fault.FAILED, Fault.UNAVAILABLE}
    assert None not in failed
    assert failed == await _faults(Outage(1, is_write), [binding] * 50)
    assert await _faults(reads, [binding]) == await _faults(writes, [watch]) == [None]
    assert await writes.for_event(watch) is None
    assert await reads.for_event(watch) == Injection(Fault.WATCH_CUT)
    for plan in (writes, reads):
        assert (
            await _faults(plan, [Call("update", "leases", "ns", "a"), Call("get", "leases", "ns", "a")]) == [None] * 2
        )


async def test_a_gate_lets_some_through_and_holds_the_rest(
    api: FakeApi, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    gate = proxy.plan = Gate(is_binding, passes=1)
    async with session.post(BINDING) as answer:
        assert answer.status == 201
    held = asyncio.create_task(_status(session))
    await eventually(lambda: gate.held)
    assert len(api.requests) == 1

    gate.open()

    assert await held == 201
    assert len(api.requests) == 2


async def test_what_the_gate_holds_for_a_client_that_dies_never_passes(
    api: FakeApi, proxy: FaultProxy, session: aiohttp.ClientSession
) -> None:
    gate = proxy.plan = Gate(is_binding)
    held = asyncio.create_task(_status(session))
    await eventually(lambda: gate.held)

    held.cancel()
    await eventually(lambda: not gate.held)
    gate.open()
    async with session.get(PODS) as answer:
        assert answer.status == 200

    assert [request.method for request in api.requests] == ["GET"]


async def test_the_same_seed_breaks_the_same_in_whatever_order_the_streams_are_asked() -> None:
    bindings, lists = Call("create", "pods/binding", "ns", "a"), Call("list", "pods", "", "")
    one_by_one = [await _faults(Seeded(7), [call] * 300) for call in (bindings, lists)]
    alternating = await _faults(Seeded(7), [bindings, lists] * 300)

    assert one_by_one == [alternating[::2], alternating[1::2]]
    assert await _faults(Seeded(8), [bindings] * 300) != one_by_one[0]
    assert any(one_by_one[0])


async def test_a_spell_is_a_run_of_equal_faults_and_the_same_for_the_same_seed() -> None:
    bindings = [Call("create", "pods/binding", "ns", "a")] * 600
    runs = [await _faults(Seeded(seed, calls={"bindings": {}}), bindings) for seed in (7, 7, 8)]

    assert runs[0] == runs[1] != runs[2]
    lasting = [list(run) for fault, run in groupby(runs[0]) if fault is not None]
    assert 1 <= len(lasting) <= 600 / SPELLS["bindings"].block
    shortest, longest = SPELLS["bindings"].lasts
    # (the end of a block may cut one short)
    assert any(shortest <= len(run) <= longest for run in lasting)
    assert not any(await _faults(Seeded(7, calls={"bindings": {}}), [Call("patch", "leases", "ns", "a")] * 600))


async def _faults(plan: Plan, calls: list[Call]) -> list[Injection | None]:
    return [await plan.for_call(call) for call in calls]


async def _status(session: aiohttp.ClientSession) -> int:
    async with session.post(BINDING) as answer:
        return answer.status
