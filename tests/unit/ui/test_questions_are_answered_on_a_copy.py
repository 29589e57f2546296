"""Explanations, trials and plans."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from msgspec.structs import replace

from tests.support.sessions import node
from tests.unit.ui.cluster import capture, cluster
from volcano_py.api.objects import Pod
from volcano_py.capture.model import CapturedEvent, Unread
from volcano_py.scheduler import builtin_registry
from volcano_py.ui.answers import AnswerError, Answers, Changes
from volcano_py.ui.cluster import Cluster
from volcano_py.ui.rights.sight import EVENTS, EVERYTHING, Sight

pytestmark = pytest.mark.real_time  # answers are worked out in a thread


async def test_an_explanation_is_that_of_the_verb() -> None:
    answer = await Answers(cluster()).explain("podgroup", "team/waits", EVERYTHING)
    assert answer["now"]["reason"] == "NeverFits"
    assert {each["kind"] for each in answer["limits"]} >= {"queue", "cluster", "nodes"}
    assert (await Answers(cluster()).explain("node", "n1", EVERYTHING))["pods"] == {"team/runs": 1}
    assert (await Answers(cluster()).explain("queue", "vision", EVERYTHING))["waiting"] == 1


async def test_the_history_of_a_capture_has_the_events_that_it_keeps() -> None:
    at = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
    events = (
        CapturedEvent(at, "Pod", "team", "waits-0", "FailedScheduling", "16 cpu are too many", 3),
        CapturedEvent(at, "Pod", "team", "runs-0", "Scheduled", "on n1"),
    )
    shown = Cluster.of_capture(replace(capture(), events=events), "a file", builtin_registry())
    answer = await Answers(shown).explain("podgroup", "team/waits", EVERYTHING)
    assert [each["text"] for each in answer["history"] if each["text"].startswith("event")] == [
        "event FailedScheduling (3 times): 16 cpu are too many"
    ]
    without = await Answers(shown).explain("podgroup", "team/waits", Sight(EVERYTHING.everywhere - {EVENTS}))
    assert not any(each["text"].startswith("event") for each in without.get("history", ()))


async def test_without_the_essential_kinds_the_reason_is_the_one_that_the_scheduler_has_written() -> None:
    shown = cluster()
    shown.unread = (Unread("Node", "forbidden", "no pod fits anywhere"),)
    answer = await Answers(shown).explain("podgroup", "team/waits", EVERYTHING)
    assert answer["now"]["reported"]
    assert answer["now"]["reason"] == "NotYetEvaluated"  # this cluster has no conditions
    assert not answer.keys() & {"limits", "nodes", "position", "remedies", "holders", "forecast"}


async def test_what_does_not_exist_has_no_explanation() -> None:
    with pytest.raises(AnswerError, match="podgroup team/nothing does not exist"):
        await Answers(cluster()).explain("podgroup", "team/nothing", EVERYTHING)


async def test_what_was_created_since_the_copy_was_made_is_explained() -> None:
    shown = cluster()
    answers = Answers(shown)
    await answers.explain("podgroup", "team/waits", EVERYTHING)
    shown.upsert("Node", node("new"))
    assert (await answers.explain("node", "new", EVERYTHING))["name"] == "new"


async def test_a_copy_serves_until_the_cluster_changes() -> None:
    shown = cluster()
    answers = Answers(shown)
    first = await answers.explain("podgroup", "team/waits", EVERYTHING)
    assert await answers.explain("podgroup", "team/waits", EVERYTHING) == first
    (waits,) = (pod for pod in shown.objects("Pod", Pod) if pod.metadata.name == "waits-0")
    assert answers.pods("team/waits", EVERYTHING) == [{"name": "waits-0", "node": "", "phase": "Pending"}]
    shown.delete("Pod", waits)
    assert answers.pods("team/waits", EVERYTHING) == []


async def test_changes_are_tried_and_the_cluster_stays_as_it_is() -> None:
    shown = cluster()
    before = shown.number
    found = await Answers(shown).try_changes(
        Changes(set=("queue/research.spec.capability.cpu=32",), delete=("pod/runs-0",)), EVERYTHING
    )
    assert found["changes"]
    assert [work["podGroup"] for work in found["work"]] == ["team/runs"]
    assert shown.number == before


async def test_a_manifest_is_submitted_in_the_trial() -> None:
    pod = """
{apiVersion: v1, kind: Pod, metadata: {name: new, namespace: team},
 spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
"""
    found = await Answers(cluster()).try_changes(Changes(submit=pod), EVERYTHING)
    assert [work["after"]["placed"] for work in found["work"]] == [1]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (Changes(), "name a change to try"),
        (Changes(cordon=("n9",)), "there is no node n9"),
        (Changes(submit="a: ["), "your manifest"),
    ],
)
async def test_what_cannot_be_tried_is_said(changes: Changes, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        await Answers(cluster()).try_changes(changes, EVERYTHING)


async def test_an_edit_is_planned_against_the_cluster() -> None:
    answers = Answers(cluster())
    same = await answers.plan(cluster().text, EVERYTHING)
    assert (same["changes"], same["warnings"]) == (False, [])
    with pytest.raises(AnswerError, match="your edit:1:10: error: actions"):
        await answers.plan("actions: 5", EVERYTHING)


async def test_nothing_is_tried_without_the_essential_kinds() -> None:
    shown = cluster()
    shown.unread = (Unread("Node", "forbidden", "no pod fits anywhere"),)
    with pytest.raises(AnswerError, match="without Node objects"):
        await Answers(shown).plan(shown.text, EVERYTHING)


def test_the_form_has_no_other_fields() -> None:
    with pytest.raises(msgspec.ValidationError, match="colour"):
        msgspec.json.decode(b'{"colour": "red"}', type=Changes)
