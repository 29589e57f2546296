"""The HTTPS server that the API server asks before it stores queues and work.

kopf evaluates the reviews. It is restarted when its watch has stalled, or a kind was installed; the server stays. While
kopf is away a review waits for a few seconds, rarely for more than a fraction of one.

Any client that reaches the port may send anything, so everything has a bound (`Limits`): connections, what they hold
together, how long each step of a request may take, and how many bytes are checked at a time.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import kopf
import msgspec
import orjson
import structlog
from kopf._core.engines.admission import UnknownResourceError  # kopf reports it by this class alone

from volcano_py.observe.listen import ListenAddress, chosen, open_socket
from volcano_py.operator.webhooks.peer_shares import NoRoomError, Share, Shares
from volcano_py.operator.webhooks.requests import LARGEST_HEAD, Head, RefusedError, answer, read_body, read_head
from volcano_py.operator.webhooks.review_json import Resource, read_request, read_review
from volcano_py.operator.webhooks.review_turns import ReviewTurns
from volcano_py.operator.webhooks.reviews import CURRENT, Review, UnderReview, for_kopf

log = structlog.get_logger(__name__)

MIB: Final = 2**20

_ACCEPT_AGAIN: Final = 0.1  # seconds; when the system has no file descriptor left


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What callers may take. Times in seconds, sizes in bytes."""

    connections: int = 256
    """In all. Each may have half a megabyte in the buffers of TLS."""
    per_peer: int = 192
    """Of one address. An API server has one for each review under way, and 200 writes under way by default."""
    memory: int = 48 * MIB
    """Of all requests that are read or checked."""
    review: int = 8 * MIB
    """Of one review: it may hold two objects of up to 3 MiB, which is what an API server takes."""
    judged: int = 8 * MIB
    """Of the reviews that are checked at a time: as objects of Python's they are many times as large."""
    handshake: float = 5.0
    first: float = 10.0
    """Until a request of a new connection begins."""
    idle: float = 120.0
    """Until the next one does; longer than the API server's idle connections live (90 s)."""
    head: float = 3.0
    body: float = 5.0
    sending: float = 5.0
    lingering: float = 1.0
    """For which a refused caller may keep sending: it reads the answer only after that."""
    judging: float = 8.0
    """Waiting for a turn included. The webhook configurations let the API server wait for ten."""


LIMITS: Final = Limits()


class NotServingError(RuntimeError):
    """kopf is away and did not come back in time."""


