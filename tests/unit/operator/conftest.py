"""For the operator's tests: virtual time, so that whatever waits is tested without waiting, and an API in memory."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import orjson
import pytest

from tests.support.jobs.job_cluster import JobCluster
from tests.support.virtual_time import pytest_asyncio_loop_factories
from volcano_py.api.effects import Event
from volcano_py.cluster.kubernetes.http.errors import api_error
from volcano_py.cluster.kubernetes.http.paths import ApiPath

__all__ = ["FakeApi", "pytest_asyncio_loop_factories"]


class FakeApi:
    """An API server in memory, as far as the controllers use one: versions, UIDs, preconditions, merge patches.

    `requests` is what was asked, as "VERB path". `refuse` lets the next requests fail, with one of the errors after the
    other. How soon a controller tries again is drawn at random: where a test looks at what holds between the attempts,
    it refuses by `refuse_all`, until it says `relent`.
    """

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.patches: list[tuple[str, dict[str, Any]]] = []
        self.latency = 0.0
        self.on_request: Callable[[str, str], None] = lambda verb, path: None
        self._refusals: list[tuple[str, str, Iterator[Exception]]] = []
        self._version = 0

    def put(self, path: str, obj: dict[str, Any]) -> dict[str, Any]:
        """Store an object as if another client had written it."""
        self._version += 1
        metadata = obj.setdefault("metadata", {})
        metadata.setdefault("name", path.rsplit("/", 1)[1])
        metadata.setdefault("uid", f"uid-{self._version}")
        metadata["resourceVersion"] = str(self._version)
        self.objects[path] = obj
        return obj

    def refuse(self, verb: str, part: str, *errors: Exception) -> None:
        self._refusals.append((verb, part, iter(errors)))

    def refuse_all(self, verb: str, part: str, error: Exception) -> None:
        self._refusals.append((verb, part, itertools.repeat(error)))

    def relent(self) -> None:
        """Refuse nothing any more."""
        self._refusals.clear()

    def count(self, verb: str, part: str = "") -> int:
        return sum(1 for request in self.requests if request.startswith(verb) and part in request)

    async def get(self, at: ApiPath, params: Mapping[str, str | int] | None = None) -> bytes:
        path = str(at)
        await self._arrived("GET", path)
        if path.endswith("s") and path not in self.objects:
            items = [obj for key, obj in self.objects.items() if key.rsplit("/", 1)[0] == path]
            return orjson.dumps({"metadata": {"resourceVersion": str(self._version)}, "items": items})
        return orjson.dumps(self._existing("GET", path))

    async def post(self, at: ApiPath, body: Any) -> bytes:
        path = str(at)
        await self._arrived("POST", path)
        obj = orjson.loads(body if isinstance(body, bytes) else orjson.dumps(body))
        where = f"{path}/{obj['metadata']['name']}"
        if where in self.objects:
            raise api_error("POST", path, 409, b'{"reason": "AlreadyExists"}')
        return orjson.dumps(self.put(where, obj))

    async def patch(self, at: ApiPath, body: Any) -> bytes:
        path = str(at)
        await self._arrived("PATCH", path)
        change = orjson.loads(body if isinstance(body, bytes) else orjson.dumps(body))
        self.patches.append((path, change))
        where = path.removesuffix("/status")
        obj = self._existing("PATCH", where)
        metadata = change.get("metadata", {})
        if metadata.get("resourceVersion", obj["metadata"]["resourceVersion"]) != obj["metadata"]["resourceVersion"]:
            raise api_error("PATCH", path, 409, b'{"reason": "Conflict"}')
        if metadata.get("uid", obj["metadata"]["uid"]) != obj["metadata"]["uid"]:
            cause = {"reason": "Invalid", "details": {"causes": [{"field": "metadata.uid"}]}}
            raise api_error("PATCH", path, 422, orjson.dumps(cause))
        merged = merge(obj, change)
        return orjson.dumps(obj if merged == obj else self.put(where, merged))

    async def delete(self, at: ApiPath, body: Any = None) -> bytes:
        path = str(at)
        await self._arrived("DELETE", path)
        obj = self._existing("DELETE", path)
        if body and body["preconditions"]["uid"] != obj["metadata"]["uid"]:
            raise api_error("DELETE", path, 409, b'{"reason": "Conflict"}')
        return orjson.dumps(self.objects.pop(path))

    async def _arrived(self, verb: str, path: str) -> None:
        self.requests.append(f"{verb} {path}")
        if self.latency:
            await asyncio.sleep(self.latency)
        self.on_request(verb, path)
        for its_verb, part, errors in self._refusals:
            if its_verb == verb and part in path and (error := next(errors, None)) is not None:
                try:
                    raise error
                finally:
                    del error  # or this frame would be in a knot with it

    def _existing(self, verb: str, path: str) -> dict[str, Any]:
        if path not in self.objects:
            raise api_error(verb, path, 404, b'{"reason": "NotFound"}')
        return self.objects[path]


def merge(obj: Any, change: Any) -> Any:
    """RFC 7386."""
    if not isinstance(change, dict):
        return change
    merged = dict(obj) if isinstance(obj, dict) else {}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
async def cluster(api: FakeApi) -> AsyncIterator[JobCluster]:
    """The job controller at work; modules about other controllers have one of their own."""
    cluster = JobCluster(api)
    cluster.start()
    yield cluster
    await cluster.stop()


@pytest.fixture
def events() -> list[Event]:
    return []
