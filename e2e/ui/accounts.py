"""Users with few rights: service accounts with roles of their own, and their tokens."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from e2e.harness.cluster import Cluster
from volcano_py.local.controlplane import service_account_token

RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

Rule = dict[str, list[str]]


def reading(**resources: str) -> list[Rule]:
    """Rules to list, watch and get; each argument is a plural and its API group ("" is the core one)."""
    return [
        {"apiGroups": [group], "resources": [plural], "verbs": ["get", "list", "watch"]}
        for plural, group in resources.items()
    ]


OF_A_TEAM: Final = reading(pods="", podgroups="scheduling.volcano.sh")
OF_EVERYTHING: Final = reading(
    pods="",
    events="",
    nodes="",
    configmaps="",
    podgroups="scheduling.volcano.sh",
    queues="scheduling.volcano.sh",
    jobs="batch.volcano.sh",
    hypernodes="topology.volcano.sh",
)


@contextlib.asynccontextmanager
async def account(
    cluster: Cluster, namespace: str, name: str, rules: Sequence[Rule] = (), *, everywhere: bool = False
) -> AsyncIterator[str]:
    """The token of a service account that may do what the rules say: in its namespace, or everywhere."""
    client, kind = cluster.client, "ClusterRole" if everywhere else "Role"
    roles = f"{RBAC}/{kind.lower()}s" if everywhere else f"{RBAC}/namespaces/{namespace}/roles"
    bindings = roles.replace("roles", "rolebindings")
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await client.create(accounts, {"metadata": {"name": name}})
    if rules:
        await client.create(roles, {"metadata": {"name": name}, "rules": list(rules)})
        binding: dict[str, Any] = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        }
        await client.create(bindings, binding)

    async def allowed() -> None:
        for rule in rules:
            attributes = {
                "verb": rule["verbs"][0],
                "group": rule["apiGroups"][0],
                "resource": rule["resources"][0],
                "namespace": "" if everywhere else namespace,
            }
            user = f"system:serviceaccount:{namespace}:{name}"
            body = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {"user": user, "resourceAttributes": attributes},
            }
            assert (await client.create(REVIEWS, body))["status"]["allowed"], attributes

    try:
        await cluster.eventually(f"{name} has its rights", allowed)
        yield await service_account_token(client, namespace, name)
    finally:
        if rules:
            await cluster.delete(f"{bindings}/{name}")
            await cluster.delete(f"{roles}/{name}")
        await cluster.delete(f"{accounts}/{name}")
