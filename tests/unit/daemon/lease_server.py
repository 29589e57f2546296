"""One Lease behind HTTP, served by a thread, so that it answers whatever the test's own loop does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LeaseServer:
    """`spec` is the Lease's, None while there is none; `logins` are the Authorization headers of all requests."""

    def __init__(self) -> None:
        self.spec: dict[str, Any] | None = None
        self.version = 1
        self.renewals = 0
        self.logins: list[str] = []
        self.accepted = ""
        """The one login that is accepted; any, while it is empty."""
        self.url = ""

    @property
    def holder(self) -> str:
        return "" if self.spec is None else str(self.spec["holderIdentity"])

    def answer(self, method: str, login: str, body: Any) -> tuple[int, Any]:
        self.logins.append(login)
        if self.accepted and login != self.accepted:
            return 401, {"kind": "Status", "code": 401, "reason": "Unauthorized"}
        if method == "POST":
            self.spec = body["spec"]
        elif self.spec is None:
            return 404, {"kind": "Status", "code": 404, "reason": "NotFound"}
        elif method == "PATCH":
            self.version += 1
            self.renewals += 1
            self.spec.update(body["spec"])
        metadata = {"name": "volcano", "uid": "1", "resourceVersion": str(self.version)}
        return 200, {"metadata": metadata, "spec": self.spec}


@contextmanager
def lease_server() -> Iterator[LeaseServer]:
    """Served inside the block."""
    lease = LeaseServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, answer = lease.answer(self.command, self.headers.get("Authorization", ""), body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815 - names of the base class

        def log_message(self, *_: object) -> None:
            """It is not read."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    lease.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
