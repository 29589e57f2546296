"""An API server as far as sign-in needs one: whose tokens are whose, and who may see what."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import UnreachableError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.ui.rights.sight import (
    CLUSTER_WIDE,
    CONFIGURATION,
    IN_NAMESPACES,
)

ALL: Final = frozenset((resource, "") for resource in (*IN_NAMESPACES, *CLUSTER_WIDE)) | {
    (CONFIGURATION, "volcano-system")
}
OTHERS: Final = """
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: secret, namespace: others},
 spec: {minMember: 1, queue: vision}, status: {phase: Inqueue}}
---
{apiVersion: v1, kind: Pod,
 metadata: {name: secret-0, namespace: others, annotations: {scheduling.k8s.io/group-name: secret}},
 spec: {schedulerName: volcano, nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "1"}}}]},
 status: {phase: Running}}
"""
"""Work of a namespace that few may see, beside the objects of `cluster.OBJECTS`."""


def of_namespace(namespace: str) -> frozenset[tuple[str, str]]:
    return frozenset((resource, namespace) for resource in IN_NAMESPACES)


def token(name: str, exp: float | None = None) -> str:
    """As service accounts have them: three parts, the second with claims."""
    claims = {"sub": name, **({"exp": exp} if exp is not None else {})}
    return f"header.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.signature"


class Reviewer:
    """Answers reviews. `asked` has what it was asked about rights: (user, resource, namespace)."""

    def __init__(
        self, users: Mapping[str, str] | None = None, rights: Mapping[str, Collection[tuple[str, str]]] | None = None
    ) -> None:
        """`users`: token → name; `rights`: name → what the user may see, as (resource, namespace or "")."""
        self.users, self.rights = dict(users or {}), dict(rights or {})
        self.asked: list[tuple[str, str, str]] = []
        self.is_silent = False
        self.at_once = self.most_at_once = 0

    @property
    def client(self) -> KubernetesClient:
        return cast("KubernetesClient", self)

    async def post(self, path: ApiPath, body: dict[str, Any], *, within: float) -> bytes:
        assert within < 10, "users wait for the answer"
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        if self.is_silent:
            raise UnreachableError("POST", str(path), "refused")
        answer = self._token(body["spec"]) if path.plural == "tokenreviews" else self._access(body["spec"])
        return json.dumps({**body, "status": answer}).encode()

    def _token(self, spec: dict[str, Any]) -> dict[str, Any]:
        name = self.users.get(spec["token"])
        if name is None:
            return {"user": {}, "error": f"invalid bearer token {spec['token']}"}
        return {"authenticated": True, "user": {"username": name, "uid": f"uid-{name}", "groups": ["people"]}}

    def _access(self, spec: dict[str, Any]) -> dict[str, Any]:
        about = spec["resourceAttributes"]
        self.asked.append((spec["user"], about["resource"], about["namespace"]))
        return {"allowed": (about["resource"], about["namespace"]) in self.rights.get(spec["user"], ())}
