"""Which cards pods get: HAMi's tests, the order of the policies, and what the binding writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.placement.cards import asks, card, gpu_node, gpu_pod
from tests.support.placement.node_answers import answers, class_of, refusing_for_good, scores, willing
from tests.support.sessions import NOW, Opened, PluginChoice, node, open_session, pod_group
from volcano_py.api.effects import Bind
from volcano_py.api.objects import Node, Pod
from volcano_py.plugins.deviceshare import DeviceShare
from volcano_py.plugins.gang import Gang

IDS = "volcano.sh/vgpu-ids-new"
MEMORY = "node(s) had too few GPUs with enough memory free"
CORES = "node(s) had too few GPUs with enough cores free"
USERS = "node(s) had too few GPUs that take another container"
APART = "node(s) had too few GPUs without a pod of the PodGroup"
UNWANTED = "node(s) had too few GPUs that the pod may use"
TOO_FEW = "node(s) had too few GPUs"
TOO_SMALL = "node(s) had too small GPUs"
NO_CARDS = "node(s) had no GPUs to share"
MIG = "node(s) had GPUs in mode mig, of no model in deviceshare.KnownMigGeometries"


def session(*objects: Node | Pod, policy: str = "", weight: float = 0) -> Opened:
    arguments: dict[str, Any] = {
        "deviceshare.VGPUEnable": True,
        "deviceshare.SchedulePolicy": policy,
        "deviceshare.ScheduleWeight": weight,
    }
    return open_session(pod_group("g"), objects, tiers=[[(DeviceShare, {"arguments": arguments})]])


def written(opened: Opened, pod: str = "new", on: str = "n1") -> Mapping[str, str]:
    """The annotations that come with the binding to the node."""
    opened.place("g", {pod: on}).commit()
    (bind,) = [effect for effect in opened.effects if isinstance(effect, Bind) and effect.pod.name == pod]
    return bind.annotations


def says(asking: Pod, *others: Pod, cards: tuple[str, ...] = (card("A"),)) -> str:
    """What node n1 with these cards and pods says to the pod `new`."""
    return answers(session(gpu_node("n1", *cards), asking, *others), DeviceShare, "new")["n1"]


def new(number: int | None = None, memory: int = 0, cores: int = 0) -> Pod:
    return gpu_pod("new", asks(number, memory, cores))


def old(holds: str, **fields: Any) -> Pod:
    return gpu_pod("old", asks(9, 1), holds=holds, on="n1", **fields)


# -- what fits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asking", "holds", "answer"),
    [
        pytest.param(new(1, 32768), "A,NVIDIA,8192,0:", "", id="the memory that is left"),
        pytest.param(new(1, 32769), "A,NVIDIA,8192,0:", MEMORY, id="more than is left"),
        pytest.param(new(1), "", "", id="no memory named: the whole card"),
        pytest.param(new(1), "A,NVIDIA,1,0:", MEMORY, id="no memory named, and some is in use"),
        pytest.param(new(1, 1, 70), "A,NVIDIA,1,30:", "", id="the cores that are left"),
        pytest.param(new(1, 1, 71), "A,NVIDIA,1,30:", CORES, id="more cores than are left"),
        pytest.param(new(1, 1, 100), "A,NVIDIA,1,0:", CORES, id="all cores need an untouched card"),
        pytest.param(new(1, 1), "A,NVIDIA,1,100:", CORES, id="a card without cores takes nobody"),
        pytest.param(new(None, 8192), "", "", id="memory alone asks for one card"),
        pytest.param(new(2, 1), "", TOO_FEW, id="more cards than there are"),
        pytest.param(new(1, 50000), "", TOO_SMALL, id="more than the card has"),
        pytest.param(new(1, 1, 101), "", TOO_SMALL, id="more cores than a card has"),
        pytest.param(new(1, 1), "A,NVIDIA,1,1:" * 9, "", id="the last user"),
        pytest.param(gpu_pod("new", asks(1, 1)), "A,NVIDIA,0,0:" * 9 + "B,NVIDIA,1,1:", "", id="unknown cards"),
    ],
)
def test_a_card_takes_what_it_has_left(asking: Pod, holds: str, answer: str) -> None:
    assert says(asking, old(holds)) == answer


def test_a_card_has_as_many_users_as_the_node_says_even_with_memory_left() -> None:
    cards = (card("A", users=2),)
    assert says(new(1, 1), old("A,NVIDIA,1,0:"), cards=cards) == ""
    assert says(new(1, 1), old("A,NVIDIA,1,0:A,NVIDIA,1,0:"), cards=cards) == USERS


def test_the_second_container_sees_what_the_first_one_takes() -> None:
    cards = (card("A", 8000), card("B", 8000))
    fits = gpu_pod("new", asks(2, 4000), asks(1, 4000))
    assert says(fits, cards=cards) == ""
    assert says(gpu_pod("new", asks(2, 4000), asks(1, 4001)), cards=cards) == MEMORY


def test_containers_that_fit_in_one_order_of_cards_are_not_refused_for_good_by_another() -> None:
    """Binpack takes A first. B, the last one, has no place for both containers."""
    asking = gpu_pod("new", asks(1, 3), asks(2, 3))
    opened = session(gpu_node("n1", card("A", 8, users=2), card("B", 8, users=1)), asking, policy="binpack")
    assert willing(opened, DeviceShare, "new") == ["n1"]


@pytest.mark.parametrize(
    ("holds", "free"),
    [
        pytest.param("A,NVIDIA,-5,-5:", 40960, id="negative"),
        pytest.param("A,NVIDIA,x,y:A:,,,:::", 40960, id="nonsense"),
        pytest.param("A,NVIDIA,40000,0:" * 99, 0, id="more devices than the pod asks for, more than there is"),
        pytest.param("C,NVIDIA,1,0:", 40960, id="unknown card"),
    ],
)
def test_what_a_pod_says_it_holds_never_makes_a_card_larger(holds: str, free: int) -> None:
    assert says(new(1, 40960), old(holds)) == ("" if free else MEMORY)


def test_a_pod_that_asks_for_no_card_holds_none_whatever_it_says() -> None:
    forged = gpu_pod("old", {"cpu": "1"}, holds="A,NVIDIA,40960,100:", on="n1")
    assert says(new(1, 40960, 100), forged) == ""


def test_ended_pods_hold_nothing_and_pods_that_are_deleted_hold_theirs_until_they_are_gone() -> None:
    assert says(new(1), old("A,NVIDIA,1,1:", phase="Succeeded")) == ""
    assert says(new(1), old("A,NVIDIA,1,1:", deleting=True)) == MEMORY


def test_nodes_without_cards_say_so() -> None:
    few = gpu_node("few", card("A"), offers={"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "1"})
    opened = session(node("bare"), few, gpu_node("mig", card("A", mode="mig")), gpu_node("ok", card("A")), new(1))
    assert answers(opened, DeviceShare, "new") == {"bare": NO_CARDS, "few": NO_CARDS, "mig": MIG, "ok": ""}
    assert refusing_for_good(opened, DeviceShare, "new") == ["bare", "few", "mig"]


def test_one_record_that_cannot_be_read_voids_the_node() -> None:
    assert says(new(1, 1), cards=(card("A"), "B,10,40960:")) == NO_CARDS


def test_two_records_with_one_uuid_void_the_node_and_no_other() -> None:
    opened = session(gpu_node("n1", card("A"), card("A")), gpu_node("n2", card("A")), old("A,NVIDIA,1,0:"), new(1))
    assert answers(opened, DeviceShare, "new") == {"n1": NO_CARDS, "n2": ""}


@pytest.mark.parametrize(
    ("asking", "holds", "sentence"),
    [
        pytest.param(
            new(2, 20000),
            "A,NVIDIA,30000,0:",
            "The pod asks for 2 GPUs with 20000 MB of memory each; the most that is free on each of 2 GPUs is "
            "10960 MB, on node n1",
            id="memory of the second best card",
        ),
        pytest.param(
            new(1, 1, 60),
            "A,NVIDIA,1,50:B,NVIDIA,1,70:",
            "The pod asks for 1 GPU with 1 MB of memory and 60 % of the cores; the most that is free of the cores of a "
            "GPU is 50 %, on node n1",
            id="cores",
        ),
        pytest.param(
            new(2, 1, 100),
            "A,NVIDIA,1,0:",
            "The pod asks for 2 GPUs with 1 MB of memory and 100 % of the cores each; that needs GPUs that no other "
            "container uses",
            id="all cores",
        ),
        pytest.param(
            new(1, 50000),
            "",
            "The pod asks for 1 GPU with 50000 MB of memory; the largest GPU that it may use has 40960 MB, on node n1",
            id="too large",
        ),
        pytest.param(
            new(3, 1),
            "",
            "The pod asks for 3 GPUs; the most of these on a node is 2, on node n1",
            id="too many",
        ),
        pytest.param(
            gpu_pod(
                "new", asks(2, 1), annotations={"volcano.sh/vgpu-use-gpuuuid": "A", "nvidia.com/use-gputype": "nvidia"}
            ),
            "",
            "The pod asks for 2 GPUs that its annotations volcano.sh/vgpu-use-gpuuuid and nvidia.com/use-gputype "
            "allow; the most of these on a node is 1, on node n1",
            id="annotations",
        ),
        pytest.param(
            gpu_pod("new", asks(1, 1), annotations={"volcano.sh/vgpu-mode": "mig"}),
            "",
            "The pod asks for 1 GPU that its annotation volcano.sh/vgpu-mode allows; the most of these on a node is 0"
            ", on node n1",
            id="one annotation",
        ),
    ],
)
def test_what_was_asked_for_and_what_the_best_card_has_is_reported(asking: Pod, holds: str, sentence: str) -> None:
    opened = session(gpu_node("n1", card("A"), card("B")), asking, old(holds))
    task_class = class_of(opened, "new")
    assert [*opened.ssn.placer.misfit(task_class).refusal.message.splitlines()][-1].count(sentence) == 1


# -- which cards will do ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotations", "wanted"),
    [
        pytest.param({}, "GPU-3", id="without a policy the last card first"),
        pytest.param({"volcano.sh/vgpu-use-gpuuuid": "GPU-1, GPU-2"}, "GPU-2", id="UUIDs allowed"),
        pytest.param({"volcano.sh/vgpu-nouse-gpuuuid": "GPU-3"}, "GPU-2", id="UUID denied"),
        pytest.param(
            {"volcano.sh/vgpu-use-gpuuuid": "GPU-1,GPU-2", "volcano.sh/vgpu-nouse-gpuuuid": "GPU-2"},
            "GPU-1",
            id="allowed and denied",
        ),
        pytest.param({"nvidia.com/use-gputype": "a100, t4"}, "GPU-2", id="part of a type in any case"),
        pytest.param({"nvidia.com/nouse-gputype": "t4,V100"}, "GPU-1", id="type denied"),
        pytest.param({"volcano.sh/vgpu-mode": "hami-core"}, "GPU-3", id="mode"),
    ],
)
def test_a_pod_says_which_cards_it_wants(annotations: dict[str, str], wanted: str) -> None:
    cards = card("GPU-1"), card("GPU-2", kind="NVIDIA-T4"), card("GPU-3", kind="Tesla-V100")
    opened = session(gpu_node("n1", *cards), gpu_pod("new", asks(1, 1), annotations=annotations))
    assert written(opened)[IDS] == f"{wanted},NVIDIA,1,0:"


@pytest.mark.parametrize(
    "annotations", [{"volcano.sh/vgpu-mode": "mig"}, {"volcano.sh/vgpu-use-gpuuuid": "other"}], ids=str
)
def test_a_node_without_such_cards_refuses_for_good(annotations: dict[str, str]) -> None:
    opened = session(gpu_node("n1", card("A")), gpu_pod("new", asks(1, 1), annotations=annotations))
    assert answers(opened, DeviceShare, "new") == {"n1": UNWANTED}
    assert refusing_for_good(opened, DeviceShare, "new") == ["n1"]


def test_pods_of_a_group_are_kept_apart_if_they_say_so() -> None:
    spread = {"volcano.sh/vgpu-podgroup-policy": "spread"}
    first, second, third = (gpu_pod(name, asks(1, 1), annotations=spread) for name in ("p0", "p1", "p2"))
    opened = session(gpu_node("n1", card("A"), card("B")), first, second, third, gpu_pod("other", asks(1, 1)))
    opened.place("g", {"p0": "n1"})
    statement = opened.place("g", {"p1": "n1"})
    assert answers(opened, DeviceShare, "p2") == {"n1": APART}
    assert willing(opened, DeviceShare, "other") == ["n1"]
    statement.discard()
    assert willing(opened, DeviceShare, "p2") == ["n1"]


def test_a_pod_of_another_group_may_share_the_card() -> None:
    spread = {"volcano.sh/vgpu-podgroup-policy": "spread"}
    there = gpu_pod("there", asks(1, 1), holds="A,NVIDIA,1,0:", on="n1", group="g")
    same = gpu_pod("same", asks(1, 1), annotations=spread)
    foreign = gpu_pod("foreign", asks(1, 1), annotations=spread, group="h")
    opened = open_session(
        pod_group("g"),
        pod_group("h"),
        gpu_node("n1", card("A")),
        [there, same, foreign],
        tiers=[[(DeviceShare, {"arguments": {"deviceshare.VGPUEnable": True}})]],
    )
    assert answers(opened, DeviceShare, "same") == {"n1": APART}
    assert answers(opened, DeviceShare, "foreign") == {"n1": ""}


# -- the order of cards, and scores ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        pytest.param("", "C", id="none: the last one"),
        pytest.param("binpack", "B", id="the most memory in use"),
        pytest.param("spread", "A", id="the fewest users, then the first"),
        pytest.param("other", "C", id="unknown: as none"),
    ],
)
def test_the_policy_orders_the_cards(policy: str, wanted: str) -> None:
    there = gpu_pod("old", asks(9), holds="B,NVIDIA,9000,0:C,NVIDIA,100,0:C,NVIDIA,100,0:", on="n1")
    opened = session(gpu_node("n1", card("A"), card("B"), card("C")), there, new(1, 1000), policy=policy)
    assert written(opened)[IDS] == f"{wanted},NVIDIA,1000,0:"


def test_binpack_scores_the_card_that_would_be_chosen_after_adding_the_pod() -> None:
    """8192 of 40960 in use, 4096 asked for: 30 %."""
    opened = session(
        gpu_node("n1", card("A"), card("B")),
        gpu_node("n2", card("A")),
        old("A,NVIDIA,8192,0:"),
        new(1, 4096),
        policy="binpack",
        weight=10,
    )
    assert scores(opened, DeviceShare, "new") == {"n1": 300, "n2": 100}


def test_spread_scores_cards_without_users() -> None:
    opened = session(
        gpu_node("n1", card("A")),
        gpu_node("n2", card("A"), card("B")),
        old("A,NVIDIA,1,0:"),
        gpu_pod("more", asks(1, 1), holds="A,NVIDIA,1,0:", on="n2"),
        new(1, 1),
        policy="spread",
        weight=2,
    )
    assert scores(opened, DeviceShare, "new") == {"n1": 0, "n2": 200}


def test_without_a_weight_or_a_policy_there_are_no_scores() -> None:
    for policy, weight in (("binpack", 0), ("", 10)):
        opened = session(gpu_node("n1", card("A")), new(1, 4096), policy=policy, weight=weight)
        assert scores(opened, DeviceShare, "new") == {"n1": 0}


# -- what is written ----------------------------------------------------------------------------------------------


def test_the_binding_says_which_cards_each_container_gets() -> None:
    asking = gpu_pod("new", asks(2, 4096, 30), {"cpu": "1"}, asks(1, 1024))
    opened = session(gpu_node("n1", card("GPU-1a"), card("GPU-2b")), asking, policy="spread")
    text = "GPU-1a,NVIDIA,4096,30:GPU-2b,NVIDIA,4096,30:;GPU-1a,NVIDIA,1024,0:"
    now = str(int(NOW.timestamp()))
    assert written(opened) == {
        "volcano.sh/vgpu-node": "n1",
        "volcano.sh/vgpu-time": now,
        "volcano.sh/bind-time": now,
        "volcano.sh/vgpu-ids-new": text,
        "volcano.sh/devices-to-allocate": text,
        "volcano.sh/bind-phase": "allocating",
    }


def test_a_whole_card_is_written_with_its_memory() -> None:
    assert written(session(gpu_node("n1", card("A", 16000)), new(1)))[IDS] == "A,NVIDIA,16000,0:"


def test_a_pod_that_asks_for_no_card_is_bound_without_such_annotations() -> None:
    opened = session(gpu_node("n1", card("A")), gpu_pod("new", {"cpu": "1"}))
    assert written(opened) == {}


# -- within a cycle -----------------------------------------------------------------------------------------------


def test_what_is_placed_takes_its_cards_and_a_discard_gives_them_back() -> None:
    opened = session(gpu_node("n1", card("A")), gpu_pod("first", asks(1)), new(1))
    statement = opened.place("g", {"first": "n1"})
    assert answers(opened, DeviceShare, "new") == {"n1": MEMORY}
    statement.discard()
    assert willing(opened, DeviceShare, "new") == ["n1"]
    assert opened.ssn.findings.annotations == {}


def test_an_evicted_pod_keeps_its_card_until_it_is_gone_and_a_promise_takes_it_then() -> None:
    opened = session(gpu_node("n1", card("A")), old("A,NVIDIA,40960,0:"), gpu_pod("next", asks(1)), new(1))
    statement = opened.evict("old")
    assert answers(opened, DeviceShare, "new") == {"n1": MEMORY}
    opened.pipeline("g", {"next": "n1"}, statement)
    assert opened.ssn.findings.annotations[int(opened.rows("next")[0])][IDS] == "A,NVIDIA,40960,0:"
    assert answers(opened, DeviceShare, "new") == {"n1": MEMORY}
    statement.discard()
    assert answers(opened, DeviceShare, "new") == {"n1": MEMORY}
    assert opened.ssn.findings.annotations == {}


@pytest.mark.parametrize("entry", [Gang, (DeviceShare, {"arguments": {}}), (DeviceShare, {"enablePredicate": False})])
def test_without_the_plugin_or_its_argument_such_pods_wait(entry: PluginChoice) -> None:
    opened = open_session(pod_group("g"), gpu_node("n1", card("A")), new(1), tiers=[[entry]])
    problem = opened.ssn.task_class(int(opened.rows("new")[0])).problem
    assert problem is not None
    assert problem.message == (
        "the pod asks for volcano.sh/vgpu-number, and no plugin chooses its GPUs: add the plugin deviceshare to the "
        "configuration, with deviceshare.VGPUEnable: true"
    )


def test_what_else_is_not_evaluated_is_still_refused() -> None:
    more = gpu_pod("new", {**asks(1), "volcano.sh/vgpu-memory-percentage": "50"})
    opened = session(gpu_node("n1", card("A")), more)
    problem = opened.ssn.task_class(int(opened.rows("new")[0])).problem
    assert problem is not None
    assert "the pod uses volcano.sh/vgpu-memory-percentage (Volcano's plugin deviceshare)" in problem.message
