"""The webhook server: TLS whose certificate changes under way, kopf that comes and goes, and callers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import io
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import aiohttp
import kopf
import msgspec
import pytest
from kopf._core.engines.admission import UnknownResourceError

from tests.support.connections.sockets import until_closed
from tests.unit.cluster.fakes import PATIENCE, settle
from volcano_py.observe.listen import ListenAddress
from volcano_py.operator.webhooks.certificate_rotation import tls_context
from volcano_py.operator.webhooks.certificates import Certificates, issue
from volcano_py.operator.webhooks.review_json import Resource
from volcano_py.operator.webhooks.reviews import Review
from volcano_py.operator.webhooks.server import AdmissionServer, Limits

pytestmark = pytest.mark.real_time

HOSTS = ("localhost", "127.0.0.1")
RESOURCE = {"group": "g", "version": "v", "resource": "queues"}
REVIEW = {
    "kind": "AdmissionReview",
    "request": {
        "uid": "1",
        "resource": RESOURCE,
        "operation": "CREATE",
        "userInfo": {"username": "user"},
        "object": {"metadata": {"uid": "2", "name": "q"}, "spec": {"weight": 1}},
    },
}


# This machine may take longer than the API server waits.
PATIENT = Limits(
    handshake=PATIENCE, first=PATIENCE, idle=PATIENCE, head=PATIENCE, body=PATIENCE, sending=PATIENCE, judging=PATIENCE
)


class Door:
    """A server on a free port, and a client that trusts its authority."""

    def __init__(
        self,
        directory: Path,
        limits: Limits = PATIENT,
        client_authorities: Path | None = None,
        callers: Sequence[str] = (),
    ) -> None:
        self.limits, self.callers = limits, callers
        self.asked: list[tuple[str, Any]] = []
        self.outdated = 0
        self.tls = tls_context(client_authorities)
        self.certificates = issue(HOSTS, datetime.now(UTC))
        self._directory = directory
        self.load(self.certificates)
        self.kind_has_come = True
        self.server = self.another(ListenAddress.parse("127.0.0.1:0"))
        self._kopf: asyncio.Task[None] | None = None

    def another(self, address: ListenAddress) -> AdmissionServer:
        return AdmissionServer(
            address,
            self.tls,
            {"validate-queues": ("g", "v", "queues")},
            self._renew,
            callers=self.callers,
            limits=self.limits,
        )

    async def _renew(self, resource: Resource) -> bool:
        assert resource == ("g", "v", "queues")
        self.outdated += 1
        return self.kind_has_come

    def load(self, certificates: Certificates) -> None:
        certificate, key = self._directory / "tls.crt", self._directory / "tls.key"
        certificate.write_bytes(certificates.certificate)
        key.write_bytes(certificates.key)
        self.tls.load_cert_chain(certificate, key)

    async def answer(self, review: Any, webhook: str | None = None, **_: Any) -> Any:
        """kopf's function."""
        self.asked.append((webhook or "", review))
        return {"response": {"uid": review["request"]["uid"], "allowed": True}}

    async def attach(self, function: Callable[..., Awaitable[Any]] | None = None) -> None:
        """As kopf does when it has started."""

        async def serve() -> None:
            async for _ in self.server(cast(kopf.WebhookFn, function or self.answer)):
                pass

        self._kopf = asyncio.create_task(serve())
        await asyncio.sleep(0)

    async def detach(self) -> None:
        """As kopf does when it stops."""
        if self._kopf is not None:
            self._kopf.cancel()
            await asyncio.gather(self._kopf, return_exceptions=True)
            self._kopf = None

    async def post(self, path: str = "/validate-queues", **content: Any) -> tuple[int, Any]:
        """Status and JSON; every call is a new connection."""
        trust = ssl.create_default_context(cadata=self.certificates.authorities.decode())
        address = self.server.listening
        assert address is not None
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"https://127.0.0.1:{address.port}{path}", ssl=trust, **content) as response,
        ):
            return response.status, await response.json() if response.content_type == "application/json" else None


@contextlib.asynccontextmanager
async def opened(door: Door) -> AsyncIterator[Door]:
    running = asyncio.create_task(door.server.run())
    async with asyncio.timeout(PATIENCE):
        while door.server.listening is None:  # noqa: ASYNC110 - what is waited for is no event
            await asyncio.sleep(0.005)
    yield door
    await door.detach()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await until_closed()


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with opened(Door(tmp_path)) as door:
        yield door


async def test_the_path_names_the_webhook_and_kopf_answers(door: Door) -> None:
    await door.attach()
    assert door.server.problem() is None
    assert await door.post(json=REVIEW) == (200, {"response": {"uid": "1", "allowed": True}})
    ((webhook, review),) = door.asked
    assert webhook == "validate-queues"
    assert review["request"]["object"] == {"metadata": {"name": "q"}}, "kopf gets no more than the names"


