"""Which nodes match the node selector terms that pods and volumes carry.

Semantics are kube-scheduler's (k8s.io/component-helpers/scheduling/corev1/nodeaffinity): the requirements of a term
are ANDed, terms are ORed, a term without requirements matches nothing. A requirement is evaluated once per distinct
label value; masks are kept with the node index, by the term itself. Nothing here raises: what cannot be compared
matches no node, and the predicates' well_formed.py reports what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.objects import NodeSelector, NodeSelectorTerm, SelectorRequirement
from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.index import NodeIndex

Mask = NDArray[np.bool_]

NAME_FIELD: Final = "metadata.name"
"""The only field that `matchFields` knows."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_LONGEST_INTEGER: Final = 64  # characters; leading zeros beyond that have no honest use
_INT64: Final = range(-(2**63), 2**63)
_encode = msgspec.msgpack.Encoder().encode


def whole_number(text: str) -> int | None:
    """A decimal int64 as Go's `ParseInt(text, 10, 64)` reads it, else None."""
    if len(text) > _LONGEST_INTEGER or not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if value in _INT64 else None


def selector_mask(index: NodeIndex, labels: tuple[tuple[str, str], ...]) -> Mask | None:
    """[N] nodes that have all of the `spec.nodeSelector` labels; None when none are asked for."""
    mask: Mask | None = None
    for key, value in labels:
        mask = _and(mask, index.label(key).among((value,)))
    return mask


def affinity_mask(index: NodeIndex, selector: NodeSelector) -> Mask:
    """[N] nodes that match any of the selector's terms."""
    mask = np.zeros(len(index.nodes), dtype=np.bool_)
    for term in selector.node_selector_terms:
        mask = mask | term_mask(index, term)
    return mask


def matches(node: NodeInfo, selector: NodeSelector) -> bool:
    """Whether one node, looked at by itself, matches any of the selector's terms."""
    return bool(affinity_mask(NodeIndex([node], version=0), selector)[0])


def term_mask(index: NodeIndex, term: NodeSelectorTerm) -> Mask:
    """[N] nodes that match one term."""
    return index.kept.keep(("node selector term", _encode(term)), lambda: _match(index, term))


def _match(index: NodeIndex, term: NodeSelectorTerm) -> Mask:
    mask: Mask | None = None
    for requirement in term.match_expressions:
        mask = _and(mask, label_mask(index, requirement))
    for requirement in term.match_fields:
        mask = _and(mask, field_mask(index, requirement))
    return _nothing(index) if mask is None else mask


def _and(mask: Mask | None, other: Mask) -> Mask:
    return other if mask is None else mask & other


def _nothing(index: NodeIndex) -> Mask:
    return np.zeros(len(index.nodes), dtype=np.bool_)


# -- labels -----------------------------------------------------------------------------------------------------------


def label_mask(index: NodeIndex, requirement: SelectorRequirement) -> Mask:
    """[N] nodes that meet one of a term's `matchExpressions`."""
    operator = _OPERATORS.get(requirement.operator)
    return _nothing(index) if operator is None else operator(index, requirement.key, requirement.values)


def _in(index: NodeIndex, key: str, values: list[str]) -> Mask:
    return index.label(key).among(values)


def _not_in(index: NodeIndex, key: str, values: list[str]) -> Mask:
    # a node without the label has none of the values
    return ~index.label(key).among(values)


def _exists(index: NodeIndex, key: str, _values: list[str]) -> Mask:
    return index.label(key).present


def _does_not_exist(index: NodeIndex, key: str, _values: list[str]) -> Mask:
    return ~index.label(key).present


def _gt(index: NodeIndex, key: str, values: list[str]) -> Mask:
    return _compared(index, key, values, lambda numbers, bound: numbers > bound)


def _lt(index: NodeIndex, key: str, values: list[str]) -> Mask:
    return _compared(index, key, values, lambda numbers, bound: numbers < bound)


_OPERATORS: Final[dict[str, Callable[[NodeIndex, str, list[str]], Mask]]] = {
    "In": _in,
    "NotIn": _not_in,
    "Exists": _exists,
    "DoesNotExist": _does_not_exist,
    "Gt": _gt,
    "Lt": _lt,
}
OPERATORS: Final = tuple(_OPERATORS)


class _Numbers(msgspec.Struct, frozen=True, eq=False):
    """[V] the distinct values of a label as integers, and which of them are any."""

    values: NDArray[np.int64]
    valid: Mask

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.valid.nbytes


def _numbers(index: NodeIndex, key: str) -> _Numbers:
    def read() -> _Numbers:
        parsed = [whole_number(value) for value in index.label(key).values]
        values = np.array([0 if number is None else number for number in parsed], dtype=np.int64)
        return _Numbers(values, np.array([number is not None for number in parsed], dtype=np.bool_))

    return index.kept.keep(("label as integers", key), read)


def _compared(
    index: NodeIndex, key: str, values: list[str], holds: Callable[[NDArray[np.int64], np.int64], Mask]
) -> Mask:
    """Nodes whose label is an integer beyond the one bound; a label that is no integer matches neither way."""
    bound = whole_number(values[0]) if len(values) == 1 else None
    if bound is None:
        return _nothing(index)
    numbers = _numbers(index, key)
    return index.label(key).where(numbers.valid & holds(numbers.values, np.int64(bound)))


# -- fields -----------------------------------------------------------------------------------------------------------


def field_mask(index: NodeIndex, requirement: SelectorRequirement) -> Mask:
    """[N] nodes that meet one of a term's `matchFields`."""
    if requirement.key != NAME_FIELD or len(requirement.values) != 1 or requirement.operator not in FIELD_OPERATORS:
        return _nothing(index)
    mask = _nothing(index)
    row = index.rows.get(requirement.values[0])
    if row is not None:
        mask[row] = True
    return ~mask if requirement.operator == "NotIn" else mask


FIELD_OPERATORS: Final = ("In", "NotIn")
