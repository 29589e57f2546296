"""Who may do what, asked of the API server's authorizer."""

from __future__ import annotations

from typing import Any, Final

from e2e.harness.cluster import Cluster

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


async def may(cluster: Cluster, user: str, verb: str, resource: str, **attributes: Any) -> bool:
    """Whether the user may; `resource` is `group/resource`, or `group/resource/subresource`, `group` empty for core."""
    group, plural, *subresource = resource.split("/")
    asked = {"verb": verb, "group": group, "resource": plural, "subresource": "".join(subresource), **attributes}
    review = {"spec": {"user": user, "resourceAttributes": asked}}
    answer = await cluster.client.create(_REVIEWS, review)
    return bool(answer["status"]["allowed"])
