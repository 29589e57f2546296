"""Whole messages, as people read them. Changing one is changing what users search for: do it on purpose."""

from __future__ import annotations

from typing import Any

import pytest

from volcano_py.api.reasons import Reason
from volcano_py.api.wording import explain, explain_ceilings, explain_gangs, explain_nodes
from volcano_py.api.wording.explain_ceilings import Ceiling
from volcano_py.api.wording.explain_gangs import Leavers, PodMaker, ShortRole
from volcano_py.api.wording.explain_nodes import Shortage

CPU = 1000
KI, MI, GI = 1 << 10, 1 << 20, 1 << 30


def test_nodes_are_summed_up_in_the_words_of_kube_scheduler() -> None:
    counts = {explain_nodes.untolerated_taint("dedicated", "ml"): 1, explain_nodes.insufficient_reason("cpu"): 2}
    assert explain_nodes.nodes_summary(3, counts) == (
        "0/3 nodes are unavailable: 2 Insufficient cpu, 1 node(s) had untolerated taint {dedicated: ml}."
    )


def test_the_order_of_refusals_does_not_depend_on_how_many_there_are() -> None:
    few = explain_nodes.nodes_summary(12, {"Insufficient cpu": 9, "Too many pods": 3})
    many = explain_nodes.nodes_summary(12, {"Too many pods": 3, "Insufficient cpu": 10})
    assert few == "0/12 nodes are unavailable: 9 Insufficient cpu, 3 Too many pods."
    assert many == "0/12 nodes are unavailable: 10 Insufficient cpu, 3 Too many pods."


def test_a_cluster_without_nodes_and_nodes_without_reasons_have_a_sentence_too() -> None:
    assert explain_nodes.nodes_summary(0, {}) == "0/0 nodes are unavailable: there are no nodes."
    assert explain_nodes.nodes_summary(3, {"Insufficient cpu": 0}) == "0/3 nodes are unavailable."


def test_hundreds_of_different_taints_do_not_make_a_message_of_hundreds_of_lines() -> None:
    counts = {explain_nodes.untolerated_taint("owner", f"u{n:03d}"): 1 for n in range(300)}
    message = explain_nodes.nodes_summary(302, counts | {"Insufficient cpu": 2})
    assert message.startswith("0/302 nodes are unavailable: 2 Insufficient cpu, 1 node(s) had untolerated taint")
    assert message.endswith("{owner: u010}, 289 for 289 other reasons.")


@pytest.mark.parametrize(
    ("shortage", "sentence"),
    [
        (Shortage("cpu", 8 * CPU, 3500), "asks for 8 cpu; the emptiest node has 3.5 cpu free"),
        (Shortage("cpu", 8 * CPU, 3500, "n1"), "asks for 8 cpu; the emptiest node, n1, has 3.5 cpu free"),
        (Shortage("nvidia.com/gpu", 4, 0), "asks for 4 nvidia.com/gpu; no node has any nvidia.com/gpu free"),
        (Shortage("cpu", 1 * CPU, -500), "asks for 1 cpu; no node has any cpu free"),
        (
            Shortage("cpu", 1 * CPU, 0, others_refuse=True),
            "asks for 1 cpu; no suitable node has any cpu free",
        ),
        (
            Shortage("cpu", 8 * CPU, 3500, "n1", others_refuse=True),
            "asks for 8 cpu; the emptiest suitable node, n1, has 3.5 cpu free",
        ),
        (
            Shortage("cpu", 2 * CPU, 4 * CPU, "n1"),
            "asks for 2 cpu; the emptiest node, n1, has 4 cpu free but refuses the pod for another reason",
        ),
        (
            Shortage("memory", 64 * GI, 64 * GI - KI),
            "asks for 64Gi memory; the emptiest node has 67108863Ki memory free",
        ),
    ],
)
def test_a_shortage_says_what_was_asked_and_what_is_free_at_best(shortage: Shortage, sentence: str) -> None:
    assert explain_nodes.insufficient(shortage) == sentence


