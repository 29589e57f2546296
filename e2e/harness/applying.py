"""Server-side apply as `kubectl apply --server-side --force-conflicts` does it, without a process for each call."""

from __future__ import annotations

from typing import Any

from volcano_py.local.client import APIClient

_MANAGER = "kubectl"


class Applier:
    """Applies objects of any kind that the API server serves."""

    def __init__(self, client: APIClient) -> None:
        self._client = client
        self._served: dict[tuple[str, str], tuple[str, bool]] = {}
        """By apiVersion and kind: the plural, and whether objects have a namespace."""

    async def apply(self, item: dict[str, Any], namespace: str = "") -> None:
        """Apply one object; `namespace` if it names none. Fields that the API server does not know are refused."""
        plural, namespaced = await self._resource(item["apiVersion"], item["kind"])
        metadata = item["metadata"]
        where = f"/namespaces/{metadata.get('namespace') or namespace or 'default'}" if namespaced else ""
        path = f"{_group(item['apiVersion'])}{where}/{plural}/{metadata['name']}"
        await self._client.apply(path, item, manager=_MANAGER)

    async def _resource(self, api_version: str, kind: str) -> tuple[str, bool]:
        if (api_version, kind) not in self._served:
            for each in (await self._client.get(_group(api_version)))["resources"]:
                if "/" not in each["name"]:
                    self._served[api_version, each["kind"]] = each["name"], each["namespaced"]
        return self._served[api_version, kind]


def _group(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
