"""The page as an application of aiohttp."""

from __future__ import annotations

from aiohttp import web

from volcano_py.ui.web.api import MOST_BYTES, Api
from volcano_py.ui.web.door import set_headers
from volcano_py.ui.web.files import Files
from volcano_py.ui.web.visitor import Door


def application(api: Api, door: Door, files: Files) -> web.Application:
    """Everything behind the door."""
    app = web.Application(middlewares=[door.middleware], client_max_size=MOST_BYTES)
    app.add_routes([web.get("/", files.index), web.get("/static/{path:.+}", files.file), *api.routes(), *door.routes()])
    app.on_response_prepare.append(set_headers)
    return app
