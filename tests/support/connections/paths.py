"""Paths of the API as they are read most easily, and what a server sees of them."""

from __future__ import annotations

from volcano_py.cluster.kubernetes.http.paths import ApiPath


def at(text: str) -> ApiPath:
    """The path that is written so: `/apis/apps/v1/namespaces/ns/replicasets/web/status`."""
    _, root, *parts = text.split("/")
    group_version = "/".join(parts[:2]) if root == "apis" else parts[0]
    rest = parts[2:] if root == "apis" else parts[1:]
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        _, namespace, *rest = rest
    plural, name, subresource = (*rest, "", "", "")[:3]
    path = ApiPath(group_version, plural, namespace, name, subresource)
    assert str(path) == text
    return path
