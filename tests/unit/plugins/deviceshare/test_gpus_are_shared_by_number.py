"""`volcano.sh/gpu-memory` and `volcano.sh/gpu-number`: which GPUs pods get, and what the binding writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.placement.cards import INDEX, card, gpu_node, gpu_pod, numbered
from tests.support.placement.node_answers import answers, class_of, refusing_for_good, scores, willing
from tests.support.sessions import NOW, Opened, node, open_session, pod_group
from volcano_py.api.effects import Bind
from volcano_py.api.objects import Container, Node, Pod, ResourceRequirements
from volcano_py.plugins.deviceshare import DeviceShare

SHARING, NUMBER = "deviceshare.GPUSharingEnable", "deviceshare.GPUNumberEnable"
MEMORY = "node(s) had no GPU with enough memory free"
WHOLE = "node(s) had only GPUs that other pods have to themselves"
IN_USE = "node(s) had too few GPUs that no pod uses"
TOO_FEW = "node(s) had too few GPUs"
TOO_SMALL = "node(s) had too small GPUs"
NO_CARDS = "node(s) had no healthy GPUs to share"


def session(*objects: Node | Pod, way: str = SHARING) -> Opened:
    arguments = {way: True, "deviceshare.SchedulePolicy": "binpack", "deviceshare.ScheduleWeight": 10}
    return open_session(pod_group("g"), objects, tiers=[[(DeviceShare, {"arguments": arguments})]])


def memory(name: str, *amounts: int, **fields: Any) -> Pod:
    """A pod with such a container for each amount of MB; `index` is what its annotation says."""
    return _pod(name, [{"volcano.sh/gpu-memory": str(each)} for each in amounts], **fields)


def whole(name: str, *numbers: int, **fields: Any) -> Pod:
    return _pod(name, [{"volcano.sh/gpu-number": str(each)} for each in numbers], **fields)


def _pod(name: str, limits: list[dict[str, str]], *, index: str = "", **fields: Any) -> Pod:
    return gpu_pod(name, *limits, annotations={INDEX: index} if index else {}, **fields)


def written(opened: Opened, pod: str = "new", on: str = "n1") -> Mapping[str, str]:
    opened.place("g", {pod: on}).commit()
    (bind,) = [effect for effect in opened.effects if isinstance(effect, Bind) and effect.pod.name == pod]
    return bind.annotations


# -- a part of the memory of one GPU --------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "gets"), [(7000, "0"), (7001, "1"), (16000, "1")])
def test_a_pod_gets_the_first_gpu_that_has_as_much_memory_left(asked: int, gets: str) -> None:
    old = memory("old", 9000, index="0", on="n1")
    assert written(session(numbered("n1", 2, 32000), old, memory("new", asked)))[INDEX] == gets


def test_the_binding_says_which_gpu_and_when() -> None:
    assert written(session(numbered("n1", 1, 16000), memory("new", 1))) == {
        "volcano.sh/predicate-time": str(int(NOW.timestamp()) * 10**9),
        "volcano.sh/gpu-index": "0",
    }


@pytest.mark.parametrize(
    ("asking", "holds", "answer"),
    [
        pytest.param(memory("new", 7000), "0", "", id="what is left"),
        pytest.param(memory("new", 7001), "0", MEMORY, id="more than is left"),
        pytest.param(memory("new", 4000, 3001), "0", MEMORY, id="containers ask for one GPU together"),
        pytest.param(memory("new", 16001), "", TOO_SMALL, id="more than a GPU has"),
        pytest.param(memory("new", 7001), "1", "", id="an unknown GPU"),
        pytest.param(memory("new", 7001), "x,,-1", "", id="nonsense"),
        pytest.param(memory("new", 7000), "0,0,0", "", id="a GPU listed twice"),
        pytest.param(memory("new", 16000), "", "", id="no annotation"),
    ],
)
def test_a_gpu_takes_what_it_has_left(asking: Pod, holds: str, answer: str) -> None:
    opened = session(numbered("n1", 1, 16000), memory("old", 9000, index=holds, on="n1"), asking)
    assert answers(opened, DeviceShare, "new") == {"n1": answer}


def test_an_init_container_may_ask_for_more_than_all_others() -> None:
    before = Container(name="init", resources=ResourceRequirements(limits={"volcano.sh/gpu-memory": "9001"}))
    plain = memory("new", 4000, 3000)
    asking = replace(plain, spec=replace(plain.spec, init_containers=[before]))
    old = memory("old", 7000, index="0", on="n1")
    opened = session(numbered("n1", 1, 16000), numbered("n2", 1, 16000), old, asking)
    assert answers(opened, DeviceShare, "new") == {"n1": MEMORY, "n2": ""}


def test_unhealthy_gpus_take_no_pods() -> None:
    nodes = numbered("n1", 2, 32000, unhealthy="0"), numbered("n2", 2, 32000, unhealthy="0,1"), node("n3")
    opened = session(*nodes, memory("new", 1))
    assert answers(opened, DeviceShare, "new") == {"n1": "", "n2": NO_CARDS, "n3": NO_CARDS}
    assert refusing_for_good(opened, DeviceShare, "new") == ["n2", "n3"]
    assert written(opened)[INDEX] == "1"


def test_what_a_pod_holds_of_a_gpu_that_is_unhealthy_now_counts_nowhere() -> None:
    old = memory("old", 9000, index="0", on="n1")
    opened = session(numbered("n1", 2, 32000, unhealthy="0"), old, memory("new", 16000))
    assert willing(opened, DeviceShare, "new") == ["n1"]


def test_a_pod_that_asks_for_no_gpu_holds_none_whatever_it_says() -> None:
    forged = gpu_pod("old", {"cpu": "1"}, annotations={INDEX: "0"}, on="n1")
    assert willing(session(numbered("n1", 1, 16000), forged, memory("new", 16000)), DeviceShare, "new") == ["n1"]


def test_nodes_have_no_scores() -> None:
    assert scores(session(numbered("n1", 1, 16000), memory("new", 1)), DeviceShare, "new") == {"n1": 0}


def test_a_node_whose_capacity_is_not_given_has_what_is_allocatable() -> None:
    bare = node("n1", devices={"volcano.sh/gpu-number": "2", "volcano.sh/gpu-memory": "32000"})
    opened = session(bare, memory("new", 16000), memory("large", 16001))
    assert willing(opened, DeviceShare, "new") == ["n1"]
    assert answers(opened, DeviceShare, "large") == {"n1": TOO_SMALL}


def test_gpus_of_hamis_device_plugin_are_others() -> None:
    opened = session(gpu_node("n1", card("A")), memory("new", 1))
    assert answers(opened, DeviceShare, "new") == {"n1": NO_CARDS}


# -- whole GPUs -----------------------------------------------------------------------------------------------------


def test_a_pod_gets_the_first_gpus_that_no_pod_uses() -> None:
    old = whole("old", 1, index="1", on="n1")
    opened = session(numbered("n1", 4), old, whole("new", 1, 1), way=NUMBER)
    assert written(opened)[INDEX] == "0,2"


@pytest.mark.parametrize(
    ("asked", "holds", "answer"),
    [
        pytest.param(2, "0", "", id="the others"),
        pytest.param(3, "0", IN_USE, id="more than the others"),
        pytest.param(2, "0,1", "", id="more numbers than the pod asks for"),
        pytest.param(4, "", TOO_FEW, id="more than there are"),
    ],
)
def test_so_many_gpus_have_to_be_free(asked: int, holds: str, answer: str) -> None:
    opened = session(numbered("n1", 3), whole("old", 1, index=holds, on="n1"), whole("new", asked), way=NUMBER)
    assert answers(opened, DeviceShare, "new") == {"n1": answer}


def test_what_the_other_way_of_sharing_has_left_behind_counts() -> None:
    """After a change of the configuration, pods of both ways run."""
    there = [memory("m", 1, index="0", on="n1"), whole("w", 1, index="1", on="n1")]
    nodes = [numbered("n1", 2, 32000)]
    by_number = session(*nodes, *there, whole("new", 1), way=NUMBER)
    assert answers(by_number, DeviceShare, "new") == {"n1": IN_USE}
    by_memory = session(*nodes, *there, memory("new", 15999), memory("more", 16000))
    assert answers(by_memory, DeviceShare, "new") == {"n1": ""}
    assert answers(by_memory, DeviceShare, "more") == {"n1": MEMORY}


def test_a_gpu_of_unknown_size_that_a_pod_has_to_itself_takes_no_other() -> None:
    opened = session(numbered("n1", 1, 0), whole("old", 1, index="0", on="n1"), whole("new", 1), way=NUMBER)
    assert answers(opened, DeviceShare, "new") == {"n1": IN_USE}


# -- messages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "asking", "old", "sentence"),
    [
        pytest.param(
            SHARING,
            memory("new", 8000),
            memory("old", 9000, index="0", on="n1"),
            "The pod asks for 1 GPU with 8000 MB of memory; the most that is free on a GPU is 7000 MB, on node n1",
            id="memory",
        ),
        pytest.param(
            SHARING,
            memory("new", 16001),
            memory("old", 1, index="0", on="n1"),
            "The pod asks for 1 GPU with 16001 MB of memory; the largest GPU that it may use has 16000 MB, on node n1",
            id="too large",
        ),
        pytest.param(
            NUMBER,
            whole("new", 1),
            whole("old", 1, index="0", on="n1"),
            "The pod asks for 1 GPU that no other pod uses; the most of these on a node is 0, on node n1",
            id="in use",
        ),
    ],
)
def test_what_was_asked_for_and_what_there_is_is_reported(way: str, asking: Pod, old: Pod, sentence: str) -> None:
    opened = session(numbered("n1", 1, 16000), asking, old, way=way)
    assert opened.ssn.placer.misfit(class_of(opened, "new")).refusal.message.count(sentence) == 1


# -- within a cycle -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "first", "new", "refusal"),
    [
        (SHARING, memory("first", 9000), memory("new", 9000), MEMORY),
        (NUMBER, whole("first", 1), whole("new", 1), IN_USE),
    ],
)
def test_what_is_placed_takes_its_gpu_and_a_discard_gives_it_back(way: str, first: Pod, new: Pod, refusal: str) -> None:
    opened = session(numbered("n1", 1, 16000), first, new, way=way)
    statement = opened.place("g", {"first": "n1"})
    assert answers(opened, DeviceShare, "new") == {"n1": refusal}
    statement.discard()
    assert willing(opened, DeviceShare, "new") == ["n1"]
    assert opened.ssn.findings.annotations == {}


@pytest.mark.parametrize(
    ("way", "asking", "names", "argument"),
    [
        (NUMBER, memory("new", 1), ("volcano.sh/gpu-memory", "volcano.sh/gpu-number"), SHARING),
        (SHARING, whole("new", 1), ("volcano.sh/gpu-number", "volcano.sh/gpu-memory"), NUMBER),
    ],
)
def test_pods_that_ask_in_another_way_wait(way: str, asking: Pod, names: tuple[str, str], argument: str) -> None:
    opened = session(numbered("n1", 1, 16000), asking, way=way)
    problem = opened.ssn.task_class(int(opened.rows("new")[0])).problem
    assert problem is not None
    asked, known = names
    assert problem.message == (
        f"the pod asks for {asked}, and the plugin deviceshare is configured for {known}: ask for GPUs by these, or "
        f"configure {argument}: true instead"
    )


@pytest.mark.parametrize(("way", "asking"), [(SHARING, memory("new", 1)), (NUMBER, whole("new", 1))])
def test_pods_that_ask_in_the_configured_way_have_no_problem(way: str, asking: Pod) -> None:
    opened = session(numbered("n1", 1, 16000), asking, way=way)
    assert opened.ssn.task_class(int(opened.rows("new")[0])).problem is None


def test_an_amount_of_nothing_beside_the_others_is_no_problem() -> None:
    asking = gpu_pod("new", {"volcano.sh/gpu-memory": "1", "volcano.sh/gpu-number": "0"})
    opened = session(numbered("n1", 1, 16000), asking)
    assert opened.ssn.task_class(int(opened.rows("new")[0])).problem is None
