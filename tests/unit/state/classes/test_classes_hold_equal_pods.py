"""Task classes: what makes two pods the same to the scheduler, and what they ask for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.sessions import pod
from tests.unit.state.watched import Watched, with_spec, with_status
from volcano_py.api.objects import (
    Affinity,
    Condition,
    Container,
    ContainerPort,
    ContainerStatus,
    ISCSISource,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PersistentVolumeClaimSource,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    ResourceList,
    ResourceRequirements,
    SelectorRequirement,
    Toleration,
    TopologySpreadConstraint,
    Volume,
    WeightedPodAffinityTerm,
)
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import cards_not_chosen, cpus_not_aligned, unsupported

GI = 2**30


def asks(**requests: str) -> ResourceRequirements:
    return ResourceRequirements(requests=dict(requests))


def with_containers(*containers: Container, init: list[Container] | None = None, name: str = "a", **spec: Any) -> Pod:
    changed: Pod = with_spec(pod(name), containers=list(containers), init_containers=init or [], **spec)
    return changed


def request_of(changed: Pod) -> dict[str, int]:
    """What the pod counts for, without its own place."""
    watched = Watched(changed)
    amounts = watched.state.ledger.axis.amounts(watched.class_of("a").request)
    assert amounts.pop("pods") == 1
    return amounts


def problem_of(changed: Pod) -> tuple[Reason, str]:
    problem = Watched(changed).class_of("a").problem
    assert problem is not None
    return problem.reason, problem.message


# -- who shares a class -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod("b", cpu="1"), id="another name"),
        pytest.param(pod("b", cpu="1000m"), id="the same amount written otherwise"),
        pytest.param(pod("b", cpu="1", annotations={"volcano.sh/template-uid": "x"}), id="annotations"),
        pytest.param(pod("b", cpu="1", labels={"app": "x"}), id="labels that no selector uses"),
        pytest.param(pod("b", cpu="1", namespace="other"), id="another namespace"),
        pytest.param(pod("b", cpu="1", priority=7, group="g", role="worker", gates=["g"]), id="place in its gang"),
        pytest.param(pod("b", cpu="1", on="n1"), id="on a node"),
    ],
)
def test_what_decides_nothing_splits_no_class(other: Pod) -> None:
    assert Watched(pod("a", cpu="1"), other).classes() == 1


LABELLED = pod("b", cpu="1", node_selector={"zone": "a"})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod("b", cpu="2"), id="request"),
        pytest.param(
            with_containers(Container(resources=asks(**{"cpu": "1", "nvidia.com/gpu": "1"})), name="b"), id="device"
        ),
        pytest.param(LABELLED, id="node selector"),
        pytest.param(pod("b", cpu="1", tolerations=[Toleration(operator="Exists")]), id="toleration"),
        pytest.param(pod("b", cpu="1", host_ports=[80]), id="host port"),
        pytest.param(pod("b", cpu="1", affinity=Affinity(node_affinity=NodeAffinity())), id="affinity"),
        pytest.param(with_spec(pod("b"), containers=[Container(image="nginx", resources=asks(cpu="1"))]), id="image"),
        pytest.param(with_spec(pod("b", cpu="1"), volumes=[Volume(iscsi=ISCSISource(iqn="disk"))]), id="disk"),
    ],
)
def test_what_decides_splits_classes_whatever_the_annotations_say(other: Pod) -> None:
    same = {"volcano.sh/template-uid": "borrowed"}
    mine = pod("a", cpu="1", annotations=same)
    theirs = msgspec.structs.replace(other, metadata=msgspec.structs.replace(other.metadata, annotations=same))
    assert Watched(mine, theirs).classes() == 2


def test_the_order_of_a_node_selector_is_no_difference() -> None:
    one = pod("a", node_selector={"a": "1", "b": "2"})
    other = pod("b", node_selector={"b": "2", "a": "1"})
    assert Watched(one, other).classes() == 1


def spreads_from(**labels: str) -> Affinity:
    """Keep away from pods with these labels."""
    term = PodAffinityTerm(topology_key="zone", label_selector=LabelSelector(match_labels=labels))
    return Affinity(pod_anti_affinity=PodAffinity(required=[term]))


def test_labels_that_no_term_selects_do_not_split_pods() -> None:
    watched = Watched(
        pod("a", affinity=spreads_from(app="x"), labels={"app": "x", "index": "0"}),
        pod("b", affinity=spreads_from(app="x"), labels={"app": "x", "index": "1"}),
        pod("c", labels={"index": "0"}),
        pod("d", labels={"index": "1"}),
    )
    assert watched.classes() == 2


def test_any_pods_term_splits_pods_of_which_it_matches_some() -> None:
    watched = Watched(pod("a", labels={"app": "x"}), pod("b", labels={"app": "y"}))
    assert watched.classes() == 1
    looks_at_them = pod("far", affinity=spreads_from(app="x"), on="n1")
    watched.put(looks_at_them)
    assert watched.class_of("a").row != watched.class_of("b").row
    assert len(watched.class_of("a").profile) == 1
    assert watched.class_of("b").profile == ()
    watched.delete(looks_at_them)
    assert watched.class_of("a").row == watched.class_of("b").row


def test_alike_terms_in_different_namespaces_are_different_terms() -> None:
    social = spreads_from(app="x")
    assert Watched(pod("a", affinity=social), pod("b", affinity=social, namespace="other")).classes() == 2


def test_labels_that_are_merged_into_terms_split_pods() -> None:
    term = PodAffinityTerm(topology_key="zone", label_selector=LabelSelector(), match_label_keys=["rev"])
    social = Affinity(
        pod_anti_affinity=PodAffinity(preferred=[WeightedPodAffinityTerm(weight=1, pod_affinity_term=term)])
    )
    pods = [pod(name, affinity=social, labels={"rev": rev, "x": name}) for name, rev in zip("abc", "112", strict=True)]
    assert len({each.key for each in Watched(*pods).snapshot().classes if each is not None}) == 2


def test_a_scoring_strategy_of_its_own_splits_pods_whatever_else_they_share() -> None:
    kind, weight = "volcano.sh/resource-strategy-scoring-type", "volcano.sh/resource-strategy-weight"
    packed = {kind: "MostAllocated", weight: '{"cpu": 1}'}
    watched = Watched(
        pod("a", cpu="1"),
        pod("b", cpu="1", annotations=packed),
        pod("c", cpu="1", annotations=packed),
        pod("d", cpu="1", annotations={**packed, weight: '{"cpu": 2}'}),
        pod("e", cpu="1", annotations={kind: "MostAllocated"}),
        pod("f", cpu="1", annotations={kind: "", weight: ""}),
    )
    assert watched.classes() == 4
    assert watched.class_of("b").strategy == ("MostAllocated", '{"cpu": 1}')
    assert watched.class_of("a").strategy == watched.class_of("f").strategy == ("", "")


def test_a_long_scoring_strategy_is_cut() -> None:
    watched = Watched(pod("a", annotations={"volcano.sh/resource-strategy-weight": "[" * 200_000}))
    assert len(watched.class_of("a").strategy[1]) == 4096


def test_a_class_goes_with_its_last_pod_and_its_row_is_used_again() -> None:
    watched = Watched(pod("a", cpu="1"))
    for index in range(300):
        watched.put(pod("a", cpu=f"{index + 1}m"))
    assert watched.classes() == 1
    assert watched.snapshot().ledger.classes.size <= 2


# -- what a pod asks for ------------------------------------------------------------------------------------------


def test_containers_add_up() -> None:
    changed = with_containers(
        Container(name="a", resources=asks(cpu="1", memory="1Gi")), Container(name="b", resources=asks(cpu="500m"))
    )
    assert request_of(changed) == {"cpu": 1500, "memory": GI}


def test_the_greediest_init_container_counts_when_it_asks_for_more_than_all_that_run() -> None:
    changed = with_containers(
        Container(resources=asks(cpu="1", memory="2Gi")),
        init=[Container(resources=asks(cpu="3")), Container(resources=asks(memory="1Gi"))],
    )
    assert request_of(changed) == {"cpu": 3000, "memory": 2 * GI}


def test_sidecars_add_to_what_runs_and_to_init_containers_after_them() -> None:
    sidecar = Container(name="s", resources=asks(cpu="1"), restart_policy="Always")
    changed = with_containers(
        Container(resources=asks(cpu="2")),
        init=[Container(resources=asks(cpu="3")), sidecar, Container(resources=asks(cpu="3"))],
    )
    assert request_of(changed) == {"cpu": 4000}, "the last init container runs beside the sidecar"


def test_sidecars_run_alongside_the_containers() -> None:
    sidecar = Container(name="s", resources=asks(cpu="1"), restart_policy="Always")
    assert request_of(with_containers(Container(resources=asks(cpu="2")), init=[sidecar])) == {"cpu": 3000}


def test_overhead_is_added_and_limits_stand_in_for_requests() -> None:
    limited = Container(resources=ResourceRequirements(limits={"cpu": "2", "memory": "1Gi"}, requests={"cpu": "1"}))
    assert request_of(with_containers(limited, overhead={"cpu": "250m"})) == {"cpu": 1250, "memory": GI}


def test_pod_level_requests_take_the_place_of_the_containers() -> None:
    changed = with_containers(Container(resources=asks(cpu="1", memory="1Gi")), resources=asks(cpu="4"))
    assert request_of(changed) == {"cpu": 4000, "memory": GI}
    less = with_containers(Container(resources=asks(cpu="2")), resources=asks(cpu="1500m"), overhead={"cpu": "100m"})
    assert request_of(less) == {"cpu": 1600}


def test_a_pod_level_limit_stands_in_where_no_container_asks() -> None:
    """As the API server fills in what a template leaves out."""
    limits = ResourceRequirements(limits={"cpu": "4", "memory": "8Gi", "hugepages-2Mi": "64Mi"})
    asking = Container(resources=asks(**{"cpu": "1", "hugepages-2Mi": "32Mi"}))
    changed = with_containers(asking, Container(resources=asks(cpu="500m")), resources=limits)
    assert request_of(changed) == {"cpu": 1500, "memory": 8 * GI, "hugepages-2Mi": 64 << 20}
    named = ResourceRequirements(limits={"cpu": "4"}, requests={"cpu": "3"})
    assert request_of(with_containers(asking, resources=named))["cpu"] == 3000


@pytest.mark.parametrize(
    ("asked", "granted", "actual", "counted"), [("1", "2", "3", 3000), ("3", "2", "1", 3000), ("1", "3", "2", 3000)]
)
def test_while_a_resize_is_under_way_the_largest_amount_counts(
    asked: str, granted: str, actual: str, counted: int
) -> None:
    changed = with_containers(Container(name="c", resources=asks(cpu=asked)))
    status = ContainerStatus(name="c", allocated_resources={"cpu": granted}, resources=asks(cpu=actual))
    assert request_of(with_status(changed, container_statuses=[status])) == {"cpu": counted}


def test_what_the_node_can_never_give_does_not_count() -> None:
    changed = with_containers(Container(name="c", resources=asks(cpu="64")))
    status = ContainerStatus(name="c", allocated_resources={"cpu": "2"}, resources=asks(cpu="1"))
    refused = Condition(type="PodResizePending", status="True", reason="Infeasible")
    assert request_of(with_status(changed, container_statuses=[status], conditions=[refused])) == {"cpu": 2000}
    deferred = Condition(type="PodResizePending", status="True", reason="Deferred")
    assert request_of(with_status(changed, container_statuses=[status], conditions=[deferred])) == {"cpu": 64000}


def test_sidecars_are_resized_and_other_init_containers_are_not() -> None:
    sidecar = Container(name="s", resources=asks(cpu="1"), restart_policy="Always")
    changed = with_containers(Container(name="c"), init=[sidecar, Container(name="i", resources=asks(cpu="1"))])
    statuses = [ContainerStatus(name=name, resources=asks(cpu="4")) for name in ("s", "i")]
    assert request_of(with_status(changed, init_container_statuses=statuses)) == {"cpu": 5000}


def test_a_pod_that_asks_for_resources_as_a_whole_is_resized_as_a_whole() -> None:
    changed = with_containers(Container(resources=asks(cpu="1", memory="1Gi")), resources=asks(cpu="2"))
    status = {"allocated_resources": {"cpu": "3", "memory": "2Gi"}, "resources": asks(cpu="1")}
    assert request_of(with_status(changed, **status)) == {"cpu": 3000, "memory": GI}


def test_a_change_of_what_is_granted_is_seen() -> None:
    changed = with_containers(Container(name="c", resources=asks(cpu="1")))
    watched = Watched(changed)
    status = ContainerStatus(name="c", resources=asks(cpu="3"))
    watched.put(with_status(changed, container_statuses=[status]))
    assert watched.class_of("a").request.tolist()[0] == 3000


def test_fractions_of_a_unit_are_rounded_up() -> None:
    changed = with_containers(Container(resources=asks(cpu="1.0001", memory="0.1")))
    assert request_of(changed) == {"cpu": 1001, "memory": 1}


def test_object_counts_are_not_scheduled() -> None:
    counts = asks(**{"count/pods": "3", "requests.cpu": "4", "limits.cpu": "4", "made-up": "1"})
    assert request_of(with_containers(Container(resources=counts))) == {}


def test_a_pod_that_asks_for_nothing_is_best_effort() -> None:
    watched = Watched(pod("a"), pod("b", cpu="0"), pod("c", cpu="1m"))
    assert [watched.class_of(name).best_effort for name in "abc"] == [True, True, False]


# -- what cannot be placed as it stands ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        pytest.param("-1", "-1 is negative; it must be 0 or more", id="negative"),
        pytest.param("much", "'much' is not a quantity (examples: 2, 500m, 1.5Gi, 1e3)", id="no quantity"),
        pytest.param("1Xi", "'1Xi' is not a quantity (examples: 2, 500m, 1.5Gi, 1e3)", id="unknown suffix"),
        pytest.param("NaN", "'NaN' is not a quantity (examples: 2, 500m, 1.5Gi, 1e3)", id="not a number"),
    ],
)
def test_a_request_that_cannot_be_read_is_reported_with_its_field(amount: str, said: str) -> None:
    reason, message = problem_of(with_containers(Container(resources=asks(cpu=amount))))
    assert (reason, message) == (Reason.INVALID_POD, f"spec.containers[0].resources.requests.cpu: {said}")


@pytest.mark.parametrize("amount", ["9E", "1e400", "2Ei", "1E20"])
def test_an_absurd_amount_is_refused_and_cannot_overflow(amount: str) -> None:
    changed = pod("a", memory=amount, on="n1")
    reason, message = problem_of(changed)
    assert reason is Reason.INVALID_POD
    assert message == "asks for an impossible amount of memory (more than 2^50 units); lower the request"
    watched = Watched(*[pod(f"p{index}", memory=amount, on="n1") for index in range(200)])
    assert watched.on_node("n1")["memory"] == 200 * 2**50


def test_a_pod_with_a_problem_is_not_taken_for_best_effort() -> None:
    assert not Watched(with_containers(Container(resources=asks(cpu="much")))).class_of("a").best_effort


CLAIM = Volume(name="v", persistent_volume_claim=PersistentVolumeClaimSource(claim_name="data"))


NUMA = "volcano.sh/numa-topology-policy"


def pinned(policy: str, **changed: Any) -> Pod:
    """A pod of the quality of service Guaranteed, whose CPUs are to be aligned."""
    fixed = Container(resources=ResourceRequirements(limits={"cpu": "2", "memory": "1Gi"}))
    made: Pod = with_spec(pod("a", annotations={NUMA: policy}), **{"containers": [fixed], **changed})
    return made


def sharing(**resources: str) -> Pod:
    return with_containers(
        Container(resources=asks(**{f"volcano.sh/{name}": text for name, text in resources.items()}))
    )


@pytest.mark.parametrize(
    ("asking", "feature"),
    [
        pytest.param(
            sharing(**{"vgpu-number": "1", "vgpu-memory-percentage": "50"}),
            "volcano.sh/vgpu-memory-percentage and volcano.sh/vgpu-number (Volcano's plugin deviceshare)",
            id="percentage of a GPU",
        ),
    ],
)
def test_what_is_not_evaluated_yet_is_refused_and_named(asking: Pod, feature: str) -> None:
    message = unsupported(feature)
    assert problem_of(asking) == (Reason.UNSUPPORTED, message)


@pytest.mark.parametrize(
    "asking",
    [
        pytest.param(pinned("single-numa-node"), id="of each container"),
        pytest.param(
            pinned(
                "single-numa-node",
                containers=[Container()],
                resources=ResourceRequirements(
                    requests={"cpu": "2", "memory": "1Gi"}, limits={"cpu": "2000m", "memory": "1Gi"}
                ),
            ),
            id="of the pod as a whole",
        ),
    ],
)
def test_a_numa_policy_needs_a_plugin_that_aligns_cpus(asking: Pod) -> None:
    assert problem_of(asking) == (Reason.UNSUPPORTED, cpus_not_aligned("single-numa-node"))


def test_parts_of_gpus_need_a_plugin_that_chooses_the_cards() -> None:
    asking = sharing(**{"vgpu-number": "1", "vgpu-memory": "1024"})
    message = cards_not_chosen("volcano.sh/vgpu-memory and volcano.sh/vgpu-number", "deviceshare.VGPUEnable")
    assert problem_of(asking) == (Reason.UNSUPPORTED, message)


@pytest.mark.parametrize(
    ("name", "argument"),
    [("gpu-memory", "deviceshare.GPUSharingEnable"), ("gpu-number", "deviceshare.GPUNumberEnable")],
)
def test_gpus_by_number_need_a_plugin_that_chooses_them(name: str, argument: str) -> None:
    message = cards_not_chosen(f"volcano.sh/{name}", argument)
    assert problem_of(sharing(**{name: "2"})) == (Reason.UNSUPPORTED, message)


@pytest.mark.parametrize("other", ["gpu-number", "vgpu-number"])
def test_a_pod_asks_for_gpus_in_one_way(other: str) -> None:
    asks = f"asks for volcano.sh/gpu-memory and volcano.sh/{other}"
    message = f"{asks}: a cluster shares GPUs in one of these ways; ask for one"
    assert problem_of(sharing(**{"gpu-memory": "1", other: "1"})) == (Reason.INVALID_POD, message)


def test_no_container_gets_more_than_all_cores_of_a_gpu() -> None:
    message = (
        "asks for 150 volcano.sh/vgpu-cores: these are percent of the cores of each GPU; ask for at most 100, and for "
        "more GPUs by volcano.sh/vgpu-number"
    )
    assert problem_of(sharing(**{"vgpu-number": "2", "vgpu-cores": "150"})) == (Reason.INVALID_POD, message)


@pytest.mark.parametrize(
    "annotations",
    [{"volcano.sh/vgpu-use-gpuuuid": "GPU-1"}, {"nvidia.com/use-gputype": "T4"}, {"volcano.sh/vgpu-mode": "mig"}],
    ids=str,
)
def test_which_gpus_a_pod_wants_splits_classes_only_of_pods_that_ask_for_some(annotations: dict[str, str]) -> None:
    asking = sharing(**{"vgpu-number": "1"})
    other = msgspec.structs.replace(
        asking, metadata=msgspec.structs.replace(asking.metadata, name="b", uid="b", annotations=annotations)
    )
    assert Watched(asking, other).classes() == 2
    assert Watched(pod("a", cpu="1"), pod("b", cpu="1", annotations=annotations)).classes() == 1


def test_lists_of_gpus_without_end_are_refused() -> None:
    asking = sharing(**{"vgpu-number": "1"})
    annotations = {"volcano.sh/vgpu-use-gpuuuid": "x" * 20_000}
    long = msgspec.structs.replace(asking, metadata=msgspec.structs.replace(asking.metadata, annotations=annotations))
    assert problem_of(long) == (
        Reason.INVALID_POD,
        "annotation volcano.sh/vgpu-use-gpuuuid has 20000 characters: at most 16384 are evaluated; leave some out",
    )


def container(requests: ResourceList, limits: ResourceList) -> list[Container]:
    return [Container(resources=ResourceRequirements(requests=requests, limits=limits))]


@pytest.mark.parametrize(
    "asking",
    [
        pytest.param(sharing(**{"gpu-memory": "0"}), id="none of a shared GPU"),
        pytest.param(pinned("best-effort"), id="admits every pod"),
        pytest.param(pinned("none"), id="no policy"),
        pytest.param(pinned("aligned, please"), id="an unknown policy"),
        pytest.param(pinned("restricted", containers=[Container()]), id="without requests"),
        pytest.param(
            pinned("restricted", containers=container({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"})), id="burstable"
        ),
        pytest.param(pinned("restricted", containers=container({}, {"cpu": "2"})), id="memory is not limited"),
        pytest.param(pinned("restricted", containers=container({}, {"cpu": "0", "memory": "1Gi"})), id="no CPU"),
        pytest.param(pinned("restricted", init_containers=[Container()]), id="an init container is not limited"),
    ],
)
def test_pods_that_cannot_fail_a_predicate_need_no_evaluation(asking: Pod) -> None:
    assert Watched(asking).class_of("a").problem is None


def test_an_annotation_that_is_added_later_is_seen() -> None:
    watched = Watched(pinned("none"))
    watched.put(pinned("restricted"))
    problem = watched.class_of("a").problem
    assert problem is not None
    assert problem.reason is Reason.UNSUPPORTED


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            {
                "topology_spread_constraints": [
                    TopologySpreadConstraint(topology_key="zone", when_unsatisfiable="ScheduleAnyway")
                ]
            },
            id="spread",
        ),
        pytest.param(
            {
                "affinity": Affinity(
                    pod_affinity=PodAffinity(
                        preferred=[
                            WeightedPodAffinityTerm(weight=1, pod_affinity_term=PodAffinityTerm(topology_key="zone"))
                        ]
                    )
                )
            },
            id="affinity",
        ),
        pytest.param({"volumes": [Volume(name="scratch")]}, id="a volume without a claim"),
    ],
)
def test_preferences_may_go_unheeded(spec: dict[str, Any]) -> None:
    assert Watched(with_spec(pod("a"), **spec)).class_of("a").problem is None


# -- readings ------------------------------------------------------------------------------------------------------


def test_host_ports_are_reported_with_address_and_protocol() -> None:
    ports = [ContainerPort(host_port=53, protocol="UDP"), ContainerPort(host_port=80, host_ip="10.0.0.1")]
    ports.append(ContainerPort(container_port=8080))
    watched = Watched(with_containers(Container(ports=ports)))
    assert watched.class_of("a").host_ports == (("0.0.0.0", "UDP", 53), ("10.0.0.1", "TCP", 80))


def test_sidecars_hold_host_ports_and_other_init_containers_do_not() -> None:
    sidecar = Container(name="s", ports=[ContainerPort(host_port=80)], restart_policy="Always")
    early = Container(name="i", ports=[ContainerPort(host_port=81)])
    watched = Watched(with_containers(Container(), init=[sidecar, early]))
    assert watched.class_of("a").host_ports == (("0.0.0.0", "TCP", 80),)


def test_scoring_stands_in_for_requests_that_are_not_made() -> None:
    watched = Watched(pod("a"), pod("b", cpu="1"))
    assert watched.class_of("a").nonzero_request.tolist() == [100, 200 * 2**20]
    assert watched.class_of("b").nonzero_request.tolist() == [1000, 200 * 2**20]


def test_scoring_stands_in_for_each_container_and_not_for_requests_of_zero() -> None:
    def scored(*containers: Container, **fields: Any) -> list[int]:
        counted: list[int] = Watched(with_containers(*containers, **fields)).class_of("a").nonzero_request.tolist()
        return counted

    silent = Container(name="c")
    assert scored(silent, Container(name="d", resources=asks(cpu="1"))) == [1100, 2 * 200 * 2**20]
    assert scored(Container(resources=asks(cpu="0"))) == [0, 200 * 2**20]
    sidecar = Container(name="s", restart_policy="Always")
    assert scored(silent, init=[sidecar, Container(name="i", resources=asks(cpu="1"))]) == [1100, 2 * 200 * 2**20]


def test_what_a_pod_asks_for_as_a_whole_needs_no_stand_in() -> None:
    def scored(**fields: Any) -> list[int]:
        changed = with_containers(Container(name="c"), Container(name="d", resources=asks(cpu="1")), **fields)
        counted: list[int] = Watched(changed).class_of("a").nonzero_request.tolist()
        return counted

    assert scored(resources=asks(cpu="2"), overhead={"cpu": "1"}) == [3000, 2 * 200 * 2**20]
    assert scored(resources=asks(cpu="2"), overhead={"memory": "1Gi"}) == [2000, GI]
    assert scored(resources=asks(memory="1Gi")) == [1000, GI]


def test_node_affinity_is_read_as_required_and_preferred() -> None:
    terms = NodeSelector(
        node_selector_terms=[NodeSelectorTerm(match_expressions=[SelectorRequirement(key="a", operator="Exists")])]
    )
    watched = Watched(pod("a", affinity=Affinity(node_affinity=NodeAffinity(required=terms))), pod("b"))
    assert watched.class_of("a").required_node_affinity == terms
    assert watched.class_of("a").preferred_node_affinity == []
    assert watched.class_of("b").required_node_affinity is None
