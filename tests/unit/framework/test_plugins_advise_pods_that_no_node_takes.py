"""What plugins advise follows the summary of all refusals: short, guarded, and only when some node refuses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.reasons import Reason
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, NodeView
from volcano_py.state.task_class import TaskClass

SHUT = "node(s) were shut"


class Doors(Plugin):
    """Nodes whose name starts with `shut` are."""

    name = "doors"
    sentences: Sequence[str] = ("Open a door",)

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        shut = [self._ssn.nodes.nodes[row].name.startswith("shut") for row in view.rows.tolist()]
        return np.where(shut, self._ssn.refusal(Reason.NODES_REFUSE, SHUT), 0).astype(np.int32)

    def predicate_advice(self, task_class: TaskClass, refused: Refused) -> Sequence[str]:
        names = sorted(self._ssn.nodes.nodes[row].name for row in refused.rows(SHUT).tolist())
        assert refused.mask(SHUT).sum() == len(names)
        assert (SHUT in refused, list(refused), len(refused), refused.count(SHUT)) == (True, [SHUT], 1, len(names))
        assert refused.count("unheard-of") == len(refused.rows("unheard-of")) == 0
        return [sentence.format(*names) for sentence in self.sentences]


def opened(*names: str, advice: Sequence[str] = ("Open a door",)) -> Opened:
    doors = type("Doors", (Doors,), {"sentences": advice})
    nodes = [node(name, cpu="1") for name in names]
    return open_session(nodes, pod_group("g"), pod("p", group="g", cpu="2"), tiers=[[doors]])


def reported(session: Opened) -> str:
    return session.ssn.placer.misfit(session.task("p").task_class).refusal.message


def test_advice_is_the_end_of_the_message() -> None:
    message = reported(opened("n1", "shut-b", "shut-a", advice=["Open {0} or {1}", "Or wait"]))
    assert message == (
        "0/3 nodes are unavailable: 1 Insufficient cpu, 2 node(s) were shut. The pod asks for 2 cpu; the largest "
        "node, n1, "
        "has 1 cpu even when empty: ask for less or add a larger node. Open shut-a or shut-b. Or wait."
    )


def test_no_plugin_is_asked_for_advice_when_only_room_is_missing() -> None:
    assert "Open" not in reported(opened("n1"))


def test_a_long_sentence_is_cut_and_what_makes_the_message_too_long_is_left_out() -> None:
    message = reported(opened("shut", advice=["a" * 1000, "b" * 300, "c" * 300]))
    assert message == f"0/1 nodes are unavailable: 1 node(s) were shut. {'a' * 319}… {'b' * 300}."


def test_a_plugin_that_fails_to_advise_does_no_harm() -> None:
    session = opened("shut", advice=["{7}"])
    assert reported(session) == "0/1 nodes are unavailable: 1 node(s) were shut."
    assert session.ssn.dispatch.failures.counts == {"doors": 1}
    assert not session.ssn.dispatch.failures.closed


def test_what_is_no_list_of_sentences_counts_as_a_failure() -> None:
    doors = type("Doors", (Doors,), {"predicate_advice": lambda *_: "a text"})
    session = open_session(node("shut"), pod_group("g"), pod("p", group="g", cpu="1"), tiers=[[doors]])
    assert reported(session) == "0/1 nodes are unavailable: 1 node(s) were shut."
    assert session.ssn.dispatch.failures.counts == {"doors": 1}
