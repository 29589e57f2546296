"""Every verb: what is sent, what its answers do, and what follows when there is none, ignorable or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.extender import DOWN, URL, Answer, Scripted, configuration, simulation
from tests.support.sessions import gang, node, pod_group, priority_class, queue
from volcano_py.api.extender.client import Failure
from volcano_py.api.objects import ApiObject
from volcano_py.simulation import SimulationResult

AGREES = {"status": "", "code": 0}
OK: dict[str, Any] = {}


def run(client: Scripted | None, objects: Sequence[Any], *verbs: str, **more: Any) -> SimulationResult:
    cycles = more.pop("cycles", None)
    flat = [each for some in objects for each in ([some] if isinstance(some, ApiObject) else some)]
    result = simulation(flat, configuration(verbs, **more), client).run(cycles)
    assert not any(report.plugin_errors or report.action_errors for report in result.reports)
    return result


def only(*names: str) -> Any:
    """A predicate that only these nodes pass."""
    return lambda body: AGREES if body["node"]["Name"] in names else {"status": "no licence here", "code": 2}


# -- nodes ---------------------------------------------------------------------------------------------------------


def test_a_pod_goes_to_a_node_that_the_extender_lets_it_go_to() -> None:
    client = Scripted({"predicate": only("b")})
    result = run(client, [node("a"), node("b"), gang("train", cpu="1")], "predicate")
    assert result.binds == {"team/train-0": "b"}
    assert client.urls == {URL.rstrip("/")}


def test_a_pod_that_no_node_may_take_waits_and_says_what_the_extender_said() -> None:
    result = run(Scripted({"predicate": only()}), [node("a"), node("b"), gang("train", cpu="1")], "predicate")
    assert not result.binds
    expected = "0/2 nodes are unavailable: 2 node(s) were refused by the extender: no licence here"
    assert expected in result.unschedulable["team/train-0"]


def test_an_empty_text_is_a_yes_whatever_the_code_is() -> None:
    result = run(Scripted({"predicate": {"status": "", "code": 3}}), [node("a"), gang("train", cpu="1")], "predicate")
    assert result.binds == {"team/train-0": "a"}


@pytest.mark.parametrize("ignorable", [True, False])
def test_without_an_answer_nodes_take_pods_only_if_the_extender_is_ignorable(ignorable: bool) -> None:
    more = {"extender.ignorable": ignorable}
    result = run(Scripted({"predicate": DOWN}), [node("a"), gang("train", cpu="1")], "predicate", **more)
    assert ("team/train-0" in result.binds) is ignorable
    if not ignorable:
        assert "1 node(s) were not judged: the extender cannot be reached" in result.unschedulable["team/train-0"]


def test_a_class_is_asked_about_once_and_only_on_nodes_that_are_to_be_used() -> None:
    client = Scripted({"predicate": AGREES})
    nodes = [node(f"n{number:02}", cpu="4") for number in range(50)]
    result = run(client, [nodes, gang("train", pods=8, min_member=8, cpu="1")], "predicate")
    assert len(result.binds) == 8
    asked = [body["node"]["Name"] for body in client.bodies("predicate")]
    assert len(asked) == len(set(asked)) <= 8
    assert set(result.binds.values()) <= set(asked)


def test_nodes_that_anything_else_refuses_are_not_asked_about() -> None:
    client = Scripted({"predicate": only()})
    nodes = [node("cordoned", unschedulable=True), node("small", cpu="500m"), node("fits")]
    run(client, [nodes, gang("train", cpu="1")], "predicate", cycles=1)
    assert {body["node"]["Name"] for body in client.bodies("predicate")} == {"fits"}


def test_after_refusals_more_nodes_are_asked_about_at_a_time() -> None:
    client = Scripted({"predicate": only("n199")})
    result = run(client, [[node(f"n{number:03}") for number in range(200)], gang("train", cpu="1")], "predicate")
    assert result.binds == {"team/train-0": "n199"}
    assert max(client.together) == 16
    assert len(client.together) < 25


def test_a_gang_gets_the_nodes_that_are_left() -> None:
    client = Scripted({"predicate": only("c", "d")})
    nodes = [node(name, cpu="2") for name in "abcd"]
    result = run(client, [nodes, gang("train", pods=4, min_member=4, cpu="1")], "predicate")
    assert sorted(result.binds.values()) == ["c", "c", "d", "d"]


def test_pods_that_are_all_different_are_asked_about_one_by_one() -> None:
    client = Scripted({"predicate": only("b")})
    sizes = [gang(f"job-{number}", cpu=f"{100 + number}m") for number in range(20)]
    result = run(client, [node("a"), node("b"), *sizes], "predicate", more=["{name: nodeorder}"])
    assert len(result.binds) == 20
    assert set(result.binds.values()) == {"b"}


def test_the_pod_that_stands_for_its_class_has_no_place_yet() -> None:
    client = Scripted({"predicate": AGREES})
    jobs = [gang(f"job-{number}", cpu="700m") for number in range(4)]
    result = run(client, [[node(name, cpu="1") for name in "abcd"], *jobs], "predicate", more=["{name: nodeorder}"])
    assert len(result.binds) == 4
    assert {(body["task"]["Status"], body["task"]["NodeName"]) for body in client.bodies("predicate")} == {(1, "")}


def test_only_pods_with_a_managed_resource_are_asked_about() -> None:
    client = Scripted({"predicate": only(), "prioritize": {"nodeScore": {}}})
    gpu = "example.com/gpu"
    objects = [node("a", devices={gpu: "4"}), gang("web", cpu="1"), gang("train", cpu="1", devices={gpu: "1"})]
    more = {"extender.managedResources": [gpu]}
    result = run(client, objects, "predicate", "prioritize", **more)
    assert result.binds == {"team/web-0": "a"}
    assert {body["task"]["Name"] for _, body in client.asked} == {"train-0"}


def test_scores_move_a_pod() -> None:
    client = Scripted({"prioritize": {"nodeScore": {"b": 5.5, "stranger": 900}, "errorMessage": ""}})
    result = run(client, [node("a"), node("b"), node("c"), gang("train", cpu="1")], "prioritize")
    assert result.binds == {"team/train-0": "b"}
    (body,) = client.bodies("prioritize")[:1]
    assert [each["Name"] for each in body["nodes"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "answer",
    [
        DOWN,
        {"nodeScore": None},
        {"nodeScore": {"b": 1}, "errorMessage": "no data"},
        {"nodeScore": {"b": "many"}},
        {"nodeScore": ["b"]},
        b'{"nodeScore": {"b": NaN}}',
        b'{"nodeScore": {"b": 1e999}}',
        b"[]",
        b"",
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("ignorable", [True, False])
def test_without_scores_a_pod_is_placed_only_if_the_extender_is_ignorable(answer: Answer, ignorable: bool) -> None:
    more = {"extender.ignorable": ignorable}
    result = run(Scripted({"prioritize": answer}), [node("a"), node("b"), gang("train", cpu="1")], "prioritize", **more)
    assert result.binds == ({"team/train-0": "a"} if ignorable else {})
    if not ignorable:
        assert "node(s) were not judged: the extender" in result.unschedulable["team/train-0"]


def test_scores_as_large_as_numbers_can_be_break_nothing() -> None:
    client = Scripted({"prioritize": {"nodeScore": {"a": -1.7e308, "b": 1.7e308}}})
    result = run(client, [node("a"), node("b"), gang("train", cpu="1")], "prioritize", more=["{name: nodeorder}"])
    assert result.binds == {"team/train-0": "b"}


# -- jobs and queues -----------------------------------------------------------------------------------------------


def waiting() -> list[Any]:
    return [node("a"), gang("train", cpu="1", min_resources={"cpu": "1"}, group_phase="Pending")]


@pytest.mark.parametrize(("status", "is_admitted"), [(1, True), (0, True), (-1, False)])
def test_the_extender_votes_on_the_admission_of_a_job(status: int, is_admitted: bool) -> None:
    client = Scripted({"enqueueable": {"status": status}, "enqueued": OK})
    result = run(client, waiting(), "enqueueable", "enqueued")
    assert ("team/train-0" in result.binds) is is_admitted
    assert client.bodies("enqueueable")[0]["job"]["Name"] == "train"
    assert len(client.bodies("enqueued")) == int(is_admitted)
    if not is_admitted:
        (condition,) = result.pod_groups["team/train"]["conditions"]
        assert "plugin extender refuses the job: the extender does not admit it" in condition["message"]


@pytest.mark.parametrize("ignorable", [True, False])
def test_without_a_vote_a_job_is_admitted_only_if_the_extender_is_ignorable(ignorable: bool) -> None:
    result = run(Scripted({"enqueueable": DOWN}), waiting(), "enqueueable", **{"extender.ignorable": ignorable})
    assert ("team/train-0" in result.binds) is ignorable


@pytest.mark.parametrize(
    ("answer", "ignorable", "is_placed"),
    [
        ({"overused": True}, True, False),
        ({"overused": False}, False, True),
        (DOWN, True, True),
        (DOWN, False, False),
    ],
)
def test_a_queue_that_is_overused_starts_nothing(answer: Answer, ignorable: bool, is_placed: bool) -> None:
    client = Scripted({"overused": answer})
    result = run(client, [node("a"), gang("train", cpu="1")], "overused", **{"extender.ignorable": ignorable})
    assert ("team/train-0" in result.binds) is is_placed
    assert client.asked[0][1]["queue"]["Name"] == "default"
    found = (answer == DOWN and "cannot be reached") or "finds queue default overused"
    assert is_placed or f"plugin extender refuses the job: the extender {found}" in result.unschedulable["team/train-0"]


@pytest.mark.parametrize(
    ("answer", "ignorable", "is_bound"),
    [
        ({"status": True}, False, True),
        ({"status": False}, True, False),
        (DOWN, True, True),
        (DOWN, False, False),
    ],
)
def test_a_job_is_bound_when_the_extender_finds_it_ready(answer: Answer, ignorable: bool, is_bound: bool) -> None:
    client = Scripted({"ready": answer})
    objects = [node("a"), gang("train", pods=2, min_member=2, cpu="1")]
    result = run(client, objects, "ready", **{"extender.ignorable": ignorable})
    assert (len(result.binds) == 2) is is_bound
    if not is_bound:
        assert "plugin extender refuses the job" in str(result.pod_groups["team/train"]["conditions"])
        assert result.unschedulable["team/train-0"].startswith("RefusedByPlugin: plugin extender refuses the job: ")


# -- victims -------------------------------------------------------------------------------------------------------


def contested() -> list[Any]:
    return [
        node("a", cpu="2"),
        priority_class("high", 100),
        gang("low", pods=2, min_member=0, running_on=["a", "a"], cpu="1"),
        gang("high", cpu="1", priority_class="high"),
    ]


def names(uids: str) -> Any:
    return lambda body: {"status": 1, "victims": [each for each in body["evictees"] if each["Name"] in uids.split()]}


@pytest.mark.parametrize(
    ("answer", "evicted"),
    [
        (names("low-0"), ["team/low-0"]),
        (names("low-1"), ["team/low-1"]),
        ({"status": 1, "victims": None}, []),
        ({"status": 1, "victims": [{"UID": "no such pod"}, {"uid": 7}, {}]}, []),
        ({"status": -1, "victims": []}, []),
        ({"status": 1, "victims": "all"}, []),
        (DOWN, []),
    ],
)
def test_the_extender_chooses_among_the_pods_that_may_be_evicted(answer: Any, evicted: list[str]) -> None:
    client = Scripted({"preemptable": answer})
    result = run(client, contested(), "preemptable", actions="enqueue, allocate, preempt", cycles=2)
    assert [each.split(" ")[0] for each in result.evictions] == evicted
    body = client.bodies("preemptable")[0]
    assert body["evictor"]["Name"] == "high-0"
    assert {each["Name"] for each in body["evictees"]} <= {"low-0", "low-1"}


def test_an_extender_that_abstains_leaves_the_choice_to_others() -> None:
    client = Scripted({"preemptable": {"status": 0}})
    result = run(client, contested(), "preemptable", actions="enqueue, allocate, preempt", cycles=2)
    assert len(result.evictions) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"status": -1}, "2 pods are protected by the extender, which did not give them up."),
        ({"status": 1, "victims": []}, "2 pods are protected by the extender, which did not give them up."),
        (DOWN, "2 pods are protected by the extender, which cannot be reached: Connection refused."),
    ],
)
@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_a_job_that_gets_no_victims_is_told_that_the_extender_kept_them(answer: Answer, why: str, action: str) -> None:
    objects, verb = contested(), {"preempt": "preemptable", "reclaim": "reclaimable"}[action]
    if action == "reclaim":
        objects = [node("a", cpu="2"), queue("lab"), queue("shop"), gang("high", cpu="1", queue="shop")]
        objects.append(gang("low", pods=2, min_member=0, running_on=["a", "a"], cpu="1", queue="lab"))
    more = ["{name: proportion}"] if action == "reclaim" else []
    result = run(Scripted({verb: answer}), objects, verb, actions=f"enqueue, allocate, {action}", cycles=2, more=more)
    assert not result.evictions
    assert why in result.unschedulable["team/high-0"]


def test_only_the_pods_that_the_extender_kept_are_counted_for_it() -> None:
    objects = contested()
    objects[-1] = gang("high", cpu="2", priority_class="high")
    client = Scripted({"preemptable": names("low-0")})
    result = run(client, objects, "preemptable", actions="enqueue, allocate, preempt", cycles=2)
    assert not result.evictions
    assert "1 pod is protected by the extender, which did not give it up." in result.unschedulable["team/high-0"]


def test_an_evicted_pod_is_told_that_the_extender_allowed_it() -> None:
    client = Scripted({"preemptable": names("low-0")})
    text = configuration(["preemptable"], actions="enqueue, allocate, preempt")
    flat = [each for some in contested() for each in ([some] if isinstance(some, ApiObject) else some)]
    cluster = simulation(flat, text, client)
    cluster.run(1)
    (evicted,) = cluster.cluster.evict_effects
    assert evicted.message.endswith("; allowed by priority, gang, extender")


def test_victims_on_a_node_that_the_extender_refuses_stay() -> None:
    objects = contested()
    objects += [node("b", cpu="2"), gang("lower", pods=2, min_member=0, running_on=["b", "b"], cpu="1")]
    client = Scripted({"predicate": only("b")})
    result = run(client, objects, "predicate", actions="enqueue, allocate, preempt", cycles=3)
    assert len(result.evictions) == 1
    assert result.evictions[0].startswith("team/lower-")
    assert result.binds == {"team/high-0": "b"}


# -- events --------------------------------------------------------------------------------------------------------


def test_places_that_pods_get_are_reported() -> None:
    client = Scripted({"allocate": OK, "deallocate": OK})
    run(client, [node("a"), gang("train", pods=2, min_member=2, cpu="1")], "allocate", "deallocate")
    assert client.verbs() == ["allocate", "allocate"]
    task = client.asked[0][1]["task"]
    assert (task["NodeName"], task["Status"]) == ("a", 2)


def test_places_of_a_gang_that_is_discarded_are_given_back_in_reverse_order() -> None:
    client = Scripted({"allocate": OK, "deallocate": OK})
    objects = [node("a", cpu="2"), node("b", cpu="1"), gang("train", pods=4, min_member=4, cpu="1")]
    result = run(client, objects, "allocate", "deallocate", cycles=1)
    assert not result.binds
    told = [(verb, body["task"]["Name"]) for verb, body in client.asked]
    given, taken = told[: len(told) // 2], told[len(told) // 2 :]
    assert [name for _, name in taken] == [name for _, name in reversed(given)]
    assert {verb for verb, _ in given} == {"allocate"}
    assert {verb for verb, _ in taken} == {"deallocate"}
    assert len(given) == 3


@pytest.mark.parametrize(
    ("answer", "ignorable", "is_bound"),
    [
        ({"errorMessage": "no port left"}, True, False),
        ({"errorMessage": "no port left"}, False, False),
        (DOWN, True, True),
        (DOWN, False, False),
    ],
)
def test_a_place_that_the_extender_does_not_take_is_undone(answer: Answer, ignorable: bool, is_bound: bool) -> None:
    client = Scripted({"allocate": answer, "deallocate": OK})
    objects = [node("a"), gang("train", pods=2, min_member=2, cpu="1")]
    result = run(client, objects, "allocate", "deallocate", cycles=1, **{"extender.ignorable": ignorable})
    assert (len(result.binds) == 2) is is_bound
    assert client.verbs().count("deallocate") == (0 if is_bound else client.verbs().count("allocate"))


def test_a_place_that_one_node_cannot_give_is_looked_for_on_another() -> None:
    refuses = lambda body: {"errorMessage": "full"} if body["task"]["NodeName"] == "a" else OK  # noqa: E731
    client = Scripted({"allocate": refuses, "deallocate": OK})
    result = run(client, [node("a"), node("b"), gang("train", cpu="1")], "allocate", "deallocate", cycles=3)
    assert not result.binds, "each cycle asks anew, and the best node is the same"
    assert "full" in result.unschedulable["team/train-0"] or "full" in str(result.pod_groups["team/train"])


def test_an_eviction_is_reported() -> None:
    client = Scripted({"allocate": OK, "deallocate": OK})
    objects = contested()
    run(client, objects, "allocate", "deallocate", actions="enqueue, allocate, preempt", cycles=1)
    evicted = [body["task"] for body in client.bodies("deallocate") if body["task"]["Status"] == 64]
    assert evicted
    assert all(each["Name"].startswith("low-") for each in evicted)


# -- sessions ------------------------------------------------------------------------------------------------------


def test_a_session_is_opened_with_the_cluster_and_closed() -> None:
    client = Scripted({"open": b"anything", "close": b"", "predicate": AGREES})
    run(client, [node("a"), gang("train", cpu="1")], "open", "close", "predicate", cycles=1)
    assert client.verbs() == ["open", "predicate", "close"]
    body = client.bodies("open")[0]
    assert [*body] == ["Jobs", "NamespaceInfo", "NodeList", "Nodes", "Queues", "RevocableNodes"]
    assert [*body["Jobs"]] == ["team/train"]
    assert body["Nodes"]["a"]["Idle"]["MilliCPU"] == 8000
    assert client.bodies("close") == [{}]


@pytest.mark.parametrize("ignorable", [True, False])
def test_when_a_session_cannot_be_opened_no_other_verb_is_used_unless_that_is_ignorable(ignorable: bool) -> None:
    client = Scripted({"open": DOWN, "close": OK, "predicate": only("b")})
    objects = [node("a"), node("b"), gang("train", cpu="1")]
    result = run(client, objects, "open", "close", "predicate", cycles=1, **{"extender.ignorable": ignorable})
    assert result.binds == {"team/train-0": "b" if ignorable else "a"}
    assert client.verbs() == (["open", "predicate", "predicate", "close"] if ignorable else ["open"])


def test_a_simulation_asks_nothing_and_says_so() -> None:
    result = run(None, [node("a"), gang("train", cpu="1")], *("open", "predicate", "enqueueable", "ready", "allocate"))
    assert result.binds == {"team/train-0": "a"}
    assert "it is asked only by the running scheduler" in result.reports[-1].remarks["extender"]


def test_verbs_that_are_not_configured_are_not_asked() -> None:
    client = Scripted({})
    result = run(client, [node("a"), gang("train", cpu="1")])
    assert result.binds == {"team/train-0": "a"}


def test_a_pod_group_without_pods_can_be_sent() -> None:
    client = Scripted({"open": OK})
    run(client, [node("a"), pod_group("empty", min_resources={"cpu": "1"}, phase="Pending")], "open", cycles=1)
    assert client.bodies("open")[0]["Jobs"]["team/empty"]["Tasks"] == {}


def test_no_message_has_the_address() -> None:
    result = run(Scripted({"predicate": Failure("answered 500")}), [node("a"), gang("train", cpu="1")], "predicate")
    assert "hunter2" not in str(result)
    assert "example:8080" not in str(result)
