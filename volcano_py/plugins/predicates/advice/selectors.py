"""Advice on node selectors and node affinity: what the pod requires, and what labels nodes have instead.

For pods that no node takes. The text follows from the nodes alone, so callers keep it with the node index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from typing import Final

import msgspec
import numpy as np

from volcano_py.api.objects import NodeSelector, NodeSelectorTerm, SelectorRequirement
from volcano_py.api.wording.summarize import MOST_LISTED, counted, summarize
from volcano_py.state.nodes.index import ABSENT, NodeIndex
from volcano_py.state.nodes.terms import Mask, field_mask, label_mask, term_mask

# Terms, and conditions of each, that are looked at: there may be a thousand, too many to read.
_MOST_TERMS: Final = 2
_MOST_CONDITIONS: Final = 20
_UNLABELLED: Final = {"Exists": "has a label {}", "DoesNotExist": "has no label {}"}
_COMPARED: Final = {"Gt": "above", "Lt": "below"}


class Condition(msgspec.Struct, frozen=True, eq=False):
    """One condition on a node: `words` go after «a node that», `key` is the label it is about ("" for none), `mask` [N]
    says which nodes meet it."""

    words: str
    key: str
    mask: Mask


def of_labels(index: NodeIndex, labels: Sequence[tuple[str, str]]) -> list[Condition]:
    """The conditions of a `spec.nodeSelector`."""
    return [Condition(f"has label {key}={value}", key, index.label(key).among((value,))) for key, value in labels]


def of_term(index: NodeIndex, term: NodeSelectorTerm) -> list[Condition]:
    """The conditions of one term of a required node affinity."""
    labels = [_of_label(index, one) for one in term.match_expressions[:_MOST_CONDITIONS]]
    fields = [
        Condition(f"is{' not' * (one.operator == 'NotIn')} named {summarize(one.values)}", "", field_mask(index, one))
        for one in term.match_fields[:_MOST_CONDITIONS]
    ]
    return labels + fields


def unmet(index: NodeIndex, present: Mask, selector: Sequence[tuple[str, str]], affinity: NodeSelector | None) -> str:
    """How far the nodes that are `present` [N] meet a pod's node selector and required affinity, as a sentence."""
    who = [name for name, given in (("nodeSelector", selector), ("nodeAffinity", affinity)) if given]
    subject = f"{' and '.join(who)} require{'s' * (len(who) == 1)} a node that"
    plain = of_labels(index, selector[:_MOST_CONDITIONS])
    terms = affinity.node_selector_terms if affinity is not None else None
    return how_far(index, present, subject, plain, terms, "label a node or correct the pod")


def how_far(
    index: NodeIndex,
    present: Mask,
    subject: str,
    plain: list[Condition],
    terms: Sequence[NodeSelectorTerm] | None,
    fix: str,
) -> str:
    """`subject` ends with «a node that»; asked for are `plain` and, unless there are none, one of `terms`. `fix` is
    added when no node meets it."""
    meeting = _and(plain, present)
    ways, more = [plain], ""
    if terms is not None:
        masks = [meeting & term_mask(index, term) for term in terms]
        meeting = np.logical_or.reduce([np.zeros_like(present), *masks])
        shown = [term for term, mask in zip(terms, masks, strict=True) if mask.any()] or list(terms)
        ways = [_way(index, plain, term) for term in shown[:_MOST_TERMS]]
        if left := len(terms) - len(ways):
            more = f" (and {counted(left, 'more term')})"
    if nodes := int(meeting.sum()):
        asked = " or that ".join(map(_joined, ways))
        return f"{subject} {asked}{more}: {nodes} of {int(present.sum())} nodes {'does' if nodes == 1 else 'do'}"
    text = "; or that ".join(_lacking(index, present, way) for way in ways)
    return f"{subject} {text}{more}: {fix}"


def _way(index: NodeIndex, plain: list[Condition], term: NodeSelectorTerm) -> list[Condition]:
    """All conditions of one of the terms; nothing for a term without conditions, which matches no node."""
    asked = of_term(index, term)
    return plain + asked if asked else []


def _of_label(index: NodeIndex, one: SelectorRequirement) -> Condition:
    key, values = one.key, sorted(one.values)
    if one.operator in _UNLABELLED:
        words = _UNLABELLED[one.operator].format(key)
    elif one.operator in _COMPARED:
        words = f"has label {key} {_COMPARED[one.operator]} {summarize(values)}"
    else:
        has = "has" if one.operator == "In" else "is without"
        words = f"{has} label {key}={values[0]}" if len(values) == 1 else f"{has} label {key} in ({summarize(values)})"
    return Condition(words, key, label_mask(index, one))


def _met(conditions: Sequence[Condition], present: Mask) -> int:
    """By how many nodes all of them are met; a term without conditions matches nothing."""
    return int(_and(conditions, present).sum()) if conditions else 0


def _and(conditions: Sequence[Condition], present: Mask) -> Mask:
    return reduce(np.logical_and, (condition.mask for condition in conditions), present)


def _joined(conditions: Sequence[Condition]) -> str:
    return " and ".join(condition.words for condition in conditions)


def _lacking(index: NodeIndex, present: Mask, conditions: Sequence[Condition]) -> str:
    """Which of these conditions no node meets, or which of them not together."""
    hopeless = next((condition for condition in conditions if not _met([condition], present)), None)
    if hopeless is not None:
        there = _labels_there(index, present, hopeless.key) if hopeless.key else ""
        return f"{hopeless.words}, and none does{there}"
    pairs: Iterator[tuple[Condition, ...]] = combinations(conditions, 2)
    together = next((pair for pair in pairs if not _met(pair, present)), tuple(conditions))
    text = " and ".join(f"{condition.words} ({_met([condition], present)})" for condition in together[:MOST_LISTED])
    return f"{text}, and no node meets all of these" if text else "matches a term without conditions, and no node does"


def _labels_there(index: NodeIndex, present: Mask, key: str) -> str:
    """The values that nodes have of a label, the most frequent first."""
    column = index.label(key)
    codes = column.codes[present]
    counts = np.bincount(codes[codes != ABSENT], minlength=len(column.values)).tolist()
    found = sorted((-count, value) for value, count in zip(column.values, counts, strict=True) if count)
    if not found:
        return "; no node has such a label"
    return f"; nodes have {summarize([f'{key}={value} ({-count})' for count, value in found])}"
