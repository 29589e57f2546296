"""Attackers on sockets of their own against the real webhook server: what they hold is bounded, and others are served.

Peers are distinguished by their addresses: attackers come from 127.0.0.2, the API server from 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import ssl
import weakref
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.unit.cluster.fakes import PATIENCE
from tests.unit.operator.webhooks.test_admission_server import PATIENT, REVIEW, Door, opened
from volcano_py.cluster.certificates import Signer, certificate_pem, common_name, new_key
from volcano_py.operator.webhooks.certificate_rotation import tls_context
from volcano_py.operator.webhooks.peer_shares import Share
from volcano_py.operator.webhooks.requests import LARGEST_HEAD
from volcano_py.operator.webhooks.server import Limits

pytestmark = pytest.mark.real_time

ATTACKER, API_SERVER = "127.0.0.2", "127.0.0.1"
KIB = 2**10
SMALL = msgspec.structs.replace(PATIENT, connections=40, per_peer=30, memory=512 * KIB, review=64 * KIB, lingering=0.1)
BODY = json.dumps(REVIEW).encode()

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def head(length: int, *lines: str, start: str = "POST /validate-queues HTTP/1.1") -> bytes:
    return "\r\n".join([start, "Host: x", f"Content-Length: {length}", *lines, "", ""]).encode()


class Attacker:
    """Opens connections from an address of its own, and closes them all at the end."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._opened: list[asyncio.StreamWriter] = []
        address = door.server.listening
        assert address is not None
        self.port = address.port

    async def connect(self, peer: str = ATTACKER, *, tls: bool = True) -> Streams:
        trust = ssl.create_default_context(cadata=self._door.certificates.authorities.decode())
        streams = await asyncio.open_connection(
            "127.0.0.1",
            self.port,
            local_addr=(peer, 0),
            ssl=trust if tls else None,
            server_hostname="127.0.0.1" if tls else None,
        )
        self._opened.append(streams[1])
        return streams

    async def send(self, *pieces: bytes, peer: str = ATTACKER) -> Streams:
        reader, writer = await self.connect(peer)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return reader, writer

    async def ask(self, *pieces: bytes, peer: str = ATTACKER) -> tuple[int, bytes]:
        """Status and body of the answer."""
        reader, _ = await self.send(*pieces, peer=peer)
        return await answer(reader)

    async def aclose(self) -> None:
        for writer in self._opened:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    async with asyncio.timeout(PATIENCE):
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.startswith("Content-Length"))
        return int(lines[0].split()[1]), await reader.readexactly(length)


async def ended(streams: Streams) -> None:
    """Wait until the server closes the connection."""
    async with asyncio.timeout(PATIENCE):
        with contextlib.suppress(OSError):
            while await streams[0].read(KIB):
                pass


