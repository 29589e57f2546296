"""nodeorder: which of the nodes that can take a pod suits it best, by kube-scheduler's scores.

Each score is an integer from 0 to 100 as kube-scheduler computes it; the plugin answers with the weighted sum.

The amounts of a pod differ between scores, as in kube-scheduler: least and most allocated use stand-ins for the cpu
and memory that pods do not ask for, balance uses real requests and leaves out pods that ask for none of what it
balances.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.config.flags import Flags
from volcano_py.framework.domain_scores import DomainScore, sum_of
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import ClassesView, NodeView, Scores
from volcano_py.plugins.amounts.node_capacity import HIGHEST, NodeCapacity, Positions, with_one_more
from volcano_py.plugins.nodeorder.arguments import NodeOrderArguments
from volcano_py.plugins.nodeorder.images import image_key, image_scores
from volcano_py.plugins.nodeorder.pod_affinity_score import PodAffinityScore
from volcano_py.plugins.nodeorder.preferences import (
    affinity_counts,
    affinity_key,
    normalised,
    taint_counts,
    taint_key,
)
from volcano_py.plugins.nodeorder.resources import balanced, least_allocated, most_allocated
from volcano_py.plugins.nodeorder.topology_spread import SoftSpread
from volcano_py.state.nodes.index import Key
from volcano_py.state.table.axis import CPU, MEMORY
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

_CPU_AND_MEMORY: Final = slice(CPU, MEMORY + 1)
_GPU: Final = "nvidia.com/gpu"


class _Balanced(msgspec.Struct, frozen=True, eq=False):
    """Which resources should be in balance, and what nodes have of them."""

    positions: Positions
    capacity: NodeCapacity


class _Preferences(msgspec.Struct, frozen=True, eq=False):
    """What is worked out once per class and cycle. None: the score has nothing to say about the class."""

    balanced: _Balanced | None
    images: Key | None
    affinity: Key | None
    taints: Key | None


class NodeOrder(Plugin):
    """See the module."""

    name = "nodeorder"
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = NodeOrderArguments

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._weights: NodeOrderArguments = arguments
        self._preferences_of: dict[int, _Preferences] = {}
        self._company: PodAffinityScore | None = None

    def on_session_open(self, ssn: Session) -> None:
        nodes = ssn.ledger.nodes
        self._index = ssn.nodes
        if self._weights.pod_affinity:
            self._company = PodAffinityScore(ssn)
        self._node_count = int(np.count_nonzero(nodes.present))
        self._capacity = NodeCapacity(nodes, _CPU_AND_MEMORY)
        self._without_gpu = _Balanced(_CPU_AND_MEMORY, self._capacity)
        self._spread = SoftSpread(ssn, by_default=self._weights.spread_by_default)
        self._gpu = ssn.axis.index(_GPU)
        if self._gpu is not None:
            with_gpu = np.array([CPU, MEMORY, self._gpu])
            self._with_gpu = _Balanced(with_gpu, NodeCapacity(nodes, with_gpu))

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        weights, preferences, rows = self._weights, self._preferences(task_class), view.rows
        total = np.zeros(len(rows))
        self._add_allocated(total, rows, view.nonzero_used, task_class.nonzero_request)
        if preferences.balanced is not None:
            total += self._balanced_score(preferences.balanced, view, task_class.request)
        if preferences.images is not None:
            total += weights.image_locality * self._image_scores(preferences.images, task_class).take(rows)
        return total

    def node_orders(self, view: ClassesView) -> Scores:
        weights, preferences, rows = self._weights, [self._preferences(each) for each in view.classes], view.rows
        total = np.zeros((len(view.classes), len(rows)))
        self._add_allocated(total, rows, view.nonzero_used, view.nonzero_request)
        for first, members in _alike(each.balanced for each in preferences):
            if (by := preferences[first].balanced) is not None:
                total[members] += self._balanced_score(by, view, view.request[members])
        for first, members in _alike(each.images for each in preferences):
            if (images := preferences[first].images) is not None:
                scores = self._image_scores(images, view.classes[first])
                total[members] += weights.image_locality * scores.take(rows)
        return total

    def _add_allocated(self, total: Scores, rows: Rows, used: NDArray[np.int64], request: NDArray[np.int64]) -> None:
        """Add the scores of what would be in use, for one class, or several: [K] or [C, K]."""
        weights = self._weights
        if weights.least_requested or weights.most_requested:
            used_then = with_one_more(used, request)
            if weights.least_requested:
                total += weights.least_requested * least_allocated(self._capacity, rows, used_then)
            if weights.most_requested:
                total += weights.most_requested * most_allocated(self._capacity, rows, used_then)

    def _balanced_score(self, by: _Balanced, view: NodeView, request: NDArray[np.int64]) -> Scores:
        """[K], or [C, K] for several requests [C, R]."""
        used = view.used[:, by.positions].T.astype(np.float64, order="C")
        asked = request[..., by.positions].astype(np.float64)[..., None]
        return self._weights.balanced_resource * balanced(by.capacity, view.rows, used, asked)

    def scores_nodes_alone(self, task_class: TaskClass) -> bool:
        preferences = self._preferences(task_class)
        return (
            preferences.affinity is None
            and preferences.taints is None
            and not (self._company is not None and self._company.concerns(task_class))
            and not (self._weights.topology_spread and self._spread.concerns(task_class))
        )

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores | None:
        preferences, kept = self._preferences(task_class), self._index.kept
        total: Scores | None = None
        if preferences.affinity is not None:
            terms = task_class.preferred_node_affinity
            counts = kept.keep(preferences.affinity, lambda: affinity_counts(self._index, terms))
            if (score := normalised(counts.take(view.rows))) is not None:
                total = self._weights.node_affinity * score.astype(np.float64)
        if preferences.taints is not None:
            tolerations = task_class.tolerations
            counts = kept.keep(preferences.taints, lambda: taint_counts(self._index, tolerations))
            if (score := normalised(counts.take(view.rows))) is not None:
                fewest_first = self._weights.taint_toleration * (HIGHEST - score).astype(np.float64)
                total = fewest_first if total is None else total + fewest_first
        if self._company is not None and (company := self._company.scores(task_class, view.rows)) is not None:
            company *= self._weights.pod_affinity
            total = company if total is None else total + company
        return total

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:  # noqa: ARG002
        spread = company = None
        if self._weights.topology_spread:
            spread = self._spread.domain_score(task_class, self._weights.topology_spread)
        if self._company is not None:
            company = self._company.domain_score(task_class, self._weights.pod_affinity)
        found = [each for each in (spread, company) if each is not None]
        return sum_of(found) if found else None

    def _image_scores(self, key: Key, task_class: TaskClass) -> NDArray[np.int64]:
        return self._index.kept.keep(key, lambda: image_scores(self._index, task_class.images, self._node_count))

    def _preferences(self, task_class: TaskClass) -> _Preferences:
        preferences = self._preferences_of.get(task_class.row)
        if preferences is None:
            weights = self._weights
            preferences = self._preferences_of[task_class.row] = _Preferences(
                balanced=self._balanced(task_class) if weights.balanced_resource else None,
                images=image_key(task_class.images) if weights.image_locality else None,
                affinity=affinity_key(task_class.preferred_node_affinity) if weights.node_affinity else None,
                taints=taint_key(self._index, task_class.tolerations) if weights.taint_toleration else None,
            )
        return preferences

    def _balanced(self, task_class: TaskClass) -> _Balanced | None:
        """cpu and memory, and GPUs if the class asks for any; None when it asks for none of them."""
        request = task_class.request
        if self._gpu is not None and request[self._gpu] > 0:
            return self._with_gpu
        return self._without_gpu if request[_CPU_AND_MEMORY].any() else None


def _alike(values: Iterable[object]) -> list[tuple[int, list[int] | slice]]:
    """The positions of equal values, each together, after the first of them; a slice, which copies nothing, if all
    are equal."""
    places: dict[object, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(value, []).append(place)
    if len(places) == 1:
        return [(0, slice(None))]
    return [(found[0], found) for found in places.values()]
