"""Boards, their changes and explanations, for users who may not see all."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.unit.ui.cluster import OBJECTS, board, cluster
from tests.unit.ui.users import OTHERS
from volcano_py.api.objects import Pod
from volcano_py.explain.model import (
    Ahead,
    Forecast,
    Holder,
    Limit,
    Near,
    Nodes,
    Now,
    Position,
    Remedy,
    WorkloadExplanation,
)
from volcano_py.ui.answers import AnswerError, Answers, Changes
from volcano_py.ui.board.changes import Change, changes
from volcano_py.ui.board.model import ClusterRow, EvictionRow, Sample, Tables
from volcano_py.ui.live import Live
from volcano_py.ui.rights.explanations import REDUCED, reduced
from volcano_py.ui.rights.sight import (
    CONFIGURATION,
    EVENTS,
    EVERYTHING,
    HYPER_NODES,
    JOBS,
    NODES,
    POD_GROUPS,
    PODS,
    QUEUES,
    Sight,
)
from volcano_py.ui.rights.tables import Follower, shown

NOTHING = Sight()
TEAM = Sight(inside=dict.fromkeys((POD_GROUPS, PODS, JOBS, EVENTS), frozenset({"team"})))
TEAM_AND_QUEUES = replace(TEAM, everywhere=frozenset({QUEUES}))
TEAM_AND_NODES = replace(TEAM, everywhere=frozenset({NODES}))
SPACES = frozenset({"team", "others"})


def two_teams() -> Tables:
    found = dict(board(OBJECTS + OTHERS))
    rows = {key: EvictionRow(key, pod=key, at=1.0) for key in ("team/runs-9.1", "others/secret-9.1")}
    sample = Sample(1.0, shares={"vision": 0.5}, waiting={"NeverFits": 1}, used={"cpu": 0.25})
    return {**found, "evictions": rows, "timeline": {"1": sample}}


def text(tables: Tables) -> str:
    return msgspec.json.encode(tables).decode()


def test_who_sees_everything_gets_the_same_board() -> None:
    tables = two_teams()
    assert shown(tables, EVERYTHING, SPACES) is tables


def test_who_sees_nothing_gets_only_what_is_hidden() -> None:
    found = shown(two_teams(), NOTHING, SPACES)
    assert {table for table, rows in found.items() if rows} == {"cluster"}
    row = found["cluster"]["cluster"]
    assert isinstance(row, ClusterRow)
    assert (row.nodes, row.allocatable, row.used, row.idle, row.promised, row.running, row.waiting) == (
        0, {}, {}, {}, {}, 0, 0,
    )  # fmt: skip
    assert row.hidden[0] == "2 namespaces are not yours to see: you may not list PodGroups and pods there"
    assert not any(name in text(found) for name in ("secret", "vision", "n1", "team"))


def test_a_user_of_one_namespace_gets_its_jobs_and_evictions_and_no_sum_over_others() -> None:
    found = shown(two_teams(), TEAM, SPACES)
    assert {*found["jobs"]} == {"team/runs", "team/waits"}
    assert {*found["evictions"]} == {"team/runs-9.1"}
    assert not any(found[table] for table in ("queues", "nodes", "configuration", "timeline"))
    row = found["cluster"]["cluster"]
    assert isinstance(row, ClusterRow)
    assert (row.running, row.waiting) == (1, 1)
    assert "secret" not in text(found)
    assert "others" not in text(found)


@pytest.mark.parametrize("missing", [PODS, POD_GROUPS])
def test_jobs_take_the_right_to_list_podgroups_and_pods(missing: str) -> None:
    rest = {each: spaces for each, spaces in TEAM.inside.items() if each != missing}
    assert shown(two_teams(), Sight(inside=rest), SPACES)["jobs"] == {}


def test_queues_are_whole_for_who_may_list_them() -> None:
    tables = two_teams()
    found = shown(tables, TEAM_AND_QUEUES, SPACES)
    assert found["queues"] == tables["queues"]
    assert found["timeline"] == {"1": Sample(1.0, shares={"vision": 0.5}, waiting={}, used={})}


def test_nodes_without_the_right_to_list_pods_do_not_say_how_full_they_are() -> None:
    found = shown(two_teams(), TEAM_AND_NODES, SPACES)
    first: Any = found["nodes"]["n1"]
    assert (first.allocatable["cpu"], first.used, first.pods) == (8000, {}, 0)
    row: Any = found["cluster"]["cluster"]
    assert (row.nodes, row.used, row.idle, row.use_shown) == (2, {}, {}, False)
    all_pods = replace(TEAM_AND_NODES, everywhere=frozenset({NODES, PODS}))
    assert shown(two_teams(), all_pods, SPACES)["nodes"]["n1"] == two_teams()["nodes"]["n1"]


def test_the_configuration_is_for_who_may_get_its_config_map() -> None:
    sight = replace(TEAM, everywhere=frozenset({CONFIGURATION}))
    assert {*shown(two_teams(), sight, SPACES)["configuration"]} == {"configuration"}


def test_changes_of_others_are_not_sent_nor_that_they_are_gone() -> None:
    before, after = two_teams(), {**two_teams(), "jobs": {}}
    follower = Follower(TEAM)
    (first,) = follower.shown({}, before, SPACES)
    assert first == "cluster"
    assert follower.shown({"jobs": Change(gone=("others/secret",))}, before, SPACES) == {}
    found = follower.shown(changes(before, after), after, SPACES)
    assert {*found["jobs"].gone} == {"team/runs", "team/waits"}
    assert "secret" not in msgspec.json.encode(found).decode()


@pytest.mark.real_time
async def test_a_stream_has_only_what_the_user_may_see() -> None:
    source = cluster(OBJECTS + OTHERS)
    live = Live(source)
    await live.look()
    updates = live.updates(0, TEAM)
    first = await anext(updates)
    assert first is not None
    assert b"team/waits" in first.data
    assert b"secret" not in first.data
    second = asyncio.ensure_future(anext(updates))
    for name in ("secret-0", "waits-0"):
        await asyncio.sleep(0)
        assert not second.done(), "that the others' pod is gone is not this user's to know"
        (pod,) = (each for each in source.objects("Pod", Pod) if each.metadata.name == name)
        source.delete("Pod", pod)
        await live.look()
    update = await second
    assert update is not None
    assert (update.number, b"secret" in update.data) == (3, False)


def explanation() -> WorkloadExplanation:
    return WorkloadExplanation(
        name="team/waits",
        now=Now(
            "Waiting", 0, 1, "OverCapability", "no room", evictions=("team/waits-1 makes room for others/secret",),
            ignored=("PodGroup team/waits: odd",), ignored_of_queues=("queue vision: odd",),
            lost_nodes=("node n9 is not ready",),
        ),
        position=Position(
            "vision", 2, 2, 0, 1, 1, 0.5, ahead=(Ahead("others/secret", 1, 0.0, 1), Ahead("team/x", 0, 0.0, 1)),
            before={"cpu": 5},
        ),
        limits=(Limit("gang", "team/waits"), Limit("queue", "vision", "cpu", used=3), Limit("cluster", "all", used=9)),
        nodes=Nodes("waits-0", 2, 0, {"full": 2}, nearest=(Near("n1", {"cpu": 3}),)),
        remedies=(Remedy("fewer-pods", "a"), Remedy("capability", "b"), Remedy("end", "wait for others/secret")),
        holders=(
            Holder("others/secret", "vision", 1, 0, {"cpu": 1}, {}, {}),
            Holder("team/runs", "vision", 1, 0, {"cpu": 3}, {"cpu": 4}, {}, stays="others/secret is in the way"),
        ),
        forecast=Forecast("2026-01-01T00:00:00Z", 5, ("others/secret", "team/runs"), "if all ends", 3),
    )  # fmt: skip


def test_an_explanation_names_no_work_of_others() -> None:
    found = reduced(explanation(), TEAM_AND_QUEUES)
    assert isinstance(found, WorkloadExplanation)
    assert "secret" not in msgspec.json.encode(found).decode()
    assert found.now.ignored_of_queues == ("queue vision: odd",)
    assert found.now.lost_nodes == ()
    assert found.position is not None
    assert ([each.name for each in found.position.ahead], found.position.before) == (["team/x"], {})
    assert [each.kind for each in found.limits] == ["gang", "queue"]
    assert [each.kind for each in found.remedies] == ["fewer-pods", "capability"]
    assert found.nodes is None
    assert found.forecast is not None
    assert (found.forecast.after, found.forecast.seconds) == (("team/runs",), 5)
    assert found.unread == (REDUCED,)
    alone = reduced(explanation(), replace(TEAM, everywhere=frozenset({NODES})))
    assert isinstance(alone, WorkloadExplanation)
    assert ([each.kind for each in alone.limits], alone.position, [each.kind for each in alone.remedies]) == (
        ["gang"], None, ["fewer-pods"],
    )  # fmt: skip
    assert (alone.now.ignored, alone.now.ignored_of_queues) == (("PodGroup team/waits: odd",), ())
    assert alone.now.lost_nodes == ("node n9 is not ready",)
    assert alone.nodes == Nodes("waits-0", 2, 0, {"full": 2})
    assert alone.holders[0].queue_allocated == {}


ALL_WORK = Sight(frozenset({PODS, POD_GROUPS, QUEUES, NODES, HYPER_NODES}))


def test_an_explanation_is_whole_for_who_sees_all_work() -> None:
    assert reduced(explanation(), ALL_WORK) == explanation()


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("kind", "name", "sight"),
    [
        ("podgroup", "others/secret", TEAM),
        ("pod", "team/waits-0", Sight(inside={POD_GROUPS: frozenset({"team"})})),
        ("job", "team/waits", Sight(inside=dict.fromkeys((POD_GROUPS, PODS), frozenset({"team"})))),
        ("queue", "vision", TEAM),
        ("node", "n1", TEAM_AND_QUEUES),
    ],
)
async def test_what_may_not_be_seen_is_not_explained_and_need_not_exist(kind: str, name: str, sight: Sight) -> None:
    answers = Answers(cluster(OBJECTS + OTHERS))
    with pytest.raises(AnswerError, match=f"{kind} {name} does not exist, or is not yours to see"):
        await answers.explain(kind, name, sight)
    with pytest.raises(AnswerError, match="does not exist, or is not yours to see"):
        await answers.explain(kind, f"{name}-not-there", sight)


@pytest.mark.real_time
async def test_a_user_of_one_namespace_hears_why_an_own_job_waits() -> None:
    answers = Answers(cluster(OBJECTS + OTHERS))
    found = await answers.explain("podgroup", "team/waits", TEAM)
    assert found["now"]["reason"] == "NeverFits"
    assert "secret" not in msgspec.json.encode(found).decode()
    assert [each["name"] for each in answers.pods("team/waits", TEAM)] == ["waits-0"]
    with pytest.raises(AnswerError, match="not yours to see"):
        answers.pods("others/secret", TEAM)
    node = await answers.explain("node", "n1", TEAM_AND_NODES)
    assert (node["pods"], node["used"], node["free"]) == ({"team/runs": 1}, {}, {})


@pytest.mark.real_time
async def test_trials_are_for_who_sees_all_work() -> None:
    answers = Answers(cluster())
    for sight in (TEAM, TEAM_AND_QUEUES, replace(ALL_WORK, everywhere=ALL_WORK.everywhere - {HYPER_NODES})):
        with pytest.raises(AnswerError, match="a trial tells of all work"):
            await answers.try_changes(Changes(cordon=("n1",)), sight)
    assert "work" in await answers.try_changes(Changes(cordon=("n1",)), ALL_WORK)
    with pytest.raises(AnswerError, match="to get the ConfigMap"):
        await answers.plan(cluster().text, ALL_WORK)
