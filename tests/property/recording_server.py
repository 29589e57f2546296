"""An API server on a raw socket: h11, a parser that the daemon does not use, says which requests have come."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import Any, Final

import h11
import orjson

from tests.unit.operator.conftest import FakeApi
from volcano_py.cluster.kubernetes.http.answers import Answer
from volcano_py.cluster.kubernetes.http.errors import ApiError, InvalidRequestError, api_error
from volcano_py.cluster.kubernetes.http.transport import Transport

Seen = tuple[str, str]
"""Method and target of a request."""

_LABEL: Final = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_PATH: Final = re.compile(
    rf"/(?:api/v1|apis/(?P<group>[a-z0-9.]+)/{_LABEL})(?:/namespaces/(?P<namespace>{_LABEL}))?"
    r"(?:/(?P<plural>[a-z]+)(?:/(?P<name>[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)(?:/(?P<subresource>[a-z]+))?)?)?"
)
_QUERY: Final = re.compile(r"(?:(?:labelSelector|fieldSelector|limit)=[A-Za-z0-9%._~-]*&?)*")


class NotingTransport(Transport):
    """Notes what the client means to send, unless it is refused before it is sent."""

    intended: Counter[Seen]

    async def send(self, verb: str, path: Any, *args: Any, **options: Any) -> Answer:
        try:
            answer = await super().send(verb, path, *args, **options)
        except InvalidRequestError:
            raise
        except BaseException:
            self.intended[verb, str(path)] += 1
            raise
        self.intended[verb, str(path)] += 1
        return answer


class RecordingServer:
    """Keeps what h11 has read on all connections, and answers from objects in memory."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.seen: Counter[Seen] = Counter()
        self.targets: list[Seen] = []
        self.broken: list[str] = []
        """What was no request."""
        self.binding_status = 201
        self._server: asyncio.Server | None = None

    def reset(self) -> None:
        """Begin another example, on the connections there are."""
        self.api, self.seen, self.targets, self.broken = FakeApi(), Counter(), [], []

    async def start(self) -> str:
        """Its address."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Take no more connections."""
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER)
        try:
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    connection.receive_data(await reader.read(65536))
                elif isinstance(event, h11.Request):
                    request, body = event, b""
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    writer.write(await self._answer(connection, request, body))
                    connection.start_next_cycle()
                else:
                    return
        except h11.RemoteProtocolError as error:
            self.broken.append(str(error))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, connection: h11.Connection, request: h11.Request, body: bytes) -> bytes:
        verb, target = request.method.decode(), request.target.decode()
        path = target.partition("?")[0]
        self.seen[verb, path] += 1
        self.targets.append((verb, target))
        status, content = 200, b""
        try:
            content = await self._carry_out(verb, path, orjson.loads(body) if body else None)
        except ApiError as error:
            status, content = error.status, orjson.dumps({"message": error.message, "details": dict(error.details)})
        head = h11.Response(status_code=status, headers=[("Content-Length", str(len(content)))])
        parts = connection.send(head), connection.send(h11.Data(data=content)), connection.send(h11.EndOfMessage())
        return b"".join(part or b"" for part in parts)

    async def _carry_out(self, verb: str, path: Any, body: Any) -> bytes:
        match verb:
            case "GET":
                return await self.api.get(path)
            case "POST" if path.endswith("/binding"):
                if self.binding_status != 201:
                    raise api_error(verb, path, self.binding_status, b"")
                return b"{}"
            case "POST":
                return await self.api.post(path, body)
            case "PATCH":
                return await self.api.patch(path, body)
            case _:
                return await self.api.delete(path, body)


Kinds = frozenset[tuple[str, str, str]]
"""Method, plural and subresource of the requests that may be sent."""


def judge(
    server: RecordingServer, intended: Counter[Seen], kinds: Kinds, namespace: str, names: tuple[str, ...]
) -> None:
    """What the server has received is what the client meant to send, and that is what it may mean to send.

    `names`: the texts that names may have come from.
    """
    assert server.broken == []
    assert server.seen == intended
    for verb, target in server.targets:
        path, _, query = target.partition("?")
        found = _PATH.fullmatch(path)
        assert found is not None, target
        assert _QUERY.fullmatch(query) is not None, target
        if found["plural"] is None:  # what resources there are
            assert (verb, found["namespace"], query) == ("GET", None, "")
            continue
        assert (verb, found["plural"], found["subresource"] or "") in kinds, (verb, target)
        assert found["namespace"] in (namespace, None), target
        assert (found["namespace"] is None) == (found["plural"] in _CLUSTER_SCOPED), target
        assert found["name"] is None or any(text and text in found["name"] for text in names), target


_CLUSTER_SCOPED: Final = frozenset({"queues", "persistentvolumes"})