def test_the_refusal_of_all_nodes_ends_with_the_shortages() -> None:
    shortages = [Shortage("cpu", 8 * CPU, 3500, "n1"), Shortage("memory", 64 * GI, 1536 * MI, "n2")]
    assert explain_nodes.nodes_refuse(2, {"Insufficient cpu": 2}, shortages) == (
        "0/2 nodes are unavailable: 2 Insufficient cpu. The pod asks for 8 cpu; the emptiest node, n1, has 3.5 cpu "
        "free. "
        "The pod asks for 64Gi memory; the emptiest node, n2, has 1.5Gi memory free."
    )


def test_a_long_message_is_one_line_as_kubectl_shows_the_first_line_only() -> None:
    counts = {explain_nodes.untolerated_taint("owner", f"team-{n:02d}"): 1 for n in range(12)}
    advice = ["Tolerate one of these taints", "Or ask for less"]
    message = explain_nodes.nodes_refuse(12, counts, [Shortage("cpu", 8 * CPU, 4 * CPU, "n1")], advice)
    assert len(message) > 300
    assert message.endswith("has 4 cpu free. Tolerate one of these taints. Or ask for less.")
    assert "\n" not in message


def test_what_holds_a_gang_up_is_repeated_without_its_long_advice() -> None:
    fact = f"0/9 nodes are unavailable: {'9 Insufficient cpu, ' * 10}1 other. The pod asks for 8 cpu."
    advice = f"{'Wait until jobs finish. ' * 4}Or ask for less."
    assert explain_gangs.held_up("team/big", f"{fact} {advice}") == (
        f"held up by team/big of its gang: {fact} Wait until jobs finish."
    )
    long = f"0/9 nodes are unavailable: {'9 Insufficient cpu, ' * 20}1 other."
    assert explain_gangs.held_up("team/big", f"{long} Ask for less.") == f"held up by team/big of its gang: {long}"
    assert explain_gangs.held_up("team/big", long) == f"held up by team/big of its gang: {long}"
    assert explain_gangs.held_up("team/big", "no room. Wait") == "held up by team/big of its gang: no room. Wait"


def test_what_fits_no_node_even_when_empty_says_what_would() -> None:
    assert explain_nodes.never_fits("cpu", 64 * CPU, 32 * CPU, node="n7") == (
        "asks for 64 cpu; the largest node, n7, has 32 cpu even when empty: ask for less or add a larger node"
    )
    assert explain_nodes.never_fits("nvidia.com/gpu", 1, 0) == (
        "asks for 1 nvidia.com/gpu; no node offers nvidia.com/gpu: remove the request or add a node that does"
    )
    assert explain_nodes.never_fits("nvidia.com/gpu", 1, 0, device_class="gpu") == (
        "asks for 1 nvidia.com/gpu; no node offers nvidia.com/gpu, and none has devices of DeviceClass gpu, which "
        "offers it: check the selectors of the class and the ResourceSlices that its driver publishes, or remove the "
        "request"
    )
    assert explain_nodes.never_fits("deviceclass.resource.kubernetes.io/gpu", 1, 0).endswith(
        "offers deviceclass.resource.kubernetes.io/gpu: create DeviceClass gpu, correct the name, or remove the request"
    )


def test_the_largest_node_is_one_that_would_take_the_pod() -> None:
    assert explain_nodes.never_fits("cpu", 64 * CPU, 32 * CPU, node="n7", others_refuse=True) == (
        "asks for 64 cpu; the largest suitable node, n7, has 32 cpu even when empty: ask for less or add a larger node"
    )
    assert explain_nodes.never_fits("nvidia.com/gpu", 1, 0, others_refuse=True) == (
        "asks for 1 nvidia.com/gpu; no suitable node offers nvidia.com/gpu: fix why those that offer it refuse "
        "the pod, or add a node"
    )
    assert explain_nodes.never_fits_together({"cpu": 8 * CPU, "nvidia.com/gpu": 1}, others_refuse=True) == (
        "asks for 8 cpu, 1 nvidia.com/gpu; no single suitable node has all of that even when empty: ask for "
        "less or add a larger node"
    )


