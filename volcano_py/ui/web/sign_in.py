"""The door of a page that many users share: they sign in with a token of Kubernetes and get a session."""

from __future__ import annotations

import asyncio
import html
from typing import Final

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from volcano_py.ui.rights.tokens import Tokens, UncheckedError
from volcano_py.ui.web.attempts import Attempts
from volcano_py.ui.web.door import ELSEWHERE, POLICY, is_foreign, refusal
from volcano_py.ui.web.files import Files
from volcano_py.ui.web.sessions import Sessions
from volcano_py.ui.web.visitor import Visitor, note

log = structlog.get_logger(__name__)

SIGN_IN: Final = "/sign-in"
SIGN_OUT: Final = "/sign-out"
HEALTH: Final = "/healthz"
COOKIE: Final = "__Host-volcano-py-ui"
"""The prefix has browsers take it only over TLS, from this host, for all of its paths."""
_AT_ONCE: Final = 8
"""Tokens that are checked at once; others wait."""
_OPEN: Final = (SIGN_IN, HEALTH)
_MESSAGE: Final = "<!-- message -->"

_WRONG: Final = "The cluster does not accept this token. It may have expired, or be that of another cluster."
_UNCHECKED: Final = "The cluster has not answered whose token this is. Try again in a moment."
_NO_TOKEN: Final = "Paste a token."
_PLAIN: Final = "403: signing in takes https: the proxy has been reached by plain http.\n"


class SignInDoor:
    """Sessions for tokens. Scripts and styles of the page are for everyone; they are the same everywhere."""

    def __init__(self, tokens: Tokens, files: Files, *, behind_proxy: bool) -> None:
        """`behind_proxy`: a proxy terminates TLS, and names the client by `X-Forwarded-For` and `X-Forwarded-Proto`."""
        self._tokens, self._files, self._behind_proxy = tokens, files, behind_proxy
        self._sessions, self._attempts = Sessions(tokens.holder), Attempts()
        self._checking = asyncio.Semaphore(_AT_ONCE)

    def address(self, own: str) -> str:
        """Where it is served. Behind a proxy it has another name, which is not known here."""
        return f"{'http' if self._behind_proxy else 'https'}://{own}/"

    async def visitor(self, request: web.Request) -> Visitor | None:
        """Whose session it is, if it lasts."""
        return await self._sessions.visitor(request.cookies.get(COOKIE, ""))

    def routes(self) -> list[web.RouteDef]:
        """To sign in and out, and for probes."""
        return [
            web.get(SIGN_IN, self._form),
            web.post(SIGN_IN, self._sign_in),
            web.post(SIGN_OUT, self._sign_out),
            web.get(HEALTH, self._healthy),
        ]

    @property
    def middleware(self) -> Middleware:
        """Lets requests through that have a session, and leads others to the form."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if is_foreign(request, f"https://{request.host}"):
                return refusal(403, ELSEWHERE)
            if request.path in _OPEN or (request.path.startswith("/static/") and request.method == "GET"):
                return await handler(request)
            visitor = await self.visitor(request)
            if visitor is not None:
                note(request, visitor)
                return await handler(request)
            if request.path == "/" and request.method == "GET":
                return web.Response(status=303, headers={"Location": SIGN_IN})
            return refusal(401, "401: sign in first: the session is over, or there was none.\n")

        return guard

    async def _form(self, _request: web.Request) -> web.Response:
        return self._page(200, "")

    async def _sign_in(self, request: web.Request) -> web.Response:
        if self._behind_proxy and request.headers.get("X-Forwarded-Proto", "https") != "https":
            return refusal(403, _PLAIN)
        if request.content_type != "application/x-www-form-urlencoded":
            raise web.HTTPUnsupportedMediaType(text="415: send the form\n")
        address = self._address_of(request)
        if seconds := self._attempts.wait(address):
            answer = self._page(429, f"Too many tokens were refused. Try again in {seconds} seconds.")
            answer.headers["Retry-After"] = str(seconds)
            return answer
        token = (await request.post()).get("token")
        if not isinstance(token, str) or not token.strip():
            return self._page(400, _NO_TOKEN)
        self._attempts.failed(address)  # so that many at once do not get past the bound
        try:
            async with self._checking:
                holder = await self._tokens.holder(token.strip())
        except UncheckedError as error:
            self._attempts.forgive(address)
            log.warning("token not checked", error=str(error))
            return self._page(503, _UNCHECKED)
        if holder is None:
            log.info("token refused", address=address)
            return self._page(403, _WRONG)
        self._attempts.forgive(address)
        text, seconds = self._sessions.begin(holder, token.strip())
        asyncio.get_running_loop().call_later(seconds + 1, self._sessions.forget)
        log.info("signed in", user=holder.user.name, address=address, seconds=seconds)
        answer = web.Response(status=303, headers={"Location": "/"})
        answer.set_cookie(COOKIE, text, max_age=seconds, secure=True, httponly=True, samesite="Strict", path="/")
        return answer

    async def _sign_out(self, request: web.Request) -> web.Response:
        self._sessions.end(request.cookies.get(COOKIE, ""))
        answer = web.Response(status=204)
        answer.del_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="Strict")
        return answer

    async def _healthy(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    def _page(self, status: int, message: str) -> web.Response:
        said = f'<p class="problem" role="alert">{html.escape(message)}</p>' if message else ""
        text = self._files.text("sign-in.html").replace(_MESSAGE, said)
        headers = {
            "Content-Security-Policy": POLICY.replace("form-action 'none'", "form-action 'self'"),
            # With no-referrer, browsers do not say either that the form is ours (`Origin: null`).
            "Referrer-Policy": "same-origin",
        }
        return web.Response(status=status, text=text, content_type="text/html", headers=headers)

    def _address_of(self, request: web.Request) -> str:
        """Of the client; behind a proxy, as the proxy has said it last."""
        forwarded = request.headers.get("X-Forwarded-For", "") if self._behind_proxy else ""
        return forwarded.rpartition(",")[2].strip()[:64] or request.remote or ""
