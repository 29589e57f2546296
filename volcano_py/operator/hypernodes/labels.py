"""HyperNodes from labels of nodes.

A HyperNode is known by the path of values from the top: rack r1 of zone a and rack r1 of zone b are two. (Volcano goes
by the value alone, so that the two become one with two parents.)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import orjson

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import TOPOLOGY_API
from volcano_py.operator.hypernodes.sources import LABEL, SOURCE_LABEL, LabelSource

_LONGEST_TIER_NAME: Final = 253


class _Place(msgspec.Struct):
    """One HyperNode to be: the names of those below it, and whether nodes are in it but in none below."""

    children: set[str] = msgspec.field(default_factory=set)
    has_own_nodes: bool = False


def hyper_nodes_of(source: LabelSource, nodes: Iterable[Mapping[str, str]]) -> dict[str, JsonObject]:
    """Name → HyperNode. `nodes` are the labels of each; a node's path ends at the first label that it lacks."""
    labels = list(nodes)
    return {
        name: body for topology, keys in source.types.items() for name, body in _of_type(topology, keys, labels).items()
    }


def _of_type(topology: str, keys: tuple[str, ...], nodes: Iterable[Mapping[str, str]]) -> dict[str, JsonObject]:
    places: dict[tuple[str, ...], _Place] = {}
    for labels in nodes:
        path: tuple[str, ...] = ()
        for key in keys:
            value = labels.get(key)
            if value is None:
                break
            above, path = path, (*path, value)
            places.setdefault(path, _Place())
            if above:
                places[above].children.add(_name(topology, keys, path))
        if path:
            places[path].has_own_nodes = True
    return {_name(topology, keys, path): _body(topology, keys, path, place) for path, place in places.items()}


def _name(topology: str, keys: tuple[str, ...], path: tuple[str, ...]) -> str:
    digest = hashlib.sha256(orjson.dumps([topology, keys, path])).hexdigest()[:10]
    kind = re.sub(r"[^a-z0-9]+", "-", topology.lower()).strip("-") or "x"
    return f"hypernode-{kind}-tier{_tier(keys, path)}-{digest}"


def _tier(keys: tuple[str, ...], path: tuple[str, ...]) -> int:
    return len(keys) - len(path) + 1


def _body(topology: str, keys: tuple[str, ...], path: tuple[str, ...], place: _Place) -> JsonObject:
    members: list[dict[str, Any]] = [
        {"type": "HyperNode", "selector": {"exactMatch": {"name": child}}} for child in sorted(place.children)
    ]
    if place.has_own_nodes:
        selector: dict[str, Any] = {"matchLabels": dict(zip(keys, path, strict=False))}
        if len(path) < len(keys):
            selector["matchExpressions"] = [{"key": keys[len(path)], "operator": "DoesNotExist"}]
        members.append({"type": "Node", "selector": {"labelMatch": selector}})
    key = keys[len(path) - 1]
    return {
        "apiVersion": TOPOLOGY_API,
        "kind": "HyperNode",
        "metadata": {"name": _name(topology, keys, path), "labels": {SOURCE_LABEL: LABEL, key: path[-1]}},
        "spec": {"tier": _tier(keys, path), "tierName": key[:_LONGEST_TIER_NAME], "members": members},
    }
