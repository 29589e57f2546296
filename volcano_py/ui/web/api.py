"""What the scripts of the page ask for. Everything is JSON; errors are `{"error": "…"}`."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from volcano_py.ui.answers import AnswerError, Answers, Changes
from volcano_py.ui.live import Live
from volcano_py.ui.rights.sight import Rights, Sight
from volcano_py.ui.web.visitor import Door, Share, visitor_of

T = TypeVar("T")

_RETRY_MILLISECONDS: Final = 1000
MOST_BYTES: Final = 1 << 20
"""Of a body: a configuration, or manifests to try."""

_QUIET: Final = b": nothing new\n\n"
"""A comment, which browsers pass over. A closed page is noticed by it."""
_AGAIN: Final = b"event: again\ndata: {}\n\n"
_MOST_STREAMS: Final = 20
"""Pages that one user follows at once."""
_MOST_QUESTIONS: Final = 8
"""That one user waits for at once; the scheduler works on one after the other."""


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A configuration to plan."""

    text: str


class Api:
    """The handlers, behind the door. Each asks first what the visitor may see."""

    def __init__(self, live: Live, answers: Answers, rights: Rights, door: Door) -> None:
        self._live, self._answers, self._rights, self._door = live, answers, rights, door
        self._streams, self._questions = Share(_MOST_STREAMS, "pages"), Share(_MOST_QUESTIONS, "questions")

    def routes(self) -> list[web.RouteDef]:
        """All paths below /api."""
        return [
            web.get("/api/visitor", self.visitor),
            web.get("/api/board", self.board),
            web.get("/api/updates", self.updates),
            web.get("/api/explain/{kind:queue|node}/{name}", self.explain),
            web.get("/api/explain/{kind:podgroup|job|pod}/{namespace}/{name}", self.explain),
            web.get("/api/pods/{namespace}/{name}", self.pods),
            web.post("/api/what-if", self.what_if),
            web.post("/api/plan", self.plan),
        ]

    async def visitor(self, request: web.Request) -> web.Response:
        """Who looks at the page, and whether there is a session to end."""
        visitor = visitor_of(request)
        return _json({"user": visitor.user.name, "canLeave": visitor.can_leave})

    async def board(self, request: web.Request) -> web.Response:
        """All tables."""
        sight = await self._sight(request)
        answer = web.Response(body=self._live.whole(sight), content_type="application/json")
        answer.enable_compression()
        return answer

    async def updates(self, request: web.Request) -> web.StreamResponse:
        """Changes as server-sent events, from board `after` (or `Last-Event-ID`) on, as it was seen with `sight`. The
        event `again` says that the board is to be asked for again: it was too long ago, or the visitor may see other
        things now."""
        text = request.headers.get("Last-Event-ID", request.query.get("after", "0"))
        if not (text.isascii() and text.isdigit()):
            raise web.HTTPBadRequest(text=f"400: after is {text!r}, not the number of a board\n")
        with self._streams.held(visitor_of(request).user):
            stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await stream.prepare(request)
            await stream.write(b"retry: %d\n\n" % _RETRY_MILLISECONDS)
            sight = await self._sight(request)
            if request.query.get("sight", sight.mark) != sight.mark:
                await stream.write(_AGAIN)
                return stream
            # A browser that closes the page says nothing: the next write does not reach it.
            with contextlib.suppress(ConnectionResetError):
                await self._follow(request, stream, int(text), sight)
        return stream

    async def _follow(self, request: web.Request, stream: web.StreamResponse, after: int, sight: Sight) -> None:
        """Write updates until the board is to be asked for again."""
        async with contextlib.aclosing(self._live.updates(after, sight)) as updates:
            async for update in updates:
                if update is None or await self._is_other(request, sight):
                    await stream.write(_AGAIN)
                    break
                await stream.write(b"id: %d\ndata: %b\n\n" % (update.number, update.data) if update.changes else _QUIET)

    async def _is_other(self, request: web.Request, sight: Sight) -> bool:
        """Asked before each update: what was taken away meanwhile is not sent."""
        now = await self._door.visitor(request)
        return now is None or now.user != visitor_of(request).user or await self._sight(request) != sight

    async def explain(self, request: web.Request) -> web.Response:
        """One workload, queue or node."""
        of = request.match_info
        name = f"{of['namespace']}/{of['name']}" if "namespace" in of else of["name"]
        with self._questions.held(visitor_of(request).user):
            try:
                return _json(await self._answers.explain(of["kind"], name, await self._sight(request)))
            except AnswerError as error:
                return _error(404, error)

    async def pods(self, request: web.Request) -> web.Response:
        """The pods of one PodGroup."""
        of = request.match_info
        try:
            return _json(self._answers.pods(f"{of['namespace']}/{of['name']}", await self._sight(request)))
        except AnswerError as error:
            return _error(404, error)

    async def what_if(self, request: web.Request) -> web.Response:
        """A trial of changes; the body is `Changes`."""
        return await self._tried(request, Changes, self._answers.try_changes)

    async def plan(self, request: web.Request) -> web.Response:
        """A plan for an edited configuration; the body is `Edit`."""
        return await self._tried(request, Edit, lambda edit, sight: self._answers.plan(edit.text, sight))

    async def _tried(
        self, request: web.Request, of: type[T], work: Callable[[T, Sight], Awaitable[dict[str, Any]]]
    ) -> web.Response:
        with self._questions.held(visitor_of(request).user):
            try:
                return _json(await work(await _body(request, of), await self._sight(request)))
            except (AnswerError, msgspec.MsgspecError) as error:
                return _error(400, error)

    async def _sight(self, request: web.Request) -> Sight:
        return await self._rights.sight(visitor_of(request).user, self._live.namespaces)


async def _body(request: web.Request, of: type[T]) -> T:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="415: send JSON\n")
    return msgspec.json.decode(await request.read(), type=of)


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


def _error(status: int, error: Exception) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode({"error": str(error)}), content_type="application/json")