class AdmissionServer:
    """Listens at `address` with `tls` while `run` runs; to be given to kopf as its webhook server.

    `webhooks` are the kinds by the last part of the URL. `renew` is called with one of them when kopf does not know the
    kind, and returns whether kopf is being restarted because the kind was installed meanwhile. `callers` are the common
    names that certificates of callers may have; without any, `tls` alone decides. `turned_away` is called with a status
    whenever a caller was answered with an error, or 0 when it was cut off.
    """

    def __init__(
        self,
        address: ListenAddress,
        tls: ssl.SSLContext,
        webhooks: Mapping[str, Resource],
        renew: Callable[[Resource], Awaitable[bool]],
        *,
        callers: Collection[str] = (),
        turned_away: Callable[[int], None] = lambda _: None,
        limits: Limits = LIMITS,
    ) -> None:
        self._address, self._tls, self._webhooks, self._renew = address, tls, webhooks, renew
        self._callers, self._turned_away, self._limits = callers, turned_away, limits
        self._evaluate: kopf.WebhookFn | None = None
        self._attached = asyncio.Event()
        self._turns = ReviewTurns(limits.judged)
        self.shares = Shares(connections=limits.connections, per_peer=limits.per_peer, memory=limits.memory)
        """What callers have now."""
        self.listening: ListenAddress | None = None
        """Where it listens really; None while it does not."""

    async def __call__(self, evaluate: kopf.WebhookFn) -> AsyncIterator[kopf.WebhookClientConfig]:
        """kopf's protocol: kopf hands over the function that evaluates reviews, for as long as it runs."""
        self._evaluate = evaluate
        self._attached.set()
        try:
            # kopf manages no webhook configurations here, so nothing reads this.
            yield kopf.WebhookClientConfig(url=f"https://{self._address}")
            await asyncio.Event().wait()
        finally:
            if self._evaluate is evaluate:
                self._evaluate = None
                self._attached.clear()

    def problem(self) -> str | None:
        """Why reviews cannot be answered now; None when they can."""
        if self.listening is None:
            return "admission webhooks are not served yet"
        return None if self._attached.is_set() else "kopf is being started; reviews wait for it"

    # Connections.

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            ListenError: the address cannot be had.
        """
        sock = await open_socket(self._address)
        sock.setblocking(False)
        connections: set[asyncio.Task[None]] = set()
        try:
            self.listening = chosen(sock)
            log.info("webhook server listening", address=str(self.listening))
            while True:
                peer, address = await _accepted(sock)
                task = asyncio.create_task(self._serve(peer, str(address[0])), name="webhook caller")
                connections.add(task)
                task.add_done_callback(connections.discard)
        finally:
            self.listening = None
            sock.close()
            for task in connections:
                task.cancel()
            await asyncio.gather(*connections, return_exceptions=True)

    async def _serve(self, sock: socket.socket, peer: str) -> None:
        """One connection, to its end."""
        share = Share(peer, _cancel_of_this_task())
        try:
            self.shares.join(share)
        except NoRoomError as error:
            sock.close()
            self._turned_away(0)
            log.debug("webhook connection rejected", peer=peer, reason=str(error))
            return
        try:
            await self._converse(sock, share)
        except (OSError, asyncio.IncompleteReadError) as error:  # a TimeoutError, and those of TLS, are OSErrors
            self._turned_away(0)
            log.debug("webhook connection closed", peer=peer, reason=repr(error))
        finally:
            self.shares.leave(share)
            # A cancelled task keeps its error, that the frames, and these the share: without this a connection that was
            # cut would stay until the garbage collector comes, with half a megabyte of buffers.
            share.cut = _nothing

    async def _converse(self, sock: socket.socket, share: Share) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=LARGEST_HEAD, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol,
            sock,
            ssl=self._tls,
            ssl_handshake_timeout=self._limits.handshake,
            ssl_shutdown_timeout=self._limits.lingering,
        )
        # An answer counts as sent when the system has taken it. (With a limit of 0, asyncio's TLS stays paused.)
        transport.set_write_buffer_limits(high=1, low=0)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            self._check_caller(transport)
            async with asyncio.timeout(self._limits.first):
                begun = await reader.read(1)
            while begun and await self._exchange(begun, reader, writer, share):
                begun = b""
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._limits.idle):
                        begun = await reader.read(1)
        finally:
            transport.abort()

    async def _exchange(
        self, begun: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, share: Share
    ) -> bool:
        """One request, of which the first byte has been read, and its answer; whether another one may come."""
        self.shares.begin(share)
        try:
            async with asyncio.timeout(self._limits.head):
                head = await read_head(reader, begun)
            webhook, keeps_alive = self._addressed(head), head.keeps_alive
            async with asyncio.timeout(self._limits.body):
                body = await read_body(reader, head.length, partial(self.shares.hold, share))
        except TimeoutError:
            status, text, keeps_alive = _error(HTTPStatus.REQUEST_TIMEOUT, "the request came too slowly")
        except NoRoomError as error:
            status, text, keeps_alive = _error(HTTPStatus.TOO_MANY_REQUESTS, str(error))
        except RefusedError as error:
            status, text, keeps_alive = _error(error.status, str(error))
        else:
            status, text = await self._review(webhook, body)
            del body
        self.shares.end(share)
        if status is not HTTPStatus.OK:
            self._turned_away(status.value)
        async with asyncio.timeout(self._limits.sending):
            writer.write(answer(status, text, keeps_alive=keeps_alive))
            await writer.drain()
        if not keeps_alive:
            await self._linger(reader)
        return keeps_alive

    def _check_caller(self, transport: asyncio.BaseTransport) -> None:
        """
        Raises:
            ConnectionRefusedError: its certificate is not that of an allowed client.
        """
        if not self._callers:
            return
        subject = (transport.get_extra_info("peercert") or {}).get("subject", ())
        names = {value for part in subject for key, value in part if key == "commonName"}
        if names.isdisjoint(self._callers):
            raise ConnectionRefusedError(f"the client certificate is for {', '.join(sorted(names)) or 'no name'}")

    async def _linger(self, reader: asyncio.StreamReader) -> None:
        """Take what still comes, for a moment: closing at once would take the answer from a caller that sends."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.lingering):
                while await reader.read(LARGEST_HEAD):
                    pass

    def _addressed(self, head: Head) -> str:
        """The webhook that a request is for.

        Raises:
            RefusedError: there is no such webhook, or the request is too large.
        """
        webhook = head.path.removeprefix("/")
        if webhook not in self._webhooks:
            raise RefusedError(HTTPStatus.NOT_FOUND, f"there are {', '.join(sorted(self._webhooks))}")
        if head.length > self._limits.review:
            raise RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the review has {head.length} bytes, the limit is {self._limits.review}",
            )
        return webhook

    # Reviews.

    async def _review(self, webhook: str, body: bytes) -> tuple[HTTPStatus, bytes]:
        """Status and JSON of the answer."""
        try:
            with _readable():
                request = read_request(body, self._webhooks[webhook])
            async with asyncio.timeout(self._limits.judging), self._turns.turn(request.namespace, len(body)):
                with _readable():
                    review = read_review(body)
                return HTTPStatus.OK, orjson.dumps(await self._answer(review, webhook))
        except RefusedError as error:
            return _error(error.status, str(error))[:2]
        except (TimeoutError, NotServingError) as error:
            text = str(error) or f"not checked within {self._limits.judging:g} s; try again"
            return _error(HTTPStatus.SERVICE_UNAVAILABLE, text)[:2]
        except Exception as error:
            log.exception("admission review failed")
            return _error(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}")[:2]

    async def _answer(self, review: dict[str, Any], webhook: str) -> Any:
        current = UnderReview(Review.of(review["request"]))
        CURRENT.set(current)
        answer = await self._judged(for_kopf(review), webhook)
        if current.patch and answer["response"]["allowed"]:
            patch = base64.b64encode(orjson.dumps(current.patch)).decode("ascii")
            answer["response"] |= {"patch": patch, "patchType": "JSONPatch"}
        return answer

    async def _judged(self, review: dict[str, Any], webhook: str) -> Any:
        """kopf's answer."""
        evaluate = await self._evaluator()
        try:
            return await evaluate(review, webhook=webhook)  # type: ignore[arg-type]
        except UnknownResourceError:
            # kopf knows the kinds that existed when it started. Any client that reaches the port can ask, so kopf is
            # restarted only for a kind that exists now.
            if not await self._renew(self._webhooks[webhook]):
                raise
        async with asyncio.timeout(self._limits.judging / 2):
            while self._evaluate is evaluate:  # noqa: ASYNC110 - kopf does not announce that it ends
                await asyncio.sleep(0.02)
        return await (await self._evaluator())(review, webhook=webhook)  # type: ignore[arg-type]

    async def _evaluator(self) -> kopf.WebhookFn:
        await self._attached.wait()
        if self._evaluate is None:
            raise NotServingError("kopf is being started; try again")
        return self._evaluate


def _cancel_of_this_task() -> Callable[[], object]:
    task = asyncio.current_task()
    assert task is not None
    return task.cancel


def _nothing() -> None:
    """What is left to do for a connection that has ended."""


async def _accepted(sock: socket.socket) -> tuple[socket.socket, Any]:
    """The next connection. One that has ended already, or too many open files, must not end the server."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            return await loop.sock_accept(sock)
        except OSError as error:
            log.warning("connection not accepted", error=str(error))
            await asyncio.sleep(_ACCEPT_AGAIN)


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"the review cannot be read: {error}") from error


def _error(status: HTTPStatus, problem: str) -> tuple[HTTPStatus, bytes, bool]:
    """An answer that ends the connection."""
    return status, orjson.dumps({"error": problem}), False
