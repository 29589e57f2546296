"""The files of the page, read once: pages, scripts and styles of our own, and libraries as their authors ship them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aiohttp import web

STATIC: Final = Path(__file__).parents[1] / "static"
_TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}


def read() -> dict[str, tuple[bytes, str]]:
    """Path below `static/` → content and media type."""
    return {
        path.relative_to(STATIC).as_posix(): (path.read_bytes(), _TYPES[path.suffix])
        for path in sorted(STATIC.rglob("*"))
        if path.suffix in _TYPES
    }


class Files:
    """Serves `index.html` at / and everything else below /static/."""

    def __init__(self) -> None:
        self._files = read()

    def text(self, path: str) -> str:
        """The content of a file of ours."""
        return self._files[path][0].decode()

    async def index(self, _request: web.Request) -> web.Response:
        return self._answer("index.html")

    async def file(self, request: web.Request) -> web.Response:
        return self._answer(request.match_info["path"])

    def _answer(self, path: str) -> web.Response:
        if path not in self._files:
            raise web.HTTPNotFound(text=f"404: there is no file {path}\n")
        content, media_type = self._files[path]
        answer = web.Response(body=content, content_type=media_type, charset="utf-8")
        answer.enable_compression()
        return answer