async def until_held(door: Door, least: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while door.server.shares.held < least:  # noqa: ASYNC110 - what is waited for is no event
            await asyncio.sleep(0.001)


@contextlib.asynccontextmanager
async def attacked(directory: Path, limits: Limits) -> AsyncIterator[tuple[Door, Attacker]]:
    async with opened(Door(directory, limits)) as door:
        await door.attach()
        attacker = Attacker(door)
        try:
            yield door, attacker
        finally:
            await attacker.aclose()


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[tuple[Door, Attacker]]:
    async with attacked(tmp_path, SMALL) as scene:
        yield scene


async def test_half_sent_reviews_hold_a_bounded_amount_and_others_are_served(scene: tuple[Door, Attacker]) -> None:
    """150 of them, as large as a review may be but for the last byte; the oldest idle connections give way."""
    door, attacker = scene
    most = 0

    async def half() -> None:
        nonlocal most
        with contextlib.suppress(OSError):
            await attacker.send(head(SMALL.review), b" " * (SMALL.review - 1))
        most = max(most, door.server.shares.held)

    await asyncio.gather(*(half() for _ in range(150)))
    await until_held(door, SMALL.memory - 2 * SMALL.review)
    assert len(door.server.shares) <= SMALL.per_peer
    assert most <= SMALL.memory
    large = BODY[:-1] + b" " * (SMALL.review // 2) + BODY[-1:]
    assert (await attacker.ask(head(len(large)), large, peer=API_SERVER))[0] == 200
    assert door.server.shares.held <= SMALL.memory
    await attacker.aclose()
    async with asyncio.timeout(PATIENCE):
        while len(door.server.shares):  # noqa: ASYNC110 - what is waited for is no event
            await asyncio.sleep(0.001)
    assert door.server.shares.held == 0


async def test_a_connection_that_was_cut_is_freed_at_once(scene: tuple[Door, Attacker]) -> None:
    """Without the garbage collector: callers come faster than it does, and each leaves its buffers."""
    door, attacker = scene
    shares = door.server.shares
    seen: weakref.WeakSet[Share] = weakref.WeakSet()
    gc.collect()
    gc.disable()
    try:
        for _ in range(2 * SMALL.memory // SMALL.review):
            held = shares.held
            with contextlib.suppress(OSError):
                await attacker.send(head(SMALL.review), b" " * (SMALL.review - 1))
            await until_held(door, min(held + SMALL.review - 1, SMALL.memory - SMALL.review))
            seen.update(shares._shares)
        await attacker.aclose()
        async with asyncio.timeout(PATIENCE):
            while len(shares) or seen:  # noqa: ASYNC110 - what is waited for is no event
                await asyncio.sleep(0.001)
    finally:
        gc.enable()


async def test_idle_connections_give_way_to_new_ones(scene: tuple[Door, Attacker]) -> None:
    door, attacker = scene
    idle = [await attacker.connect() for _ in range(SMALL.per_peer)]
    newcomer = await attacker.ask(head(len(BODY)), BODY)
    assert newcomer[0] == 200
    await ended(idle[0])
    assert len(door.server.shares) <= SMALL.per_peer
    for last in range(3, 8):
        for _ in range(SMALL.per_peer):
            await attacker.connect(f"127.0.0.{last}")
    assert len(door.server.shares) <= SMALL.connections
    assert (await attacker.ask(head(len(BODY)), BODY, peer=API_SERVER))[0] == 200


async def test_busy_connections_of_a_peer_are_kept_and_further_ones_refused(tmp_path: Path) -> None:
    async with attacked(tmp_path, msgspec.structs.replace(SMALL, per_peer=3)) as (door, attacker):
        busy = [await attacker.send(head(len(BODY)), BODY[:-1]) for _ in range(3)]
        await until_held(door, 3 * (len(BODY) - 1))
        with pytest.raises((OSError, asyncio.IncompleteReadError)):
            await attacker.ask(head(len(BODY)), BODY)
        for reader, writer in busy:
            writer.write(BODY[-1:])
            assert (await answer(reader))[0] == 200


@pytest.mark.parametrize(
    "silent",
    [pytest.param("handshake", id="TCP without TLS"), pytest.param("first", id="TLS without a request")],
)
async def test_a_connection_that_says_nothing_is_closed(tmp_path: Path, silent: str) -> None:
    async with attacked(tmp_path, msgspec.structs.replace(SMALL, **{silent: 0.05})) as (door, attacker):
        streams = await attacker.connect(tls=silent != "handshake")
        await ended(streams)
        assert not len(door.server.shares)


async def test_a_connection_that_is_not_used_again_is_closed(tmp_path: Path) -> None:
    async with attacked(tmp_path, msgspec.structs.replace(SMALL, idle=0.05)) as (_, attacker):
        streams = await attacker.send(head(len(BODY)), BODY)
        assert (await answer(streams[0]))[0] == 200
        await ended(streams)


@pytest.mark.parametrize(
    ("step", "pieces"),
    [
        pytest.param("head", [b"POST /validate-queues HTTP/1.1\r\nHost:"], id="headers"),
        pytest.param("body", [head(len(BODY)), BODY[:-1]], id="body"),
    ],
)
async def test_a_slow_sender_is_cut(tmp_path: Path, step: str, pieces: Sequence[bytes]) -> None:
    async with attacked(tmp_path, msgspec.structs.replace(SMALL, **{step: 0.05})) as (door, attacker):
        streams = await attacker.send(*pieces)
        assert await answer(streams[0]) == (408, b'{"error":"the request came too slowly"}')
        await ended(streams)
        assert door.server.shares.held == 0
        assert not door.asked


@pytest.mark.parametrize(
    ("status", "sent"),
    [
        pytest.param(431, head(0, "X: " + "a" * LARGEST_HEAD), id="a large header"),
        pytest.param(431, head(0, *[f"X{n}: a" for n in range(3000)]), id="many headers"),
        pytest.param(411, b"POST /validate-queues HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{", id="chunked"),
        pytest.param(411, b"POST /validate-queues HTTP/1.1\r\n\r\n", id="no length"),
        pytest.param(400, head(3, "Content-Length: 4"), id="two lengths"),
        pytest.param(400, head(3, "Transfer-Encoding: chunked"), id="a length and chunked"),
        pytest.param(400, b"POST /validate-queues HTTP/1.1\r\nContent-Length: -1\r\n\r\n", id="a negative length"),
        pytest.param(400, b"POST /validate-queues HTTP/1.1\r\nContent-Length: " + b"9" * 100 + b"\r\n\r\n", id="huge"),
        pytest.param(413, head(SMALL.review + 1), id="a large body"),
        pytest.param(415, head(3, "Content-Encoding: gzip"), id="compressed"),
        pytest.param(405, head(0, start="GET /validate-queues HTTP/1.1"), id="another method"),
        pytest.param(404, head(3, start="POST /validate-pods HTTP/1.1"), id="no such webhook"),
        pytest.param(400, b"\x16\x03\x01 nonsense\r\n\r\n", id="nonsense"),
        pytest.param(400, head(3, "Upgrade: websocket", "Connection: Upgrade", start="GET / HTTP/1.1"), id="upgrade"),
        pytest.param(400, head(0, "A: b\rX: y"), id="a bare carriage return"),
    ],
)
async def test_a_request_that_is_no_review_is_refused_before_its_body_is_read(
    scene: tuple[Door, Attacker], status: int, sent: bytes
) -> None:
    door, attacker = scene
    streams = await attacker.send(sent)
    assert (await answer(streams[0]))[0] == status
    streams[1].write_eof() if streams[1].can_write_eof() else streams[1].close()
    await ended(streams)
    assert door.server.shares.held == 0
    assert not door.asked


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param(b"[" * 200_000, "nested deeper than 50 levels", id="nested without end"),
        pytest.param(b"[" * 200_000 + b"]" * 200_000, "nested deeper than 50 levels", id="nested very deep"),
        pytest.param(b"[" * 900 + b"]" * 900, "nested deeper than 50 levels", id="nested deep"),
        pytest.param(b'{"a":' * 50 + b"1" + b"}" * 50, "nested deeper than 50 levels", id="objects"),
        pytest.param(b"1e400000", "infinity", id="no float"),
        pytest.param(b"9" * 1_000_000, "infinity", id="a million digits"),
        pytest.param(b"NaN", "not an AdmissionReview", id="not a number"),
        pytest.param(b"[" + b"0," * 1_000_001 + b"0]", "more than 1000000 values", id="many values"),
    ],
)
async def test_json_beyond_the_bounds_is_a_bad_request(tmp_path: Path, value: bytes, problem: str) -> None:
    async with attacked(tmp_path, PATIENT) as (door, attacker):
        body = BODY[:-1] + b', "more": ' + value + b"}"
        status, text = await attacker.ask(head(len(body)), body)
        assert (status, problem in text.decode()) == (400, True), text
        assert not door.asked


async def test_reviews_that_come_at_once_are_answered_one_after_the_other(scene: tuple[Door, Attacker]) -> None:
    """Pipelined: the next one is read when the last one is answered."""
    door, attacker = scene
    reader, _ = await attacker.send((head(len(BODY)) + BODY) * 50)
    for _ in range(50):
        assert (await answer(reader))[0] == 200
    assert len(door.asked) == 50


async def test_a_connection_is_kept_until_its_caller_asks_to_close_it(scene: tuple[Door, Attacker]) -> None:
    _, attacker = scene
    streams = await attacker.send(head(len(BODY), "Connection: close"), BODY)
    assert (await answer(streams[0]))[0] == 200
    await ended(streams)


class Authority:
    """Signs certificates of callers."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self._name = directory, name
        self._signer = Signer(common_name(name), new_key())
        self.file = directory / f"{name}.crt"
        self.file.write_bytes(certificate_pem(self._signer.own(datetime.now(UTC), timedelta(days=1))))

    def certificate(self, name: str) -> Path:
        """A file with the certificate and the key of a caller of this name."""
        key = new_key()
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        signed = self._signer.sign(
            common_name(name), key.public_key(), datetime.now(UTC), timedelta(days=1), usages=usages
        )
        file = self._directory / f"{self._name}-{name}.pem"
        file.write_bytes(
            certificate_pem(signed)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return file


@pytest.mark.parametrize(
    ("signed_by", "name", "is_answered"),
    [
        pytest.param("", "", False, id="no certificate"),
        pytest.param("other", "kube-apiserver", False, id="another authority"),
        pytest.param("ours", "user", False, id="another name"),
        pytest.param("ours", "kube-apiserver", True, id="the API server"),
    ],
)
async def test_with_authorities_of_callers_only_the_api_server_is_answered(
    tmp_path: Path, signed_by: str, name: str, is_answered: bool
) -> None:
    authorities = {each: Authority(tmp_path, each) for each in ("ours", "other")}
    door = Door(tmp_path, PATIENT, authorities["ours"].file, ["kube-apiserver"])
    async with opened(door):
        await door.attach()
        trust = ssl.create_default_context(cadata=door.certificates.authorities.decode())
        if signed_by:
            trust.load_cert_chain(authorities[signed_by].certificate(name))
        assert door.server.listening is not None
        with contextlib.ExitStack() as expected:
            if not is_answered:
                expected.enter_context(pytest.raises((OSError, asyncio.IncompleteReadError)))
            reader, writer = await asyncio.open_connection("127.0.0.1", door.server.listening.port, ssl=trust)
            try:
                writer.write(head(len(BODY)) + BODY)
                assert (await answer(reader))[0] == 200
            finally:
                writer.transport.abort()
    assert bool(door.asked) is is_answered


def test_a_file_without_authorities_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("nothing")
    with pytest.raises(ValueError, match=r"ca\.crt cannot be used as client CAs"):
        tls_context(tmp_path / "ca.crt")