def test_a_gang_says_how_many_have_a_place_and_how_many_are_missing() -> None:
    assert explain_gangs.gang_incomplete(2, 3, 3) == (
        "2 of 3 pods have a place, minMember is 3: 1 more must fit before any is bound"
    )
    assert explain_gangs.gang_incomplete(1, 4, 3, cause="0/2 nodes are unavailable: 2 Insufficient cpu.") == (
        "1 of 4 pods has a place, minMember is 3: 2 more must fit before any is bound; "
        "0/2 nodes are unavailable: 2 Insufficient cpu."
    )
    assert explain_gangs.gang_incomplete(2, 3, 2, short=[ShortRole("worker", 0, 1)]) == (
        "2 of 3 pods have a place, minMember is 2, minTaskMember is not met (role worker has 0 of 1 pods): "
        "1 more must fit before any is bound"
    )
    assert explain_gangs.gang_unschedulable(1, 3, "0/2 nodes are unavailable.") == (
        "1/3 tasks in gang unschedulable: 0/2 nodes are unavailable."
    )


def test_pods_that_do_not_exist_yet_are_counted() -> None:
    assert explain_gangs.not_enough_tasks("ml/train", 1, 3) == (
        "PodGroup ml/train: 1 pod of this scheduler exists, minMember is 3: create 2 more or lower minMember"
    )


def test_pods_that_have_ended_are_not_left_unsaid() -> None:
    assert explain_gangs.not_enough_tasks("ml/train", 0, 3, ended=2) == (
        "PodGroup ml/train: 0 pods of this scheduler exist (2 more failed or are being deleted), minMember is 3: "
        "create 3 more or lower minMember"
    )
    assert "(1 more failed or is being deleted)" in explain_gangs.not_enough_tasks("ml/train", 2, 3, ended=1)


def test_every_role_that_is_short_of_pods_is_named() -> None:
    short = [ShortRole("driver", 0, 1), ShortRole("worker", 2, 4)]
    assert explain_gangs.not_enough_of_roles("ml/train", short) == (
        "PodGroup ml/train: minTaskMember is not met (role driver has 0 of 1 pods, role worker has 2 of 4 pods): "
        "create 3 more of this scheduler with annotation volcano.sh/task-spec or lower minTaskMember"
    )


def test_the_creator_of_the_pods_is_named() -> None:
    assert explain_gangs.not_enough_tasks("ml/train", 1, 3, maker=PodMaker("ReplicaSet web-5f")).endswith(
        "minMember is 3: wait until ReplicaSet web-5f creates 2 more (see its events), or lower minMember"
    )
    maker = PodMaker("Job train", "its minAvailable", "minAvailable of its tasks")
    assert explain_gangs.not_enough_of_roles("ml/train", [ShortRole("driver", 0, 1)], maker=maker).endswith(
        ": wait until Job train creates 1 more (see its events), or lower minAvailable of its tasks"
    )


def test_a_ceiling_says_whose_it_is_what_is_held_and_what_is_asked() -> None:
    assert explain_ceilings.over_ceiling(
        "team-a", "cpu", allocated=12 * CPU, asked=8 * CPU, ceiling=16 * CPU, kind=Ceiling.DESERVED
    ) == (
        "queue team-a: 12 cpu allocated + 8 asked > 16 deserved; "
        "wait until jobs of the queue finish, or raise its weight"
    )


def test_a_ceiling_above_names_both_queues_the_promises_and_the_holder() -> None:
    assert explain_ceilings.over_ceiling(
        "org",
        "memory",
        allocated=48 * GI,
        inqueue=8 * GI,
        asked=16 * GI,
        ceiling=64 * GI,
        kind=Ceiling.CAPABILITY,
        above="team-a",
        holder="ml/train-1 holds 40Gi",
    ) == (
        "queue org, above team-a: 48Gi memory allocated (ml/train-1 holds 40Gi) + 8Gi promised + 16Gi asked > "
        "64Gi capability; wait until jobs of the queue finish, or raise its spec.capability"
    )
    assert explain_ceilings.over_ceiling(
        "team-a", "pods", allocated=1, asked=1, ceiling=1, kind=Ceiling.REAL_CAPABILITY
    ) == (
        "queue team-a: 1 pod allocated + 1 asked > 1 left by other queues' guarantees; "
        "wait until jobs of the queue finish, or lower the guarantees of other queues"
    )


