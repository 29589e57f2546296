"""GPUs in mode `mig`: which instances pods get, in one cycle, after a restart, and where annotations are wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.placement.cards import A100, IDS, asks, card, gpu_node, gpu_pod, mig_card
from tests.support.placement.node_answers import answers, class_of, refusing_for_good, scores, willing
from tests.support.sessions import Opened, open_session, pod_group
from volcano_py.api.effects import Bind
from volcano_py.api.objects import Node, Pod
from volcano_py.config.fields.reading import read_arguments
from volcano_py.config.text.problems import Severity
from volcano_py.plugins.deviceshare import DeviceShare
from volcano_py.plugins.deviceshare.arguments import DeviceShareArguments

INSTANCE = "node(s) had too few GPUs with a large enough MIG instance free"
NO_INSTANCE = "node(s) had GPUs without MIG instances of that size"
UNKNOWN = "node(s) had GPUs in mode mig, of no model in deviceshare.KnownMigGeometries"
MEMORY = "node(s) had too few GPUs with enough memory free"


def session(*objects: Node | Pod, policy: str = "", models: object = (A100,)) -> Opened:
    arguments: dict[str, Any] = {
        "deviceshare.VGPUEnable": True,
        "deviceshare.KnownMigGeometries": [*models] if isinstance(models, tuple) else models,
        "deviceshare.SchedulePolicy": policy,
        "deviceshare.ScheduleWeight": 1,
    }
    return open_session(pod_group("g"), objects, tiers=[[(DeviceShare, {"arguments": arguments})]])


def new(*containers: Mapping[str, str], name: str = "new", **fields: Any) -> Pod:
    return gpu_pod(name, *(containers or (asks(1, 1),)), **fields)


def old(holds: str, number: int = 9) -> Pod:
    return gpu_pod("old", asks(number, 1), holds=holds, on="n1")


def written(opened: Opened, pod: str = "new") -> str:
    opened.place("g", {pod: "n1"}).commit()
    (bind,) = [effect for effect in opened.effects if isinstance(effect, Bind) and effect.pod.name == pod]
    return bind.annotations[IDS]


def test_pods_of_one_cycle_get_instances_of_one_group() -> None:
    pods = [new(asks(1, memory), name=f"p{number}") for number, memory in enumerate((8000, 8000, 3000))]
    opened = session(gpu_node("n1", mig_card("GPU-1a")), *pods)
    assert [written(opened, pod.metadata.name) for pod in pods] == [
        "GPU-1a[group2-0],NVIDIA,10240,0:",
        "GPU-1a[group2-1],NVIDIA,10240,0:",
        "GPU-1a[group2-3],NVIDIA,5120,0:",
    ]


@pytest.mark.parametrize(
    ("holds", "asked", "gets"),
    [
        pytest.param("", 5120, "group1-0", id="a free card: the first group that has one"),
        pytest.param("", 5121, "group2-0", id="a free card: the next group"),
        pytest.param("A[group1-0],NVIDIA,5120,0:", 5000, "group1-1", id="the group in use"),
        pytest.param("A[group2-0],NVIDIA,10240,0:", 5000, "group2-3", id="the smallest that suffices"),
        pytest.param("A[group2-3],NVIDIA,5120,0:", 5000, "group2-0", id="a larger one if these are in use"),
        pytest.param("A[group2-0],NVIDIA,1,0:A[group2-2],NVIDIA,1,0:", 9000, "group2-1", id="the first that is free"),
        pytest.param("A[other-0],NVIDIA,5120,0:", 5120, "group1-0", id="an unknown instance"),
        pytest.param("A[group1-99],NVIDIA,5120,0:", 5120, "group1-0", id="an unknown position"),
        pytest.param("A[,NVIDIA,5120,0:A],NVIDIA,1,0:", 5120, "group1-0", id="nonsense"),
        pytest.param("A,NVIDIA,5120,0:", 5120, "group1-0", id="no instance"),
        pytest.param("B[group3-0],NVIDIA,5120,0:", 5120, "group1-0", id="an unknown card"),
    ],
)
def test_a_restart_knows_which_instances_are_in_use(holds: str, asked: int, gets: str) -> None:
    opened = session(gpu_node("n1", mig_card("A")), old(holds), new(asks(1, asked)))
    assert written(opened).startswith(f"A[{gets}],")


@pytest.mark.parametrize(
    ("holds", "asked", "answer"),
    [
        pytest.param("A[group1-0],NVIDIA,5120,0:", 5121, INSTANCE, id="the group in use has none so large"),
        pytest.param("A[group3-0],NVIDIA,1,0:A[group3-1],NVIDIA,1,0:", 1, INSTANCE, id="all in use"),
        pytest.param("A[group1-0],NVIDIA,1,0:A[group3-1],NVIDIA,1,0:", 1, INSTANCE, id="instances of two groups"),
        pytest.param("", 20481, NO_INSTANCE, id="larger than any"),
        pytest.param("", 0, NO_INSTANCE, id="all memory of the card"),
        pytest.param("A[group3-0],NVIDIA,30000,0:", 20480, MEMORY, id="more memory in use than an instance has"),
    ],
)
def test_a_card_without_such_an_instance_refuses(holds: str, asked: int, answer: str) -> None:
    opened = session(gpu_node("n1", mig_card("A")), old(holds), new(asks(1, asked)))
    assert answers(opened, DeviceShare, "new") == {"n1": answer}
    assert refusing_for_good(opened, DeviceShare, "new") == (["n1"] if answer == NO_INSTANCE else [])


def test_containers_of_a_pod_get_different_instances() -> None:
    opened = session(gpu_node("n1", mig_card("A"), mig_card("B")), new(asks(2, 8000, 10), asks(1, 8000)))
    assert written(opened) == ("A[group2-0],NVIDIA,10240,10:B[group2-0],NVIDIA,10240,10:;B[group2-1],NVIDIA,10240,0:")


def test_what_is_placed_takes_its_instance_and_a_discard_gives_it_back() -> None:
    opened = session(gpu_node("n1", mig_card("A")), old("A[group3-0],NVIDIA,20480,0:"), new(name="first"), new())
    statement = opened.place("g", {"first": "n1"})
    assert answers(opened, DeviceShare, "new") == {"n1": MEMORY}
    statement.discard()
    assert willing(opened, DeviceShare, "new") == ["n1"]
    assert opened.ssn.findings.annotations == {}


def test_an_evicted_pod_keeps_its_instance_until_it_is_gone() -> None:
    there = "A[group3-0],NVIDIA,20480,0:A[group3-1],NVIDIA,20480,0:"
    opened = session(gpu_node("n1", mig_card("A")), old(there), new(asks(1, 5120), name="next"), new())
    statement = opened.evict("old")
    assert answers(opened, DeviceShare, "new") == {"n1": MEMORY}
    opened.pipeline("g", {"next": "n1"}, statement)
    assert opened.ssn.findings.annotations[int(opened.rows("next")[0])][IDS] == "A[group1-0],NVIDIA,5120,0:"
    statement.discard()
    assert opened.ssn.findings.annotations == {}


def test_models_that_are_not_configured_take_no_pods() -> None:
    other = card("A", kind="NVIDIA-H100", mode="mig")
    opened = session(gpu_node("n1", other), gpu_node("n2", mig_card("A")), new())
    assert answers(opened, DeviceShare, "new") == {"n1": UNKNOWN, "n2": ""}
    opened = session(gpu_node("n2", mig_card("A")), new(), models=None)
    assert answers(opened, DeviceShare, "new") == {"n2": UNKNOWN}


@pytest.mark.parametrize(("mode", "nodes"), [("mig", ["n1"]), ("hami-core", ["n2"])])
def test_a_pod_may_ask_for_a_mode(mode: str, nodes: list[str]) -> None:
    nodes_there = gpu_node("n1", mig_card("A")), gpu_node("n2", card("A"))
    opened = session(*nodes_there, new(annotations={"volcano.sh/vgpu-mode": mode}))
    assert willing(opened, DeviceShare, "new") == nodes


def test_binpack_scores_what_the_instance_has() -> None:
    """10240 of 40960 in use, an instance of 10240 for 8000 more: 50 %; one of 5120 of a free card: 12.5 %, or 13."""
    nodes = gpu_node("n1", mig_card("A")), gpu_node("n2", mig_card("A")), gpu_node("n3", card("A"))
    there = old("A[group2-0],NVIDIA,10240,0:")
    opened = session(*nodes, there, new(asks(1, 8000)), new(asks(1, 4096), name="small"), policy="binpack")
    assert scores(opened, DeviceShare, "new") == {"n1": 50, "n2": 25, "n3": 20}
    assert scores(opened, DeviceShare, "small") == {"n1": 38, "n2": 13, "n3": 10}


@pytest.mark.parametrize(
    ("holds", "asked", "sentence"),
    [
        pytest.param(
            "A[group1-0],NVIDIA,5120,0:",
            8000,
            "The pod asks for 1 GPU with 8000 MB of memory; the largest MIG instance that is free on a GPU has 5120 MB"
            ", on node n1",
            id="in use",
        ),
        pytest.param(
            "",
            30000,
            "The pod asks for 1 GPU with 30000 MB of memory; the largest MIG instance of a GPU has 20480 MB, on node "
            "n1",
            id="too large",
        ),
    ],
)
def test_what_was_asked_for_and_the_best_instance_are_reported(holds: str, asked: int, sentence: str) -> None:
    opened = session(gpu_node("n1", mig_card("A")), old(holds), new(asks(1, asked)))
    assert opened.ssn.placer.misfit(class_of(opened, "new")).refusal.message.count(sentence) == 1


# -- the argument ---------------------------------------------------------------------------------------------------


def geometry(**changes: Any) -> dict[str, Any]:
    kind = {"name": "1g.5gb", "memory": 5120, "count": 7, **changes.pop("kind", {})}
    return {"models": ["A100"], "allowedGeometries": [{"group": "g", "geometries": [kind]}], **changes}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        pytest.param("A100", "Expected `array`, got `str`", id="no list"),
        pytest.param([{"models": ["A100"]}], "missing required field `allowedGeometries`", id="no geometries"),
        pytest.param([geometry(kind={"memory": "5Gi"})], "$[0].allowedGeometries[0].geometries[0].memory", id="text"),
        pytest.param([geometry(model="A100")], "unknown field `model`", id="unknown field"),
        pytest.param([geometry(models=[])], "a model has no name", id="no model"),
        pytest.param([geometry(kind={"count": 63})], "A100 has 63 instances in all groups: 1 to 62", id="too many"),
        pytest.param([geometry(kind={"count": 0})], "instances of A100 need a memory and a count above 0", id="none"),
        pytest.param([geometry(kind={"memory": 0})], "instances of A100 need a memory and a count above 0", id="empty"),
        pytest.param(
            [geometry(allowedGeometries=[{"group": "a:b", "geometries": []}])], "groups of A100 need names", id="a name"
        ),
        pytest.param([geometry(allowedGeometries=[])], "A100 has 0 instances in all groups", id="no groups"),
    ],
)
def test_geometries_that_cannot_be_used_are_an_error(value: object, fault: str) -> None:
    values = {"deviceshare.VGPUEnable": True, "deviceshare.KnownMigGeometries": value}
    _, ((problem),) = read_arguments(DeviceShareArguments, values)
    assert problem.severity is Severity.ERROR
    assert problem.path == "deviceshare.KnownMigGeometries"
    assert fault in problem.message


def test_a_model_that_is_missing_is_named() -> None:
    opened = session(gpu_node("n1", card("A", kind="NVIDIA-H100", mode="mig")), new(asks(1, 1)))
    says = "Node n1 has GPUs of the type NVIDIA-H100 in mode mig: add their model to deviceshare.KnownMigGeometries"
    assert opened.ssn.placer.misfit(class_of(opened, "new")).refusal.message.endswith(f"{says}.")
