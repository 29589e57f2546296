"""An API server that remembers which requests have come, and what of it was meant."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

import h11
import orjson

from tests.property.parsing_server import ParsingServer
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


class RecordingServer(ParsingServer):
    """Keeps the requests of all connections, and answers from objects in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.api = FakeApi()
        self.seen: Counter[Seen] = Counter()
        self.targets: list[Seen] = []
        self.binding_status = 201

    def reset(self) -> None:
        """Begin another example, on the connections there are."""
        self.api, self.seen, self.targets, self.broken = FakeApi(), Counter(), [], []

    async def handle(self, request: h11.Request, body: bytes) -> tuple[int, bytes]:
        """Carry it out."""
        verb, target = request.method.decode(), request.target.decode()
        path = target.partition("?")[0]
        self.seen[verb, path] += 1
        self.targets.append((verb, target))
        try:
            return 200, await self._carry_out(verb, path, orjson.loads(body) if body else None)
        except ApiError as error:
            return error.status, orjson.dumps({"message": error.message, "details": dict(error.details)})

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
