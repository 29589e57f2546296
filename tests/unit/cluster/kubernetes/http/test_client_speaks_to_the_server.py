"""Requests and what becomes of the answers."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import kopf
import msgspec
import pytest
from structlog.testing import capture_logs

from tests.support.connections.late_cancellation import cancel_as_time_ends
from tests.support.connections.paths import at
from tests.support.connections.ports import silent_port
from tests.unit.cluster.fakes import (
    FakeApi,
    FakeClock,
    Reply,
    Request,
    eventually,
    gather_up,
    kubeconfig,
    page,
    pod,
    refusal,
    settle,
)
from volcano_py.api.objects import Pod
from volcano_py.cluster.kubernetes.http import client as client_module
from volcano_py.cluster.kubernetes.http import watch_stream as watch_module
from volcano_py.cluster.kubernetes.http.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.http.errors import (
    AnswerError,
    ApiError,
    ConflictError,
    ForbiddenError,
    GoneError,
    NotFoundError,
    ServerError,
    TooLargeError,
    TooManyRequestsError,
    UnauthorizedError,
    UnprocessableError,
    UnreachableError,
)
from volcano_py.cluster.kubernetes.http.paths import ApiPath

POD = at("/api/v1/namespaces/ns/pods/a")


async def test_a_request_carries_login_agent_and_body(api: FakeApi, client: KubernetesClient) -> None:
    api.on("PATCH", POD, Reply(body={"kind": "Pod"}))

    answer = await client.patch(POD, {"metadata": {}}, PatchType.APPLY, {"fieldManager": "a b", "force": "true"})

    (request,) = api.requests
    assert answer == b'{"kind": "Pod"}'
    assert client.answered == {("PATCH", 200): 1}
    assert request.query == {"fieldManager": "a b", "force": "true"}
    assert request.body == {"metadata": {}}
    assert request.headers["Authorization"] == "Bearer secret"
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"
    assert request.headers["User-Agent"].startswith("volcano-py/")


@pytest.mark.parametrize(
    ("status", "kind", "transient"),
    [
        (400, ApiError, False),
        (401, UnauthorizedError, False),
        (403, ForbiddenError, False),
        (404, NotFoundError, False),
        (409, ConflictError, False),
        (410, GoneError, False),
        (422, UnprocessableError, False),
        (429, TooManyRequestsError, True),
        (500, ServerError, True),
        (503, ServerError, True),
        (302, ApiError, False),
    ],
)
async def test_a_refusal_is_an_error_that_says_all_the_server_said(
    status: int, kind: type[ApiError], transient: bool, api: FakeApi, client: KubernetesClient
) -> None:
    api.on("DELETE", POD, refusal(status, "SomeReason", "because", details={"kind": "pods", "retryAfterSeconds": 3}))

    with pytest.raises(ApiError) as caught:
        await client.delete(POD, {"preconditions": {"uid": "u"}})

    error = caught.value
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (status, "SomeReason", "because")
    assert error.details["kind"] == "pods"
    assert error.retry_after == 3
    assert error.transient is transient
    assert client.answered == {("DELETE", status): 1}
    assert str(error) == f"DELETE {POD}: {status} SomeReason: because"


async def test_an_answer_that_is_no_status_object_is_quoted_in_short(api: FakeApi, client: KubernetesClient) -> None:
    api.on("GET", POD, Reply(502, b"<html>" + b"x" * 10_000, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}))

    with pytest.raises(ServerError) as caught:
        await client.get(POD)

    assert len(str(caught.value)) < 600
    assert str(caught.value).startswith(f"GET {POD}: 502: <html>xxx")
    assert caught.value.retry_after == 0


async def test_no_answer_is_an_error_of_its_own(api: FakeApi, client: KubernetesClient) -> None:
    api.on("POST", POD, Reply(drop=True))

    with pytest.raises(UnreachableError, match=f"POST {POD}: no answer: ") as caught:
        await client.post(POD, {})

    assert caught.value.transient
    assert client.answered == {("POST", 0): 1}


async def test_an_answer_that_takes_too_long_does_not_count(api: FakeApi, client: KubernetesClient) -> None:
    api.on("GET", POD, Reply(hold=asyncio.Event()))

    with pytest.raises(UnreachableError, match="TimeoutError"):
        await client.get(POD, within=0.01)


@pytest.mark.parametrize("path", [POD, POD.sub("binding")], ids=["aiohttp", "our own connection"])
async def test_a_cancellation_is_not_lost_when_the_time_limit_ends_in_the_same_turn(
    path: ApiPath, api: FakeApi, client: KubernetesClient
) -> None:
    """A worker that lost it would go on working, and the controller that was cancelled would never end."""
    api.on("POST", path, Reply(hold=asyncio.Event()))
    request = asyncio.create_task(client.post(path, {}, within=5))
    await eventually(lambda: api.held)

    await cancel_as_time_ends(request, 5)

    assert request.cancelled()


async def test_objects_and_lists_come_decoded_on_demand(api: FakeApi, client: KubernetesClient) -> None:
    api.on("GET", POD, Reply(body=pod("a", 3, nodeName="n")))
    api.on("GET", "/api/v1/pods", page(9, pod("a", 3), go_on="x"), page(9, pod("b", 4)))

    assert (await client.read(POD, Pod)).spec.node_name == "n"
    assert [item.metadata.name for item in await client.list(at("/api/v1/pods"), Pod)] == ["a", "b"]


async def test_a_list_may_be_sent_compressed_but_no_watch(api: FakeApi, client: KubernetesClient) -> None:
    packed = gzip.compress(json.dumps(page(9, pod("a", 3)).body).encode())
    api.on("GET", "/api/v1/pods", Reply(body=packed, headers={"Content-Encoding": "gzip"}))

    assert [item.metadata.name for item in await client.list(at("/api/v1/pods"), Pod)] == ["a"]
    async with client.watch(at("/api/v1/pods"), {}):
        await api.watch()
    assert [request.headers["Accept-Encoding"] for request in api.requests] == ["gzip", "identity"]


async def test_a_watch_goes_over_the_connection_of_its_list(api: FakeApi, client: KubernetesClient) -> None:
    api.on("GET", "/api/v1/pods", page(9, pod("a", 3)))

    await client.list(at("/api/v1/pods"), Pod)
    async with client.watch(at("/api/v1/pods"), {}):
        await api.watch()
    listed, watched = api.requests
    assert listed.port == watched.port != 0


async def test_urgent_requests_and_watches_wait_for_no_connection(api: FakeApi, tmp_path: Path) -> None:
    answers = asyncio.Event()
    api.on("GET", POD, Reply(hold=answers))
    async with await KubernetesClient.connect(kubeconfig(tmp_path / "kubeconfig", api.url), connections=1) as client:
        asked = [asyncio.create_task(client.get(POD)) for _ in range(2)]
        await eventually(lambda: api.held)
        urgent = asyncio.create_task(client.request("GET", POD, urgent=True))
        async with client.watch(at("/api/v1/pods"), {}):
            await api.watch()
            await eventually(lambda: api.held == 2)
            assert len(api.sent("GET", POD)) == 2
            answers.set()
            await asyncio.gather(*asked, urgent)


async def test_a_page_that_is_too_large_is_asked_for_with_fewer_objects(
    api: FakeApi, client: KubernetesClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenant may have a thousand pods of a megabyte each. The others are seen all the same."""
    monkeypatch.setattr(client_module, "PAGE", 16 * 1024)

    def answer(request: Request) -> Reply:
        first = int(request.query.get("continue", 0))
        last = min(100, first + int(request.query["limit"]))
        pods = [pod(f"p{index}", 3, nodeName="n" * 1000) for index in range(first, last)]
        return page(9, *pods, go_on=str(last) if last < 100 else "")

    api.on("GET", "/api/v1/pods", answer)

    found = await client.list(at("/api/v1/pods"), Pod)
    assert [item.metadata.name for item in found] == [f"p{index}" for index in range(100)]
    asked = [(request.query.get("continue"), request.query["limit"]) for request in api.requests]
    assert asked[:6] == [(None, "2000"), (None, "500"), (None, "125"), (None, "31"), (None, "7"), ("7", "7")]
    assert len(asked) == 4 + 15


