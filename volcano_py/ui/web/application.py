"""The page as an application of aiohttp."""

from __future__ import annotations

from aiohttp import web

from volcano_py.ui.web.api import MOST_BYTES, Api
from volcano_py.ui.web.door import Door, set_headers
from volcano_py.ui.web.files import Files


def application(api: Api, door: Door) -> web.Application:
    """Everything behind the door."""
    app = web.Application(middlewares=[door.middleware], client_max_size=MOST_BYTES)
    files = Files()
    app.add_routes([web.get("/", files.index), web.get("/static/{path:.+}", files.file), *api.routes()])
    app.on_response_prepare.append(set_headers)
    return app
