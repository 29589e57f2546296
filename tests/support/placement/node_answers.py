"""What node plugins answer, by the names of pods and nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.support.sessions import Opened
from volcano_py.framework.domain_scores import DomainScore
from volcano_py.framework.plugin import Plugin, points_of
from volcano_py.framework.views import FITS, NodeView
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass


def class_of(opened: Opened, pod: str) -> TaskClass:
    return opened.ssn.task_class(int(opened.rows(pod)[0]))


def node_rows(opened: Opened, nodes: Sequence[str] = ()) -> Rows:
    """Rows of the named nodes, or of all by name."""
    return np.array([opened.node_row(name) for name in nodes or sorted(opened.ssn.nodes.rows)], dtype=np.intp)


def answers(opened: Opened, plugin: type[Plugin], pod: str) -> dict[str, str]:
    """Node → what its predicate says to the pod, "" for yes."""
    rows = node_rows(opened)
    codes = opened.plugin(plugin).predicate(class_of(opened, pod), NodeView(opened.ssn.ledger.nodes, rows))
    assert codes.dtype == np.int32
    return {
        name: "" if code == FITS else opened.ssn.refusal_of(code).message
        for name, code in zip(sorted(opened.ssn.nodes.rows), codes.tolist(), strict=True)
    }


def willing(opened: Opened, plugin: type[Plugin], pod: str) -> list[str]:
    """Nodes that take the pod, by name."""
    return [name for name, answer in answers(opened, plugin, pod).items() if not answer]


def refusing_for_good(opened: Opened, plugin: type[Plugin], pod: str) -> list[str]:
    """Nodes that refuse the pod whoever is evicted from them, by name: preemption does not try them."""
    rows = node_rows(opened)
    codes = opened.plugin(plugin).predicate(class_of(opened, pod), NodeView(opened.ssn.ledger.nodes, rows))
    may_yet = opened.ssn.resolvable(codes)
    return [name for name, may in zip(sorted(opened.ssn.nodes.rows), may_yet.tolist(), strict=True) if not may]


def scores(opened: Opened, plugin: type[Plugin], pod: str) -> dict[str, float]:
    """Node → its row score for the pod."""
    rows = node_rows(opened)
    found = opened.plugin(plugin).node_order(class_of(opened, pod), NodeView(opened.ssn.ledger.nodes, rows))
    return dict(zip(sorted(opened.ssn.nodes.rows), found.tolist(), strict=True))


def domain_score(opened: Opened, plugin: type[Plugin], pod: str) -> DomainScore | None:
    """The plugin's domain score for the pod."""
    if "domain_order" not in points_of(plugin):
        return None
    nodes = opened.ssn.ledger.nodes
    return opened.plugin(plugin).domain_order(class_of(opened, pod), NodeView(nodes, np.arange(nodes.size)))


def batch_scores(
    opened: Opened, plugin: type[Plugin], pod: str, feasible: Sequence[str] = ()
) -> dict[str, float] | None:
    """Node → its score among the feasible nodes, domain scores included; None when the plugin has nothing to say."""
    rows = node_rows(opened, feasible)
    asked, task_class, table = opened.plugin(plugin), class_of(opened, pod), opened.ssn.ledger.nodes
    found = asked.batch_node_order(task_class, NodeView(table, rows))
    found_score = domain_score(opened, plugin, pod)
    if found_score is not None:
        of_domains = found_score.over(rows)
        found = of_domains if found is None else found + of_domains
    names = list(feasible) or sorted(opened.ssn.nodes.rows)
    return None if found is None else dict(zip(names, found.tolist(), strict=True))
