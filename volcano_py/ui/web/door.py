"""Who may come in: whoever has the token, which the address carries once and a cookie from then on."""

from __future__ import annotations

import hmac
import secrets
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

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
"""Content Security Policy: nothing from elsewhere, and no script or style inside of the page."""
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
_ELSEWHERE: Final = "403: another site has sent this request.\n"


class Door:
    """The token of one page. The cookie has the port in its name: cookies do not, and there may be several pages."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(32)
        self._cookie = f"volcano-py-ui-{port}"

    @property
    def middleware(self) -> Middleware:
        """Lets requests through that may pass, and sets the headers of every answer."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            refused = self._refusal(request)
            return refused if refused is not None else await handler(request)

        return guard

    def _refusal(self, request: web.Request) -> web.Response | None:
        """What is answered in place of the page; None for who may see it."""
        if request.headers.get("Origin", _own(request)) != _own(request):
            return _text(403, _ELSEWHERE)
        shown = request.query.get(TOKEN)
        if shown is not None:
            return self._come_in(request) if self._is_right(shown) else _text(403, _WRONG_TOKEN)
        kept = request.cookies.get(self._cookie)
        if kept is None:
            return _text(401, _NO_TOKEN)
        return None if self._is_right(kept) else _text(403, _WRONG_TOKEN)

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
    answer.headers.update(_HEADERS)
    answer.headers.popall("Server", None)


def _own(request: web.Request) -> str:
    return f"{request.scheme}://{request.host}"


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text)
