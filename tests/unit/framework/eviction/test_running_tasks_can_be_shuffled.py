"""shuffle evicts what the first tier with any answer names, but for what a plugin spares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from structlog.testing import capture_logs

from tests.support.sessions import Opened, gang, node, open_session, pod
from volcano_py.actions.shuffle import Shuffle
from volcano_py.api.effects import Evict
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.plugins.conformance import Conformance
from volcano_py.plugins.pdb import Pdb
from volcano_py.state.table.table import Rows


def naming(name: str, *pods: str) -> type[Plugin]:
    """A plugin that wants these pods gone."""

    class Naming(Plugin):
        def on_session_open(self, ssn: Session) -> None:
            self._ssn = ssn

        def victim_tasks(self, running: Rows) -> Mapping[int, str]:
            found = {row: self._ssn.task_info(row).ref.name for row in running.tolist()}
            return {row: f"{name} says so" for row, pod in found.items() if pod in pods}

    Naming.name = name
    return Naming


class Sparing(Plugin):
    """Spares the pod a-0."""

    name = "sparing"

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn

    def spared_tasks(self, victims: Rows) -> NDArray[np.bool_]:
        return np.array([self._ssn.task_info(row).ref.name == "a-0" for row in victims.tolist()], dtype=np.bool_)


def shuffled(*tiers: list[Any], sound: bool = True) -> Opened:
    opened = open_session(
        node("n1"),
        gang("a", pods=2, cpu="1", running_on=["n1", "n1"], labels={"app": "a"}),
        gang("b", pods=2, cpu="1", running_on=["n1"]),
        gang("kube", namespace="kube-system", cpu="1", running_on=["n1"]),
        pod("alone", cpu="1", on="n1"),
        tiers=tiers,
        sound=sound,
    )
    Shuffle(Shuffle.arguments_type()).execute(opened.ssn)
    return opened


def test_a_pod_whose_eviction_just_failed_is_left_alone() -> None:
    opened = open_session(
        node("n1"), gang("a", pods=2, cpu="1", running_on=["n1", "n1"]), tiers=[[naming("x", "a-0", "a-1")]]
    )
    row = opened.task("a-0").row
    opened.ssn.snapshot.ledger.tasks.change(row).retry_at[row] = opened.ssn.now + 1
    Shuffle(Shuffle.arguments_type()).execute(opened.ssn)
    assert opened.evictions == ["a-1"]


def test_plugins_of_a_tier_unite() -> None:
    opened = shuffled([naming("x", "a-0"), naming("y", "b-0")], [naming("z", "a-1")])
    assert sorted(opened.evictions) == ["a-0", "b-0"]
    evicted = [effect for effect in opened.effects if isinstance(effect, Evict)]
    assert {(effect.action, effect.message) for effect in evicted} == {
        ("shuffle", "x says so"),
        ("shuffle", "y says so"),
    }
    assert opened.ssn.ledger.drift() == 0


def test_the_next_tier_is_asked_when_the_first_names_no_victim() -> None:
    assert shuffled([naming("x")], [naming("z", "a-1")]).evictions == ["a-1"]


def test_what_a_plugin_spares_stays_in_whatever_tier_it_stands() -> None:
    opened = shuffled([naming("x", "a-0", "a-1")], [Sparing])
    assert opened.evictions == ["a-1"]


def test_only_running_pods_of_a_job_are_offered() -> None:
    assert shuffled([naming("x", "b-1", "alone")]).evictions == []


def test_what_keeps_the_cluster_alive_stays() -> None:
    assert shuffled([naming("x", "kube-0", "b-0"), Conformance]).evictions == ["b-0"]


def test_pods_without_labels_stay_where_budgets_are_respected() -> None:
    assert shuffled([naming("x", "a-0", "b-0"), Pdb]).evictions == ["a-0"]


def test_without_plugins_to_ask_nothing_happens() -> None:
    assert shuffled([]).evictions == []


@pytest.mark.parametrize("answer", [None, ["a"], {-5: "no such row"}, {0: 7}])
def test_an_invalid_answer_names_no_victim(answer: Any) -> None:
    broken = type("Broken", (Plugin,), {"name": "broken", "victim_tasks": lambda _self, _running: answer})
    with capture_logs():
        opened = shuffled([broken, naming("x", "a-1")])
    assert opened.evictions == ["a-1"]
    assert opened.ssn.dispatch.failures.counts == {"broken": 1}


def test_a_guard_that_fails_protects_all_pods() -> None:
    broken = type("Broken", (Plugin,), {"name": "broken", "spared_tasks": lambda _self, _victims: None})
    with capture_logs():
        assert shuffled([naming("x", "a-1"), broken]).evictions == []