def test_what_a_whole_gang_asks_for_is_called_so() -> None:
    message = explain_ceilings.over_ceiling(
        "q", "cpu", allocated=0, asked=9 * CPU, ceiling=8 * CPU, kind=Ceiling.CLUSTER, by_gang=True
    )
    assert (
        message == "queue q: 0 cpu allocated + 9 asked by the gang > 8 in the whole cluster; ask for less, or add nodes"
    )


def test_the_queues_whose_guarantees_leave_no_more_are_named() -> None:
    reported = explain_ceilings.over_ceiling(
        "q", "cpu", allocated=0, asked=1000, ceiling=0, kind=Ceiling.REAL_CAPABILITY, kept="a: 1 cpu"
    )
    assert "> 0 left by other queues' guarantees (a: 1 cpu); wait until" in reported


def test_a_ceiling_missed_by_one_byte_can_be_seen() -> None:
    message = explain_ceilings.over_ceiling(
        "q", "memory", allocated=64 * GI, asked=1, ceiling=64 * GI, kind=Ceiling.CAPABILITY
    )
    assert message.startswith("queue q: 64Gi memory allocated + 1 asked > 64Gi capability; ")


def test_an_overcommitted_cluster_says_how_its_limit_comes_about() -> None:
    assert explain_ceilings.cluster_overcommitted(
        "cpu", used=70 * CPU, inqueue=20 * CPU, asked=10 * CPU, allocatable=80 * CPU, factor=1.2
    ) == (
        "cluster: 70 cpu used + 20 promised + 10 asked > 96 (80 allocatable x overcommit-factor 1.2); "
        "wait until jobs finish, add nodes or raise the factor"
    )


@pytest.mark.parametrize(
    ("freed", "said"),
    [
        (10, "evictions could free 10 for the job, but other jobs were promised 20 before; "),
        (4, "evictions could free 4 for the job, which is too little; "),
    ],
)
def test_an_overcommitted_cluster_says_what_evictions_could_free_for_the_job(freed: int, said: str) -> None:
    assert explain_ceilings.cluster_overcommitted(
        "cpu", used=95 * CPU, inqueue=20 * CPU, asked=10 * CPU, allocatable=80 * CPU, factor=1.2, freed=freed * CPU
    ) == (
        "cluster: 95 cpu used + 20 promised + 10 asked > 96 (80 allocatable x overcommit-factor 1.2); "
        f"{said}wait until jobs finish, add nodes or raise the factor"
    )


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        (
            explain_ceilings.queue_closed("team-a", "Closing"),
            (
                "queue team-a is Closing and starts no jobs: open it (volcano-py queue open --name team-a) or choose "
                "another queue"
            ),
        ),
        (
            explain_ceilings.queue_closed("speech", "Closed", ("research", "Closing")),
            (
                "queue speech is Closed and starts no jobs, and queue research above it is Closing: open research "
                "first (volcano-py queue open --name research) or choose another queue"
            ),
        ),
        (
            explain.queue_not_found("team-x"),
            "queue team-x does not exist: create it, or name an existing one in spec.queue of the PodGroup",
        ),
        (
            explain.queue_not_found("x", explain.QueueSource(explain.NamedBy.NAMESPACE, "Pod hello", "ml")),
            (
                "queue x does not exist: create it, or name an existing one in the annotation "
                "scheduling.volcano.sh/queue-name of namespace ml and recreate Pod hello"
            ),
        ),
        (
            explain.queue_not_found("x", explain.QueueSource(explain.NamedBy.TEMPLATE, "ReplicaSet web-5f", "ml")),
            (
                "queue x does not exist: create it, or recreate ReplicaSet web-5f with an existing one in the "
                "annotation scheduling.volcano.sh/queue-name of its pod template"
            ),
        ),
        (
            explain.invalid_queue("a", "it is its own parent: correct spec.parent"),
            "queue a: it is its own parent: correct spec.parent",
        ),
        (
            explain.pod_group_not_found("ml", "train"),
            "PodGroup ml/train does not exist: create it or correct the pod's annotation scheduling.k8s.io/group-name",
        ),
        (
            explain.invalid_field("spec.minMember", -1, "it must not be negative"),
            "spec.minMember is -1: it must not be negative",
        ),
        (
            explain.unsupported("spec.resourceClaims"),
            (
                "the pod uses spec.resourceClaims, which this scheduler does not evaluate yet: leave it out, or give "
                "the pod to another scheduler"
            ),
        ),
        (
            explain.plugin_failed("mine"),
            ("plugin mine failed; see the scheduler's log, and fix the plugin or remove it from the configuration"),
        ),
        (
            explain.plugin_failed(),
            "a plugin failed; see the scheduler's log, and fix the plugin or remove it from the configuration",
        ),
        (
            explain.scheduling_gated(["a/b"]),
            "the pod has the scheduling gate a/b: the controller or user that set it must remove it",
        ),
        (
            explain.scheduling_gated(["a", "b", "c", "d", "e"]),
            (
                "the pod has the scheduling gates a, b, c and 2 more: the controller or user that set them must remove "
                "them"
            ),
        ),
        (
            explain.refused_by_plugin("resourcequota", "namespace ml has no pods left"),
            "plugin resourcequota refuses the job: namespace ml has no pods left",
        ),
        (
            explain_gangs.waiting_for_release(["n1"]),
            (
                "a place on node n1 is kept for it until other pods have left the node or pods that it must run near "
                "have started"
            ),
        ),
        (
            explain_gangs.waiting_for_release(["n1"], Leavers(["b/old-0", "b/old-1"])),
            "a place on node n1 is kept for it until the pods terminating there are gone: b/old-0, b/old-1",
        ),
        (
            explain_gangs.waiting_for_release(
                ["n1", "n2", "n3", "n4"],
                Leavers([f"b/old-{number}" for number in range(9)], ["b/old", "b/x"], ["team-b"]),
                held_for=60.0,
            ),
            (
                "places on nodes n1, n2, n3 and 1 more are kept for it until the pods terminating there are gone: "
                "b/old-0, b/old-1, b/old-2 and 6 more of PodGroups b/old, b/x in queue team-b; the place is kept until "
                "60 s after they should be gone"
            ),
        ),
        (
            explain.not_yet_evaluated(),
            (
                "the scheduler has not evaluated it yet; "
                "if this lasts, check in the scheduler's /status and log that it is running and is the leader"
            ),
        ),
    ],
)
def test_the_other_reasons_have_a_sentence_each(sentence: str, text: str) -> None:
    assert sentence == text