async def test_a_certificate_that_is_replaced_holds_for_the_next_connection(door: Door) -> None:
    await door.attach()
    assert (await door.post(json=REVIEW))[0] == 200
    old, door.certificates = door.certificates, issue(HOSTS, datetime.now(UTC))
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await door.post(json=REVIEW)
    door.load(door.certificates)
    assert (await door.post(json=REVIEW))[0] == 200
    door.certificates = old
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await door.post(json=REVIEW)


async def test_a_review_waits_while_kopf_is_started_again(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    assert door.server.problem() == "kopf is being started; reviews wait for it"
    has_come = asyncio.Event()
    monkeypatch.setattr(Review, "of", lambda *_: has_come.set())
    waiting = asyncio.create_task(door.post(json=REVIEW))
    async with asyncio.timeout(PATIENCE):
        await has_come.wait()
    await settle()
    assert not waiting.done()
    await door.attach()
    assert (await waiting)[0] == 200


async def test_a_kopf_that_stays_away_is_reported(tmp_path: Path) -> None:
    async with opened(Door(tmp_path, msgspec.structs.replace(PATIENT, judging=0.05))) as door:
        status, answer = await door.post(json=REVIEW)
    assert (status, answer) == (503, {"error": "not checked within 0.05 s; try again"})


async def test_a_kind_that_has_come_after_kopf_makes_it_start_again(door: Door) -> None:
    async def knows_nothing(*_: Any, **__: Any) -> Any:
        raise UnknownResourceError("The specified resource has no handlers")

    await door.attach(knows_nothing)
    waiting = asyncio.create_task(door.post(json=REVIEW))
    async with asyncio.timeout(PATIENCE):
        while not door.outdated:  # noqa: ASYNC110 - what is waited for is no event
            await asyncio.sleep(0.005)
    await door.detach()
    await door.attach()
    assert (await waiting)[0] == 200
    assert door.outdated == 1


async def test_an_error_that_stays_is_answered_as_one(tmp_path: Path) -> None:
    async def knows_nothing(*_: Any, **__: Any) -> Any:
        raise UnknownResourceError("no")

    async def fails(*_: Any, **__: Any) -> Any:
        raise ValueError("no")

    async with opened(Door(tmp_path, msgspec.structs.replace(PATIENT, judging=0.05))) as door:
        await door.attach(knows_nothing)
        assert (await door.post(json=REVIEW))[0] == 503
        door.kind_has_come = False
        assert await door.post(json=REVIEW) == (500, {"error": "UnknownResourceError: no"})
        assert door.outdated == 2
        await door.detach()
        await door.attach(fails)
        assert await door.post(json=REVIEW) == (500, {"error": "ValueError: no"})
        assert door.outdated == 2, "kopf is not started again for an error of another kind"


async def test_only_reviews_of_the_api_server_restart_kopf(door: Door) -> None:
    """Anyone who reaches the port can ask; about other kinds than the webhook's own it is not even passed on."""
    await door.attach()
    for change in ({"resource": "pods"}, {"group": ""}, {"version": "1"}):
        request = {**REVIEW["request"], "resource": {**RESOURCE, **change}}  # type: ignore[dict-item]
        status, answer = await door.post(json={**REVIEW, "request": request})
        assert (status, answer) == (400, {"error": "the review cannot be read: it is not about queues.v.g"})
    for path in ("/validate-pods", "/queue", "/"):
        assert (await door.post(path, json=REVIEW))[0] == 404
    assert not door.asked
    assert not door.outdated


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"request": 1}', b'{"request": {"resource": 1}}', b"\xff"])
async def test_what_is_no_review_is_sent_back(door: Door, body: bytes) -> None:
    await door.attach()
    status, answer = await door.post(data=body)
    assert status == 400
    assert answer["error"].startswith("the review cannot be read: ")
    assert not door.asked


async def test_a_review_of_many_megabytes_is_not_read(door: Door) -> None:
    await door.attach()
    status, _ = await door.post(data=io.BytesIO(b" " * (9 * 2**20)))
    assert status == 413
    assert not door.asked


async def test_other_paths_and_methods_show_nothing(door: Door) -> None:
    await door.attach()
    assert (await door.post("/a/b", json=REVIEW))[0] == 404
    assert not door.asked


async def test_an_address_that_is_taken_is_reported(door: Door) -> None:
    taken = door.server.listening
    assert taken is not None
    other = door.another(ListenAddress("127.0.0.1", taken.port))
    with pytest.raises(OSError, match=r"cannot listen on 127\.0\.0\.1"):
        await other.run()
    assert other.problem() == "admission webhooks are not served yet"
    with contextlib.suppress(OSError):
        await other.run()
