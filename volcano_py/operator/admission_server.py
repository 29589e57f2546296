"""The HTTPS server that the API server asks before it stores queues and work.

kopf evaluates the reviews and comes and goes: it is started again when its watch has stalled, or a kind has come. The
server stays; while kopf is away a review waits for a few seconds, which is rarely more than a fraction of one.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import kopf
import structlog
from aiohttp import web

from volcano_py.observe.listen import ListenAddress, chosen, open_socket

log = structlog.get_logger(__name__)

# Seconds. The webhook configurations let the API server wait for ten.
_ANSWER_WITHIN: Final = 8.0
# An object is 1.5 MiB at most in etcd, 3 MiB in a request; a review may hold two of them.
_LARGEST_REVIEW: Final = 8 * 2**20  # bytes
# Reviews that are read and judged at a time; more wait in line, so that nobody can fill the memory.
_PLACES: Final = 64
_KEEP_ALIVE: Final = 120.0  # seconds; longer than the API server's idle connections live (90 s)
_SHUTDOWN: Final = 2.0  # seconds


Resource = tuple[str, str, str]
"""API group, version and plural of a kind."""


class NotServingError(RuntimeError):
    """kopf is away and did not come back in time."""


class AdmissionServer:
    """Listens at `address` with `tls` while `run` runs; to be given to kopf as its webhook server.

    `webhooks` are the kinds by the last part of the URL. `renew` is called with one of them when kopf fails on a review
    as if it did not know the kind, and tells whether kopf is being started again because the kind has come meanwhile.
    """

    def __init__(
        self,
        address: ListenAddress,
        tls: ssl.SSLContext,
        webhooks: Mapping[str, Resource],
        renew: Callable[[Resource], Awaitable[bool]],
    ) -> None:
        self._address, self._tls, self._webhooks, self._renew = address, tls, webhooks, renew
        self._evaluate: kopf.WebhookFn | None = None
        self._attached = asyncio.Event()
        self._places = asyncio.Semaphore(_PLACES)
        self.listening: ListenAddress | None = None
        """Where it listens really; None while it does not."""

    async def __call__(self, evaluate: kopf.WebhookFn) -> AsyncIterator[kopf.WebhookClientConfig]:
        """kopf's protocol: kopf hands over the function that evaluates reviews, for as long as it runs."""
        self._evaluate = evaluate
        self._attached.set()
        try:
            # kopf manages no webhook configurations here, so that nobody reads this.
            yield kopf.WebhookClientConfig(url=f"https://{self._address}")
            await asyncio.Event().wait()
        finally:
            if self._evaluate is evaluate:
                self._evaluate = None
                self._attached.clear()

    async def run(self) -> None:
        """Serve until cancelled.

        Raises:
            ListenError: the address cannot be had.
        """
        app = web.Application(client_max_size=_LARGEST_REVIEW)
        app.router.add_post("/{webhook}", self._review)
        runner = web.AppRunner(
            app, handle_signals=False, access_log=None, keepalive_timeout=_KEEP_ALIVE, shutdown_timeout=_SHUTDOWN
        )
        await runner.setup()
        try:
            sock = await open_socket(self._address)
            await web.SockSite(runner, sock, ssl_context=self._tls).start()
            self.listening = chosen(sock)
            log.info("answering admission webhooks", address=str(self.listening))
            await asyncio.Event().wait()
        finally:
            self.listening = None
            await runner.cleanup()

    def problem(self) -> str | None:
        """Why reviews cannot be answered now; None when they can."""
        if self.listening is None:
            return "admission webhooks are not served yet"
        return None if self._attached.is_set() else "kopf is being started; reviews wait for it"

    async def _review(self, request: web.Request) -> web.Response:
        webhook = request.match_info["webhook"]
        if webhook not in self._webhooks:
            return web.json_response({"error": f"there are {', '.join(sorted(self._webhooks))}"}, status=404)
        try:
            review = json.loads(await request.text())
            _check(review, self._webhooks[webhook])
        except ValueError as error:
            return web.json_response({"error": f"the review cannot be read: {error}"}, status=400)
        try:
            async with asyncio.timeout(_ANSWER_WITHIN), self._places:
                answer = await self._answer(review, webhook)
        except (TimeoutError, NotServingError) as error:
            text = str(error) or f"not judged within {_ANSWER_WITHIN:g} s; try again"
            return web.json_response({"error": text}, status=503)
        except Exception as error:
            log.exception("a review could not be answered")
            return web.json_response({"error": f"{type(error).__name__}: {error}"}, status=500)
        return web.json_response(answer)

    async def _answer(self, review: dict[str, Any], webhook: str) -> Any:
        _forget_uids(review["request"])
        evaluate = await self._evaluator()
        try:
            return await evaluate(review, webhook=webhook)  # type: ignore[arg-type]
        except Exception:
            # Refusals come as answers. An exception is kopf's own: it knows the kinds there were when it started.
            # Anybody who reaches the port can ask, so kopf is started again only for a kind that there is now.
            if not await self._renew(self._webhooks[webhook]):
                raise
        async with asyncio.timeout(_ANSWER_WITHIN / 2):
            while self._evaluate is evaluate:  # noqa: ASYNC110 - kopf tells nobody that it goes
                await asyncio.sleep(0.02)
        return await (await self._evaluator())(review, webhook=webhook)  # type: ignore[arg-type]

    async def _evaluator(self) -> kopf.WebhookFn:
        await self._attached.wait()
        if self._evaluate is None:
            raise NotServingError("kopf is being started; try again")
        return self._evaluate


def _check(review: Any, expected: Resource) -> None:
    """
    Raises:
        ValueError: it is no review of an object of this kind.
    """
    request = review.get("request") if isinstance(review, dict) else None
    if not isinstance(request, dict) or not isinstance(resource := request.get("resource"), dict):
        raise ValueError("it is no AdmissionReview")
    if tuple(resource.get(key) for key in ("group", "version", "resource")) != expected:
        raise ValueError(f"it is not about {expected[2]}.{expected[1]}.{expected[0]}")
    for key in ("object", "oldObject"):
        if not isinstance(request.get(key) or {}, dict):
            raise ValueError(f"its {key} is no object")


def _forget_uids(request: dict[str, Any]) -> None:
    """kopf keeps a memory for every UID it meets, and would for those of objects that it does not watch, for ever."""
    for key in ("object", "oldObject"):
        metadata = (request.get(key) or {}).get("metadata")
        if isinstance(metadata, dict):
            metadata.pop("uid", None)
