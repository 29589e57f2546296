"""An HTTP extender of kube-scheduler that writes down which nodes passed its filters, and lets nothing be bound.

Asked last, it sees the outcome of all of kube-scheduler's own filters. It refuses all nodes, unless they are to be
scored: then it lets them pass, takes binding upon itself, and refuses that.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from aiohttp import web

from volcano_py.local.processes.ports import LOOPBACK

FILTER, BIND = "filter", "bind"
"""Verbs: the last part of the URL that is asked."""

_REFUSAL = "the differential test binds nothing"
_LARGEST_REQUEST = 16 * 1024 * 1024  # bytes; a pod and the names of all nodes


class RecordingExtender:
    """An async context manager; `passed` is what kube-scheduler's filters let through, by the pod's UID."""

    def __init__(self, *, scoring: bool) -> None:
        self._scoring = scoring
        self.passed: dict[str, frozenset[str]] = {}
        self.url = ""
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=_LARGEST_REQUEST)
        application.router.add_post(f"/{FILTER}", self._filter)
        application.router.add_post(f"/{BIND}", self._bind)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK, 0)
        await site.start()
        self.url = f"http://{LOOPBACK}:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _filter(self, request: web.Request) -> web.Response:
        # Types of k8s.io/kube-scheduler/extender/v1, whose fields have Go's names.
        question: dict[str, Any] = await request.json()
        names = question.get("NodeNames") or []
        self.passed[question["Pod"]["metadata"]["uid"]] = frozenset(names)
        if self._scoring:
            return web.json_response({"NodeNames": names})
        return web.json_response({"NodeNames": [], "FailedNodes": dict.fromkeys(names, _REFUSAL)})

    async def _bind(self, _request: web.Request) -> web.Response:
        return web.json_response({"Error": _REFUSAL})