def test_what_others_wrote_is_cut_before_it_is_repeated() -> None:
    assert len(explain.invalid_field("metadata.annotations", "x" * 100_000, "shorten it")) < 300
    assert len(explain.pod_group_not_found("ml", "g" * 200_000)) < 1000


def test_a_job_larger_than_the_ceiling_is_not_advised_to_wait() -> None:
    asked: Any = {"allocated": 0, "asked": 6 * CPU, "ceiling": 4 * CPU}
    assert explain_ceilings.over_ceiling("q", "cpu", **asked, kind=Ceiling.CAPABILITY).endswith(
        "> 4 capability; ask for less, or raise its spec.capability"
    )
    assert explain_ceilings.over_ceiling("q", "cpu", **asked, kind=Ceiling.DESERVED).endswith(
        "> 4 deserved; wait until other queues ask for less, or raise its weight"
    ), "what a queue deserves grows when others ask for less"
    assert explain_ceilings.cluster_overcommitted(
        "cpu", used=0, inqueue=0, asked=9 * CPU, allocatable=4 * CPU, factor=1.2
    ).endswith("; ask for less or add nodes")
    assert explain_ceilings.cluster_overcommitted("x/gpu", used=0, inqueue=0, asked=1, allocatable=0, factor=1.2) == (
        "asks for 1 x/gpu; no node offers x/gpu: remove the request or add a node that does"
    )
    assert explain_ceilings.over_quota(
        "ml", "compute", "cpu", resource="cpu", used=0, promised=0, asked=9 * CPU, hard=4 * CPU
    ).endswith("; ask for less, or raise the quota")


def test_a_message_opens_with_its_code() -> None:
    assert explain.message(Reason.QUEUE_CLOSED, explain_ceilings.queue_closed("a", "Closed")) == (
        "QueueClosed: queue a is Closed and starts no jobs: open it (volcano-py queue open --name a) or choose another "
        "queue"
    )
