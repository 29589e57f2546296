"""This scheduler, asked which nodes a pod fits: the plugins of the default configuration over a snapshot."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from e2e.differential.pods.features import Feature
from e2e.differential.theirs import MOST_ALLOCATED, SCHEDULER_NAME
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.api.reasons import Reason
from volcano_py.cluster.kubernetes.watching.kinds import KINDS, POD
from volcano_py.config.defaults import default_configuration_text
from volcano_py.config.parse import parse_configuration
from volcano_py.framework.calls.domain_score_guard import domain_score_of
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, NodeView
from volcano_py.local.client import APIClient, APIError
from volcano_py.scheduler import builtin_registry
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.task_class import Refusal

Objects = Mapping[str, Sequence[ApiObject]]
"""Objects by kind."""

_FULL: Final = "no room"


@dataclass(frozen=True, slots=True)
class Answer:
    """`nodes` that a pod fits. `refusal` is what keeps it from all nodes, whatever they are."""

    nodes: frozenset[str]
    refusal: Refusal | None
    says: Mapping[str, str]
    """What each of the other nodes says."""
    gated: bool = False

    @property
    def unsupported(self) -> bool:
        return self.refusal is not None and self.refusal.reason is Reason.UNSUPPORTED


class Ours:
    """The scheduler over these objects, as an API server has them."""

    def __init__(self, objects: Objects, configuration_text: str = default_configuration_text()) -> None:
        state = ClusterState(scheduler_names=(SCHEDULER_NAME, MOST_ALLOCATED))
        for kind, members in objects.items():
            for each in members:
                state.upsert(kind, each)
        registry = builtin_registry()
        configuration = parse_configuration(configuration_text, registry.catalogue()).config
        assert configuration is not None
        self._snapshot = state.snapshot(time.time())
        index = NodeIndex(self._snapshot.nodes, self._snapshot.nodes_version)
        self._session = Session(
            self._snapshot,
            configuration,
            registry,
            node_index=index,
            emit=lambda _effects: None,
            tie_rank=index.name_rank,
        )
        self.nodes = int(self._session.ledger.nodes.present.sum())
        self._rows = {info.ref.uid: row for row, info in enumerate(self._snapshot.tasks) if info is not None}

    def fitting(self, uid: str) -> Answer:
        """The nodes that the pod fits as things stand."""
        ssn, row = self._session, self._rows[uid]
        task_class = ssn.task_class(row)
        gated = bool(ssn.ledger.tasks.gated[row])
        refusal = task_class.problem or ssn.ask.pre_predicate(task_class)
        if refusal is not None:
            return Answer(frozenset(), refusal, {}, gated)
        fitting = {self._snapshot.nodes[node].name for node in ssn.placer.feasible(task_class).tolist()}
        says = {
            self._snapshot.nodes[node].name: _FULL if code == FITS else ssn.refusal_of(code).message
            for node, code in enumerate(ssn.placer.codes(task_class).tolist())
        }
        self._expect_no_failure()
        return Answer(
            frozenset(fitting), None, {name: text for name, text in says.items() if name not in fitting}, gated
        )

    def scores(self, uid: str, nodes: Sequence[str]) -> list[float]:
        """What the plugins together give each of the nodes, which are all that the pod fits."""
        ssn = self._session
        task_class = ssn.task_class(self._rows[uid])
        view = NodeView(ssn.ledger.nodes, np.array([ssn.nodes.rows[node] for node in nodes], dtype=np.intp))
        calls = (*ssn.dispatch.calls("node_order"), *ssn.dispatch.calls("batch_node_order"))
        answers = [call(task_class, view) for call in calls]
        everywhere = NodeView(ssn.ledger.nodes, np.arange(ssn.ledger.nodes.size))
        domain_score = domain_score_of(ssn.dispatch.calls("domain_order"), task_class, everywhere)
        answers.append(None if domain_score is None else domain_score.over(view.rows))
        self._expect_no_failure()
        total: list[float] = sum((answer for answer in answers if answer is not None), np.zeros(len(nodes))).tolist()
        return total

    def _expect_no_failure(self) -> None:
        failures = self._session.dispatch.failures.counts
        assert not failures, f"plugins failed: {failures}"


async def read_objects(client: APIClient) -> Objects:
    """Everything on the API server that the scheduler would watch, decoded as it is there."""
    objects: dict[str, Sequence[ApiObject]] = {}
    for kind in KINDS.values():
        try:
            answer = await client.get(str(kind.path))
        except APIError as error:
            if error.status != 404:  # our own kinds are not installed
                raise
            continue
        objects[kind.name] = [msgspec.convert(item, kind.type) for item in answer["items"]]
    return objects


def supported(features: Iterable[Feature], seed: int) -> list[Feature]:
    """The features that this scheduler evaluates in all their forms: it is asked about pods that use them."""
    return [feature for feature in features if not any(map(_unsupported, feature.examples(seed)))]


def _unsupported(manifest: Mapping[str, Any]) -> bool:
    pod = msgspec.convert({**manifest, "metadata": {**manifest["metadata"], "uid": "example"}}, Pod)
    return Ours({POD.name: [pod]}).fitting("example").unsupported
