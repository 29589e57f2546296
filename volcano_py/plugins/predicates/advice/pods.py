"""Phrases about pods in messages: the pods in the way, and the pods a selector asks for."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from typing import Final

import numpy as np

from volcano_py.api.wording.summarize import MOST_LISTED, summarize
from volcano_py.framework.session import Session
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.terms.pod_terms import PodTerm, Requirement, Requirements

_SIGNS: Final = {"Exists": "{}", "DoesNotExist": "no {}"}
_MOST_COMPARED: Final = 1000  # pods
_SUPPOSED: Final = (TaskStatus.ALLOCATED, TaskStatus.PIPELINED)


def settled(ssn: Session, rows: Rows) -> Rows:
    """Those of the tasks `rows` [K] whose place does not depend on this cycle. Where the others are depends on how ties
    are broken, which differs in each cycle."""
    kept: Rows = rows[~np.isin(ssn.ledger.tasks.status[rows], _SUPPOSED)]
    return kept


def on_nodes(ssn: Session, rows: Rows) -> str:
    """`ml/web-0 on n1, ml/web-1 on n2 and 3 more`: tasks `rows` [K] with their nodes, by name: a restart orders rows in
    another way. Of thousands, those with the first rows are listed."""
    nodes = ssn.ledger.tasks.node
    first = nsmallest(MOST_LISTED, rows[:_MOST_COMPARED].tolist(), key=lambda row: ssn.task_info(row).key)
    placed = [f"{ssn.task_info(row).key} on {ssn.nodes.names[nodes[row]]}" for row in first]
    return summarize(placed, total=len(rows))


def by_pods(ssn: Session, rows: Rows, nodes: Rows) -> str:
    """` by ml/web-0 on n1`: those of the tasks `rows` [K] that are settled on one of these nodes; "" for none."""
    who = on_nodes(ssn, settled(ssn, rows[np.isin(ssn.ledger.tasks.node[rows], nodes)]))
    return f" by {who}" if who else ""


def selected(terms: Sequence[PodTerm]) -> str:
    """`pods with app=db in namespace ml`: those that match all the terms."""
    return " which are also ".join(map(_selected, terms[:MOST_LISTED]))


def _selected(term: PodTerm) -> str:
    if term.selector is None:
        return "no pods at all (it has no labelSelector)"
    pods = f"pods with {_conditions(term.selector)}" if term.selector else "any pods"
    where = f"in namespace {summarize(term.namespaces)}" if term.namespaces else ""
    if term.namespace_selector is not None:
        labelled = f"in namespaces with {_conditions(term.namespace_selector)}" if term.namespace_selector else ""
        where = " or ".join(part for part in (where, labelled) if part) if labelled else "in any namespace"
    return f"{pods} {where}" if where else pods


def _conditions(requirements: Requirements) -> str:
    return summarize([_condition(one) for one in requirements])


def _condition(one: Requirement) -> str:
    if one.operator in _SIGNS:
        return _SIGNS[one.operator].format(one.key)
    sign, word = ("=", "in") if one.operator == "In" else ("!=", "not in")
    return f"{one.key}{sign}{one.values[0]}" if len(one.values) == 1 else f"{one.key} {word} ({summarize(one.values)})"
