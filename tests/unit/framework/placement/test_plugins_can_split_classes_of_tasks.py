"""A plugin may split a class of pods by their jobs; the placer then evaluates nodes once for each part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from tests.support.sessions import Opened, gang, node, open_session, pod, queue
from volcano_py.actions.allocate import Allocate
from volcano_py.api.reasons import Reason
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, NodeView
from volcano_py.plugins.gang import Gang
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass


class OwnNode(Plugin):
    """Pods of a queue use the node of the queue's name only."""

    name = "own-node"

    def task_variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> Sequence[str] | None:
        info = cluster.snapshot.jobs[job_row]
        return None if info is None or info.queue == "default" else [info.queue] * len(rows)

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self.asked: list[str] = []

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        own = task_class.variant.get(self.name, "")
        self.asked.append(own)
        no = self._ssn.refusal(Reason.NODES_REFUSE, "node(s) were another queue's")
        elsewhere = (self._ssn.nodes.names[view.rows] != own) if own else np.zeros(len(view), dtype=np.bool_)
        return np.where(elsewhere, no, FITS).astype(np.int32)


def opened_with(plugin: type[Plugin], **options: Any) -> Opened:
    return open_session(
        node("q1"),
        node("q2"),
        queue("q1"),
        queue("q2"),
        gang("one", pods=2, queue="q1", cpu="1"),
        gang("two", pods=2, queue="q2", cpu="1"),
        gang("three", pods=2, cpu="1"),
        gang("four", queue="q1", cpu="1", running_on=["q2"]),
        pod("orphan", group="missing", cpu="1"),
        tiers=[[Gang, plugin]],
        actions=[Allocate],
        **options,
    )


def test_pods_alike_but_for_the_variant_are_of_different_classes() -> None:
    opened = opened_with(OwnNode)
    classes = {
        name: opened.ssn.task_class(int(opened.rows(name)[0])) for name in ("one-0", "one-1", "two-0", "three-0")
    }
    assert classes["one-0"] is classes["one-1"]
    assert classes["one-0"].variant == {"own-node": "q1"}
    assert classes["two-0"].variant == {"own-node": "q2"}
    assert classes["three-0"].variant == {}
    assert len({each.row for each in classes.values()}) == 3
    assert {each.request.tolist()[0] for each in classes.values()} == {1000}
    rows = [each.row for each in classes.values()]
    assert opened.ssn.ledger.classes.request[rows, 0].tolist() == [1000] * 4


def test_what_runs_or_has_no_group_keeps_its_class() -> None:
    opened = opened_with(OwnNode)
    for name in ("four-0", "orphan"):
        row = int(opened.rows(name)[0])
        assert opened.ssn.task_class(row).variant == {}
        assert opened.ssn.ledger.tasks.task_class[row] == opened.ssn.snapshot.ledger.tasks.task_class[row]


def test_the_snapshot_that_was_given_stays_as_it_was() -> None:
    opened = opened_with(OwnNode)
    fresh = opened.state.snapshot(opened.ssn.now)
    assert all(each is None or each.variant == {} for each in fresh.classes)
    assert opened.state.drift() == 0


def test_each_kind_goes_where_it_may() -> None:
    opened = opened_with(OwnNode)
    Allocate(Allocate.arguments_type()).execute(opened.ssn)
    assert {name: on for name, on in opened.binds.items() if name.startswith(("one", "two"))} == {
        "one-0": "q1",
        "one-1": "q1",
        "two-0": "q2",
        "two-1": "q2",
    }
    assert opened.ssn.ledger.drift() == 0


def test_without_such_a_plugin_nothing_is_split() -> None:
    opened = opened_with(type("Quiet", (Plugin,), {"name": "quiet"}))
    assert opened.task("one-0").task_class is opened.task("two-0").task_class


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(["only one"], id="too short"),
        pytest.param([1, 2], id="no texts"),
        pytest.param("q1", id="one text for all"),
        pytest.param(ZeroDivisionError, id="raises"),
    ],
)
def test_a_plugin_that_cannot_answer_is_closed_so_that_nothing_goes_wrong(answer: Any) -> None:
    class Broken(OwnNode):
        name = "broken"

        def task_variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> Any:
            if answer is ZeroDivisionError:
                raise ZeroDivisionError
            return answer

    with capture_logs():
        opened = opened_with(Broken, sound=False)
        Allocate(Allocate.arguments_type()).execute(opened.ssn)
    assert opened.ssn.dispatch.failures.closed == {"broken"}
    assert opened.binds == {}
