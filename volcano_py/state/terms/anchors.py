"""Anchors: the conditions that terms are looked up by for a set of labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from volcano_py.state.terms.pod_terms import PodTerm

Anchor = tuple[str, ...]
"""A condition without which a term does not match: a label with its value, a label, or a namespace."""

_ANYWHERE: Final[Anchor] = ("anywhere",)


def anchors_of_labels(namespace: str, labels: Mapping[str, str]) -> Iterator[Anchor]:
    """What a pod with these labels meets."""
    yield _ANYWHERE
    yield ("namespace", namespace)
    for key, value in labels.items():
        yield ("label", key)
        yield ("label", key, value)


def ways_to_anchor(term: PodTerm) -> list[tuple[Anchor, ...]]:
    """Each is a list of conditions of which every pod that matches meets one."""
    if term.selector is None:
        return []
    narrow = [one for one in term.selector if one.operator == "In"]
    if narrow:
        fewest = min(len(one.values) for one in narrow)
        return [tuple(("label", one.key, value) for value in one.values) for one in narrow if len(one.values) == fewest]
    exists = [one for one in term.selector if one.operator == "Exists"]
    if exists:
        return [(("label", one.key),) for one in exists]
    if term.namespace_selector is None:
        return [tuple(("namespace", name) for name in term.namespaces)]
    return [(_ANYWHERE,)]
