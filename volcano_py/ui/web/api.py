"""What the scripts of the page ask for. Everything is JSON; errors are `{"error": "…"}`."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from aiohttp import web

from volcano_py.ui.answers import AnswerError, Answers, Changes
from volcano_py.ui.live import Live

_RETRY_MILLISECONDS: Final = 1000
MOST_BYTES: Final = 1 << 20
"""Of a body: a configuration, or manifests to try."""


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A configuration to plan."""

    text: str


class Api:
    """The handlers."""

    def __init__(self, live: Live, answers: Answers) -> None:
        self._live, self._answers = live, answers

    def routes(self) -> list[web.RouteDef]:
        """All paths below /api."""
        return [
            web.get("/api/board", self.board),
            web.get("/api/updates", self.updates),
            web.get("/api/explain/{kind:queue|node}/{name}", self.explain),
            web.get("/api/explain/{kind:podgroup|job|pod}/{namespace}/{name}", self.explain),
            web.get("/api/pods/{namespace}/{name}", self.pods),
            web.post("/api/what-if", self.what_if),
            web.post("/api/plan", self.plan),
        ]

    async def board(self, _request: web.Request) -> web.Response:
        """All tables."""
        answer = web.Response(body=self._live.whole(), content_type="application/json")
        answer.enable_compression()
        return answer

    async def updates(self, request: web.Request) -> web.StreamResponse:
        """Changes as server-sent events, from board `after` (or `Last-Event-ID`) on. The event `again` says that the
        board is to be asked for again."""
        text = request.headers.get("Last-Event-ID", request.query.get("after", "0"))
        if not (text.isascii() and text.isdigit()):
            raise web.HTTPBadRequest(text=f"400: after is {text!r}, not the number of a board\n")
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        await stream.write(b"retry: %d\n\n" % _RETRY_MILLISECONDS)
        async for update in self._live.updates(int(text)):
            if update is None:
                await stream.write(b"event: again\ndata: {}\n\n")
                break
            await stream.write(b"id: %d\ndata: %b\n\n" % (update.number, update.data))
        return stream

    async def explain(self, request: web.Request) -> web.Response:
        """One workload, queue or node."""
        of = request.match_info
        name = f"{of['namespace']}/{of['name']}" if "namespace" in of else of["name"]
        try:
            return _json(await self._answers.explain(of["kind"], name))
        except AnswerError as error:
            return _error(404, error)

    async def pods(self, request: web.Request) -> web.Response:
        """The pods of one PodGroup."""
        of = request.match_info
        return _json(self._answers.pods(f"{of['namespace']}/{of['name']}"))

    async def what_if(self, request: web.Request) -> web.Response:
        """A trial of changes; the body is `Changes`."""
        try:
            return _json(await self._answers.try_changes(await _body(request, Changes)))
        except (AnswerError, msgspec.MsgspecError) as error:
            return _error(400, error)

    async def plan(self, request: web.Request) -> web.Response:
        """A plan for an edited configuration; the body is `Edit`."""
        try:
            edit = await _body(request, Edit)
            return _json(await self._answers.plan(edit.text))
        except (AnswerError, msgspec.MsgspecError) as error:
            return _error(400, error)


async def _body(request: web.Request, of: type[Any]) -> Any:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="415: send JSON\n")
    return msgspec.json.decode(await request.read(), type=of)


def _json(value: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


def _error(status: int, error: Exception) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode({"error": str(error)}), content_type="application/json")
