"""The door of a page for one user: whoever has the token, which the address carries once and a cookie from then on."""

from __future__ import annotations

import hmac
import secrets
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from volcano_py.ui.rights.sight import User
from volcano_py.ui.web.visitor import Visitor, note

TOKEN: Final = "token"
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""Content Security Policy: nothing from elsewhere, no script or style inside of the page, no form that leads away."""
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_NO_TOKEN: Final = "401: open the page with the address that `volcano-py ui` has printed: it has the token in it.\n"
_WRONG_TOKEN: Final = (
    "403: this token is not, or no longer, that of this page: use the address that `volcano-py ui` has printed last.\n"
)
ELSEWHERE: Final = "403: another site has sent this request.\n"
_OWNER: Final = Visitor(User(""))
"""Whoever has started the page: it has read the cluster with that user's rights."""


class TokenDoor:
    """The token of one page. The cookie has the port in its name: cookies do not, and there may be several pages."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(32)
        self._cookie = f"volcano-py-ui-{port}"

    async def visitor(self, _request: web.Request) -> Visitor:
        """Whoever has come in is the owner."""
        return _OWNER

    def routes(self) -> list[web.RouteDef]:
        """None: the address is enough."""
        return []

    def address(self, own: str) -> str:
        """With the token."""
        return f"http://{own}/?{TOKEN}={self.token}"

    @property
    def middleware(self) -> Middleware:
        """Lets requests through that may pass."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            refused = self._refusal(request)
            if refused is not None:
                return refused
            note(request, _OWNER)
            return await handler(request)

        return guard

    def _refusal(self, request: web.Request) -> web.Response | None:
        """What is answered in place of the page; None for who may see it."""
        if is_foreign(request, f"{request.scheme}://{request.host}"):
            return refusal(403, ELSEWHERE)
        shown = request.query.get(TOKEN)
        if shown is not None:
            return self._come_in(request) if self._is_right(shown) else refusal(403, _WRONG_TOKEN)
        kept = request.cookies.get(self._cookie)
        if kept is None:
            return refusal(401, _NO_TOKEN)
        return None if self._is_right(kept) else refusal(403, _WRONG_TOKEN)

    def _come_in(self, request: web.Request) -> web.Response:
        """To the same address without the token, which is in the cookie from now on."""
        rest = {name: value for name, value in request.query.items() if name != TOKEN}
        answer = web.Response(status=303, headers={"Location": str(request.rel_url.with_query(rest))})
        answer.set_cookie(self._cookie, self.token, httponly=True, samesite="Lax", path="/")
        return answer

    def _is_right(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.token.encode())


async def set_headers(_request: web.Request, answer: web.StreamResponse) -> None:
    """Of every answer, refusals included (a signal of aiohttp)."""
    for name, value in _HEADERS.items():
        answer.headers.setdefault(name, value)
    answer.headers.popall("Server", None)


def is_foreign(request: web.Request, own: str) -> bool:
    """Whether a page of another origin than `own` has sent it. Browsers say so of every request that could change
    something."""
    return request.headers.get("Origin", own) != own


def refusal(status: int, text: str) -> web.Response:
    """An answer in place of the page."""
    return web.Response(status=status, text=text)
