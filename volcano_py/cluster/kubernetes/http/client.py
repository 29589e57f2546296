"""Requests to the API server: bytes in and out, errors of one family.

The generated client of kubernetes_asyncio builds a model of every answer, which costs several times what the request
itself does; its configuration loader is used, its transport is not.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import msgspec
import orjson
import structlog

from volcano_py.api.json_values import Reader
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.answers import BINDING, OBJECT, PAGE, WHOLE_LIST, Answer, BeyondLimitError
from volcano_py.cluster.kubernetes.http.credentials import Connection, Credentials
from volcano_py.cluster.kubernetes.http.errors import (
    AnswerError,
    ApiError,
    ForbiddenError,
    ServerError,
    TooLargeError,
    UnreachableError,
    api_error,
)
from volcano_py.cluster.kubernetes.http.paths import ApiPath, Params
from volcano_py.cluster.kubernetes.http.ratelimit import TokenBucket
from volcano_py.cluster.kubernetes.http.transport import JSON, Transport
from volcano_py.cluster.kubernetes.http.unreadable import Identity, identify
from volcano_py.cluster.kubernetes.http.watch_stream import WatchStream

log = structlog.get_logger(__name__)

T = TypeVar("T")
Body = bytes | Mapping[str, Any] | list[Any]

# The API server's own limit for a request is a minute; a list of many pages is many requests.
DEFAULT_TIMEOUT: Final = 60.0
PAGE_SIZE: Final = 2_000
"""Four times that of client-go's pager. The server sends a page while it encodes it, and the next one is asked for when
all of a page is here: with 500, a start among 100,000 pods took a third longer. Small enough for the server to hold in
memory."""

_RESTART_TAKES = 10.0  # seconds; measured about one until a restarted server knows its RBAC rules


class PatchType(StrEnum):
    """The patch formats of the API, by content type."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"
    JSON = "application/json-patch+json"


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """A list's own metadata."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, frozen=True):
    """One page of a list. Items stay raw, so that one that cannot be read does not spoil the others."""

    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] | None = None


_PAGES: Final = Reader(Page)


class KubernetesClient:
    """One API server. Every method raises `ApiError` when the server refuses and `UnreachableError` when it is silent.

    `urgent` requests (leases, watches) wait neither for the rate limit nor for one of the limited connections.
    """

    def __init__(
        self,
        credentials: Credentials,
        transport: Transport,
        *,
        qps: float = 2000,
        burst: int = 2000,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Use `KubernetesClient.connect`. `qps` and `burst` are Volcano's defaults."""
        self.credentials = credentials
        self._clock = clock
        self._bucket = TokenBucket(qps, burst, clock)
        self._transport = transport
        self._troubled = float("-inf")  # when the server last failed to answer
        self.answered: Counter[tuple[str, int]] = Counter()
        """Requests by verb (WATCH: one that opens a watch) and status; 0 is no answer."""

    @classmethod
    async def connect(
        cls,
        kubeconfig: Path | None = None,
        context: str | None = None,
        *,
        qps: float = 2000,
        burst: int = 2000,
        connections: int = 128,
        clock: Clock = SYSTEM_CLOCK,
    ) -> Self:
        """A client for the given kubeconfig, or for where we are (see `Credentials.load`); sends nothing yet.

        Must be called on the loop that will use it.

        Raises:
            CredentialsError: no usable configuration.
        """
        credentials = await Credentials.load(kubeconfig, context, clock=clock)
        return cls(credentials, Transport(credentials, connections), qps=qps, burst=burst, clock=clock)

    async def aclose(self) -> None:
        """Close all connections."""
        await self.credentials.aclose()
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def connection(self) -> Connection:
        """The server and login, for another client such as kopf's."""
        return self.credentials.connection

    async def get(
        self, path: ApiPath, params: Params | None = None, *, accept: str = JSON, within: float = DEFAULT_TIMEOUT
    ) -> bytes:
        """The object or list at this path."""
        return await self.request("GET", path, params=params, accept=accept, within=within)

    async def read(self, path: ApiPath, kind: type[T], params: Params | None = None) -> T:
        """The object at this path, decoded."""
        return _decoded("GET", path, await self.get(path, params), Reader(kind))

    async def pages(
        self,
        path: ApiPath,
        params: Params | None = None,
        *,
        page_size: int = PAGE_SIZE,
        accept: str = JSON,
    ) -> AsyncGenerator[Page, None]:
        """A list page by page (one page, when `page_size` is 0).

        All pages show the moment of the first one; without a resourceVersion among the parameters that is the newest.

        Raises:
            GoneError: the server has forgotten that moment half-way: start again.
        """
        query: dict[str, str | int] = dict(params or {})
        if page_size:
            query["limit"] = page_size
        limit = PAGE if page_size else WHOLE_LIST
        while True:
            try:
                answer = await self.request("GET", path, params=query, accept=accept, limit=limit)
            except TooLargeError:
                # Large objects are their authors' right; they must not keep all the others from being seen.
                if page_size <= 1:
                    raise
                query["limit"] = page_size = page_size // 4 or 1
                continue
            page = _decoded("LIST", path, answer, _PAGES)
            yield page
            if not page.metadata.continue_:
                return
            query["continue"] = page.metadata.continue_
            # The token carries the version; the server refuses both together.
            query.pop("resourceVersion", None)
            query.pop("resourceVersionMatch", None)

    async def list(
        self,
        path: ApiPath,
        kind: type[T],
        params: Params | None = None,
        *,
        on_unreadable: Callable[[Identity, Exception], None] | None = None,
    ) -> list[T]:
        """All objects at this path, decoded. An unreadable one is left out and reported, or logged."""
        report = on_unreadable or _logging(path)
        reader, objects = Reader(kind), list[T]()
        async for page in self.pages(path, params):
            for item in page.items or ():
                try:
                    objects.append(reader.decode(item))
                except msgspec.MsgspecError as error:
                    report(identify(item), error)
        return objects

    async def post(
        self, path: ApiPath, body: Body, params: Params | None = None, *, within: float = DEFAULT_TIMEOUT
    ) -> bytes:
        """Create. Not repeated by itself: see `backoff.retry`."""
        return await self.request("POST", path, params=params, body=body, within=within)

    async def put(
        self, path: ApiPath, body: Body, params: Params | None = None, *, within: float = DEFAULT_TIMEOUT
    ) -> bytes:
        """Replace."""
        return await self.request("PUT", path, params=params, body=body, within=within)

    async def patch(
        self,
        path: ApiPath,
        body: Body,
        kind: PatchType = PatchType.MERGE,
        params: Params | None = None,
        *,
        within: float = DEFAULT_TIMEOUT,
    ) -> bytes:
        """Change what the patch names. `APPLY` needs the parameters `fieldManager` and, mostly, `force=true`."""
        return await self.request("PATCH", path, params=params, body=body, content_type=kind, within=within)

    async def delete(
        self, path: ApiPath, body: Body | None = None, params: Params | None = None, *, within: float = DEFAULT_TIMEOUT
    ) -> bytes:
        """Delete; the body is a DeleteOptions object."""
        return await self.request("DELETE", path, params=params, body=body, within=within)

    async def request(
        self,
        verb: str,
        path: ApiPath,
        *,
        params: Params | None = None,
        body: Body | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        within: float = DEFAULT_TIMEOUT,
        urgent: bool = False,
        limit: int = 0,
    ) -> bytes:
        """Send one request and return the body of the answer; `within` is in seconds and covers all of it.

        `limit`: bytes of the answer; 0 is what fits the kind of request.
        """
        if not urgent:
            await self._bucket.take()
        data = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        while True:
            login = self._login()
            try:
                answer = await self._transport.send(
                    verb,
                    path,
                    params,
                    data,
                    content_type=content_type,
                    accept=accept,
                    limit=limit or _limit(verb, path),
                    within=within,
                    urgent=urgent,
                )
            except BeyondLimitError as error:
                raise TooLargeError(verb, str(path), error.limit) from None
            except OSError as error:
                self._unanswered(verb)
                # What was read keeps the error, whose traceback keeps what was read.
                error.__traceback__ = None
                raise UnreachableError(verb, str(path), error) from error
            self.answered[verb, answer.status] += 1
            if answer.status < 300:
                return answer.body
            # A 401 comes before anything is done, so that repeating is safe for every verb.
            if answer.status != 401 or not await self.credentials.renew(login):
                # Not through a variable: error and frame would refer to each other, which leaves garbage in cycles.
                raise self._refusal(verb, path, answer)

    @contextlib.asynccontextmanager
    async def watch(self, path: ApiPath, params: Params, *, accept: str = JSON) -> AsyncIterator[WatchStream]:
        """An open watch; leaving the block closes it. `params` are those of the API, `watch=1` is added."""
        login = self._login()
        async with contextlib.AsyncExitStack() as stack:
            opening = self._transport.watch(path, {"watch": 1, **params}, accept=accept, clock=self._clock)
            try:
                # The server sends the headers at once, before there is any event.
                async with asyncio.timeout(DEFAULT_TIMEOUT):
                    stream = await stack.enter_async_context(opening)
            except OSError as error:
                self._unanswered("WATCH")
                raise UnreachableError("WATCH", str(path), error) from error
            self.answered["WATCH", stream.status if isinstance(stream, Answer) else 200] += 1
            if isinstance(stream, Answer):
                if stream.status == 401:
                    await self.credentials.renew(login)
                raise self._refusal("WATCH", path, stream)
            yield stream

    def _login(self) -> tuple[object, object]:
        self.credentials.refresh_when_due()
        return self.credentials.authorization, self.credentials.ssl

    def _unanswered(self, verb: str) -> None:
        self._troubled = self._clock.monotonic()
        self.answered[verb, 0] += 1

    def _refusal(self, verb: str, path: ApiPath, answer: Answer) -> ApiError:
        refusal = api_error(verb, str(path), answer.status, answer.body, retry_after=answer.retry_after)
        if isinstance(refusal, ServerError):
            self._troubled = self._clock.monotonic()
        elif isinstance(refusal, ForbiddenError):
            refusal.just_restarted = self._clock.monotonic() - self._troubled < _RESTART_TAKES
        return refusal


def _limit(verb: str, path: ApiPath) -> int:
    """Bytes of the answer to such a request."""
    if path.subresource == "binding":
        return BINDING
    if path.name or verb not in ("GET", "DELETE"):
        return OBJECT
    return PAGE if verb == "GET" else WHOLE_LIST  # of all that was deleted, in one piece


def _decoded(verb: str, path: ApiPath, answer: bytes, reader: Reader[T]) -> T:
    try:
        return reader.decode(answer)
    except msgspec.MsgspecError as error:
        raise AnswerError(verb, str(path), error) from error


def _logging(path: ApiPath) -> Callable[[Identity, Exception], None]:
    return lambda identity, error: log.warning(
        "unreadable object left out of a list", path=str(path), object=identity.name, error=str(error)
    )