async def test_an_object_beyond_every_limit_is_an_error_that_says_so(
    api: FakeApi, client: KubernetesClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "PAGE", 1024)
    monkeypatch.setattr(client_module, "OBJECT", 1024)
    large = pod("a", 3, nodeName="n" * 1024)
    api.on("GET", POD, Reply(body=large))
    api.on("GET", "/api/v1/pods", page(9, large))

    with pytest.raises(TooLargeError, match=f"GET {POD}: the answer is larger than 1 KiB, the limit for such"):
        await client.get(POD)
    with pytest.raises(TooLargeError, match="GET /api/v1/pods: the answer is larger"):
        await client.list(at("/api/v1/pods"), Pod)


async def test_the_deletion_of_all_objects_of_a_kind_may_answer_with_all_of_them(
    api: FakeApi, client: KubernetesClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "OBJECT", 1024)
    monkeypatch.setattr(client_module, "PAGE", 1024)
    large = page(9, pod("a", 3, nodeName="n" * 1024))
    api.on("DELETE", "/api/v1/pods", large)
    api.on("DELETE", POD, large)

    assert b"nnnn" in await client.delete(at("/api/v1/pods"))
    with pytest.raises(TooLargeError, match="the answer is larger than 1 KiB"):
        await client.delete(POD)


async def test_a_watch_brings_no_event_beyond_its_limit(
    api: FakeApi, client: KubernetesClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_module, "OBJECT", 100)
    async with client.watch(at("/api/v1/pods"), {}) as stream:
        watch = await api.watch()
        lines = aiter(stream)
        await watch.send_raw(b"x" * 100)
        await watch.send_raw(b"\n" + b"y" * 100)
        assert await anext(lines) == b"x" * 100
        await watch.send_raw(b"y")
        with pytest.raises(TooLargeError, match="WATCH /api/v1/pods: the answer is larger"):
            await anext(lines)


