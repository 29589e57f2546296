"""What follows from nodes alone for a class of pods: cordons, node affinity, taints.

The order of the questions is Volcano's; the first no of a node is its reason. Verdicts are kept with the node index and
so outlive the cycle.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.wording.explain_nodes import NODE_AFFINITY_MISMATCH, NODE_UNSCHEDULABLE
from volcano_py.plugins.predicates.taints import UNSCHEDULABLE, is_tolerated, refusal_of
from volcano_py.state.nodes.index import Key, NodeIndex
from volcano_py.state.nodes.terms import Mask, affinity_mask, selector_mask
from volcano_py.state.task_class import TaskClass

_encode = msgspec.msgpack.Encoder().encode


class Verdict(msgspec.Struct, frozen=True, eq=False):
    """`codes` [N] point into `messages`, which starts with "" for yes; None when no node refuses."""

    messages: tuple[str, ...]
    codes: NDArray[np.int32] | None

    @property
    def nbytes(self) -> int:
        return 0 if self.codes is None else self.codes.nbytes


class Questions(msgspec.Struct, frozen=True):
    """Which questions are asked; cordons always are."""

    node_affinity: bool = True
    taints: bool = True


def verdict_key(task_class: TaskClass, questions: Questions) -> Key:
    """All that a verdict depends on, apart from the nodes."""
    asked = (
        task_class.tolerations,
        questions.taints,
        (task_class.node_selector, task_class.required_node_affinity) if questions.node_affinity else None,
    )
    return ("node verdict", _encode(asked))


def judge(index: NodeIndex, task_class: TaskClass, questions: Questions) -> Verdict:
    """Ask all nodes. Use `verdict_key` to keep the answer."""
    codes = _Codes(len(index.nodes))
    if index.unschedulable.any() and not is_tolerated(UNSCHEDULABLE, task_class.tolerations):
        codes.refuse(index.unschedulable, NODE_UNSCHEDULABLE)
    if questions.node_affinity:
        labels = selector_mask(index, task_class.node_selector)
        if labels is not None:
            codes.refuse(~labels, NODE_AFFINITY_MISMATCH)
        if task_class.required_node_affinity is not None:
            codes.refuse(~affinity_mask(index, task_class.required_node_affinity), NODE_AFFINITY_MISMATCH)
    if questions.taints:
        refusals = [refusal_of(taints, task_class.tolerations) for taints in index.taint_sets]
        if any(refusals):
            per_set = np.array([codes.code(message) if message else 0 for message in refusals], dtype=np.int32)
            codes.refuse_by_code(per_set[index.taint_codes])
    return codes.verdict()


class _Codes:
    """Codes being written; what a node said first stays."""

    def __init__(self, nodes: int) -> None:
        self._codes: NDArray[np.int32] = np.zeros(nodes, dtype=np.int32)
        self._messages: dict[str, int] = {"": 0}

    def code(self, message: str) -> int:
        return self._messages.setdefault(message, len(self._messages))

    def refuse(self, nodes: Mask, message: str) -> None:
        self._codes[nodes & (self._codes == 0)] = self.code(message)

    def refuse_by_code(self, codes: NDArray[np.int32]) -> None:
        self._codes = np.where(self._codes == 0, codes, self._codes)

    def verdict(self) -> Verdict:
        return Verdict(tuple(self._messages), self._codes if self._codes.any() else None)
