"""What a CustomResourceDefinition has to say of the fields of its objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Node = dict[str, Any]
"""A part of a manifest, or of a schema."""
Find = Callable[[str, str], Node]
"""The shipped object of this kind and name."""


def version(definition: Node) -> Node:
    """The one version that is served."""
    (only,) = definition["spec"]["versions"]
    assert isinstance(only, dict)
    return only


def schema(definition: Node) -> Node:
    """Of its objects as a whole."""
    root: Node = version(definition)["schema"]["openAPIV3Schema"]
    return root


def nodes(node: Node, path: str = "", *, without: str = "") -> Iterator[tuple[str, Node]]:
    """Every node below this one with its path; the API server's own metadata is left out, and what is in `without`."""
    for name, child in node.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        if here != "metadata":
            yield here, child
            if here != without:
                yield from nodes(child, here, without=without)
    for key, suffix in (("items", "[]"), ("additionalProperties", "{}")):
        if key in node:
            yield path + suffix, node[key]
            yield from nodes(node[key], path + suffix, without=without)


def rules_of(node: Node) -> list[dict[str, str]]:
    """The CEL rules of one node."""
    rules: list[dict[str, str]] = node.get("x-kubernetes-validations", [])
    return rules


def accepts(node: Node, text: str) -> bool:
    """Whether the field takes the text: its lengths, and its pattern as the API server reads it (RE2).

    Python's `$` also matches before a line end that comes last; RE2's does not.
    """
    pattern = node["pattern"]
    assert pattern.endswith("$"), "an open end takes anything"
    begin = pattern.removesuffix("$")
    assert "$" not in re.sub(r"\[[^]]*\]", "", begin), "this function reads no other `$` than the last one"
    fits = node.get("minLength", 0) <= len(text) <= node.get("maxLength", len(text))
    return fits and re.search(rf"{begin}\Z", text, re.ASCII) is not None