async def test_fields_that_are_null_count_as_left_out(api: FakeApi, client: KubernetesClient) -> None:
    odd = {**pod("a", 3), "spec": {"nodeName": "n", "tolerations": None}}
    api.on("GET", POD, Reply(body=odd))
    api.on("GET", "/api/v1/pods", page(9, odd))

    for found in (await client.read(POD, Pod), *await client.list(at("/api/v1/pods"), Pod)):
        assert (found.spec.node_name, found.spec.tolerations) == ("n", [])


async def test_an_object_that_cannot_be_read_spoils_no_list(api: FakeApi, client: KubernetesClient) -> None:
    odd, nameless = {**pod("odd", 3), "spec": "none"}, {"metadata": 5}
    api.on("GET", "/api/v1/pods", page(9, odd, nameless, pod("b", 4)))

    with capture_logs() as logs:
        found = await client.list(at("/api/v1/pods"), Pod)
    assert [item.metadata.name for item in found] == ["b"]
    reported = "unreadable object left out of a list"
    assert [(line["event"], line["path"], line["object"]) for line in logs] == [
        (reported, "/api/v1/pods", "odd"), (reported, "/api/v1/pods", ""),
    ]  # fmt: skip


async def test_an_answer_that_cannot_be_read_is_an_error_of_the_request(api: FakeApi, client: KubernetesClient) -> None:
    api.on("GET", POD, Reply(body={"metadata": 5}))

    with pytest.raises(AnswerError, match="the answer cannot be read: Expected `object`, got `int`"):
        await client.read(POD, Pod)


async def test_requests_beyond_the_rate_wait_in_order_but_urgent_ones_pass(
    api: FakeApi, tmp_path: Path, clock: FakeClock
) -> None:
    for name in ("a", "b", "c", "urgent"):
        api.on("GET", f"/api/v1/{name}", Reply())
    config = kubeconfig(tmp_path / "limited", api.url)
    async with await KubernetesClient.connect(config, qps=10, burst=1, clock=clock) as client:
        await client.get(at("/api/v1/a"))
        waiting = [asyncio.create_task(client.get(at(path))) for path in ("/api/v1/b", "/api/v1/c")]
        await settle()
        await client.request("GET", at("/api/v1/urgent"), urgent=True)
        assert clock.sleeps == [pytest.approx(0.1), pytest.approx(0.2)]

        await clock.advance(0.1)
        await gather_up(waiting[0])
        await clock.advance(0.1)
        await gather_up(waiting[1])

    assert [request.path for request in api.requests] == [f"/api/v1/{name}" for name in ("a", "urgent", "b", "c")]


async def test_a_path_below_the_servers_address_is_kept(api: FakeApi, tmp_path: Path) -> None:
    """As behind a management proxy: https://host/k8s/clusters/c-1."""
    api.on("GET", "/k8s/clusters/c-1/api/v1/version", Reply(body={"gitVersion": "v1.36.1"}))
    config = kubeconfig(tmp_path / "proxied", api.url + "/k8s/clusters/c-1/")
    async with await KubernetesClient.connect(config) as client:
        assert b"v1.36.1" in await client.get(at("/api/v1/version"))


async def test_a_proxy_carries_requests_and_watches(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It alone knows where the server is."""
    monkeypatch.setenv("http_proxy", api.url)
    api.on("GET", "/api/v1/version", Reply(body={"gitVersion": "v1.36.1"}))
    api.on("POST", POD, refusal(409, "AlreadyExists"))
    async with await KubernetesClient.connect(kubeconfig(tmp_path / "config", "http://cluster.example")) as client:
        assert b"v1.36.1" in await client.get(at("/api/v1/version"))
        assert b"v1.36.1" in await client.request("GET", at("/api/v1/version"), urgent=True)
        with pytest.raises(ConflictError):
            await client.post(POD, {})
        async with client.watch(at("/api/v1/pods"), {"resourceVersion": "1"}):
            await api.watch()

    assert {request.headers["Host"] for request in api.requests} == {"cluster.example"}


async def test_kopf_can_log_in_as_we_do(client: KubernetesClient, api: FakeApi) -> None:
    info = kopf.ConnectionInfo(**msgspec.structs.asdict(client.connection))

    assert info.server == api.url
    assert info.as_http_headers() == {"Authorization": "Bearer secret"}


async def test_a_server_that_is_not_there_is_named_by_its_address(tmp_path: Path) -> None:
    with silent_port() as port:
        config = kubeconfig(tmp_path / "unknown", f"http://127.0.0.1:{port}")
        async with await KubernetesClient.connect(config) as client:
            with pytest.raises(
                UnreachableError, match=f"GET /api/v1/version: no answer: cannot connect to 127.0.0.1:{port}: "
            ):
                await client.get(at("/api/v1/version"))
