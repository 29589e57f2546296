"""The objects of one list and their changes, for `--watch`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import orjson

from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import GoneError, UnreachableError
from volcano_py.cluster.kubernetes.http.paths import ApiPath, Params

JsonObject = dict[str, Any]

_WATCH_SECONDS: Final = 300
"""As client-go's shortest: the server ends the watch after it, and the next one begins where it ended."""
_PAUSE: Final = 0.5
"""Seconds until the next watch: a server may end every one of them at once."""


@dataclass(frozen=True, slots=True)
class Change:
    """An object as it is now, or was last."""

    object: JsonObject
    deleted: bool = False


async def listed(client: KubernetesClient, path: ApiPath, params: Params | None = None) -> list[JsonObject]:
    """All objects of the list as the server has them, without what only it needs."""
    return (await _listed(client, path, params))[0]


async def changes(
    client: KubernetesClient, path: ApiPath, params: Params | None = None
) -> AsyncGenerator[list[Change], None]:
    """First all objects together, then each change as it comes, without end.

    Raises:
        RequestError: the server refuses, or cannot be reached any more.
    """
    known: dict[str, JsonObject] | None = None
    while True:
        objects, version = await _listed(client, path, params)
        now = {_uid(each): each for each in objects}
        if known is None:
            yield [Change(each) for each in objects]
        else:
            missed = [Change(each, deleted=True) for uid, each in known.items() if uid not in now]
            missed += [Change(each) for uid, each in now.items() if _version(known.get(uid)) != _version(each)]
            if missed:
                yield missed
        known = now
        async for change in _watched(client, path, {**(params or {}), "resourceVersion": version}):
            if change.deleted:
                known.pop(_uid(change.object), None)
            else:
                known[_uid(change.object)] = change.object
            yield [change]


async def with_pauses(news: AsyncGenerator[list[Change], None], seconds: float) -> AsyncGenerator[list[Change], None]:
    """The changes, and an empty list whenever none has come for this many seconds."""
    async with aclosing(news):
        coming = asyncio.ensure_future(anext(news))
        try:
            while True:
                await asyncio.wait({coming}, timeout=seconds)
                if not coming.done():
                    yield []
                    continue
                yield coming.result()
                coming = asyncio.ensure_future(anext(news))
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)


async def _listed(client: KubernetesClient, path: ApiPath, params: Params | None) -> tuple[list[JsonObject], str]:
    objects: list[JsonObject] = []
    version = ""
    async for page in client.pages(path, params):
        objects += [tidy(orjson.loads(bytes(item))) for item in page.items or ()]
        version = page.metadata.resource_version
    return objects, version


async def _watched(client: KubernetesClient, path: ApiPath, params: Params) -> AsyncGenerator[Change, None]:
    """Watch after watch, until the server has forgotten where the last one ended."""
    query = {**params, "allowWatchBookmarks": "true", "timeoutSeconds": _WATCH_SECONDS}
    while True:
        try:
            async with client.watch(path, query) as stream:
                async for line in _until_broken(stream):
                    event = orjson.loads(line)
                    kind, found = event.get("type"), event.get("object", {})
                    if kind == "ERROR":
                        return
                    query["resourceVersion"] = _version(found)
                    if kind != "BOOKMARK":
                        yield Change(tidy(found), deleted=kind == "DELETED")
        except GoneError:
            return
        finally:
            await asyncio.sleep(_PAUSE)


async def _until_broken(stream: Any) -> AsyncGenerator[bytes, None]:
    """A connection that breaks ends a watch like its time does; that the server is gone shows at the next one."""
    try:
        async for line in stream:
            yield line
    except UnreachableError:
        return


def tidy(found: JsonObject) -> JsonObject:
    """The object without `managedFields`, which are longer than the rest and rarely read."""
    found.get("metadata", {}).pop("managedFields", None)
    return found


def _uid(found: JsonObject) -> str:
    return str(found.get("metadata", {}).get("uid", ""))


def _version(found: JsonObject | None) -> str:
    return str((found or {}).get("metadata", {}).get("resourceVersion", ""))
