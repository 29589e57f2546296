"""Over generated networks: a gang, whatever its pods are and whatever rules they have, waits only if no domain that it
may use would take it, had it no limit and were all other nodes cordoned."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.placement.networks import domains_of, networks, simulation_of
from volcano_py.api.objects import Pod

_EXAMPLES: Final = max(25, settings().max_examples - 5)
_APP: Final = {"matchLabels": {"app": "train"}}
_PART: Final = "volcano.sh/partition-id"
_KEYS: Final = ("rack", "kubernetes.io/hostname")


@st.composite
def labelled_networks(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Networks with labels of nodes that say where they are."""
    network = draw(networks())
    racks = {
        member["selector"]["exactMatch"]["name"]: each["metadata"]["name"]
        for each in network
        if each["kind"] == "HyperNode"
        for member in each["spec"]["members"]
        if member["type"] == "Node"
    }
    for each in network:
        if each["kind"] == "Node":
            name = each["metadata"]["name"]
            each["metadata"]["labels"] = {"rack": racks.get(name, "none"), "kubernetes.io/hostname": name}
    return network


def _rules() -> st.SearchStrategy[dict[str, Any]]:
    """Fields of the specs of pods: spreads, affinity, host ports."""
    terms = [{"topologyKey": key, "labelSelector": _APP} for key in _KEYS]
    return st.sampled_from(
        [
            {},
            {"hostPort": 80},
            *(
                {"topologySpreadConstraints": [{**t, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}
                for t in terms
            ),
            *(
                {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
                for kind in ("podAffinity", "podAntiAffinity")
                for term in terms
            ),
        ]
    )


def _gang(
    cpus: list[int], minimum: int, rules: dict[str, Any], topology: dict[str, Any] | None, **more: Any
) -> list[dict[str, Any]]:
    """`cpus` are what its pods request; `more` is in the PodGroup."""
    rules, container = dict(rules), dict[str, Any](name="c")
    if port := rules.pop("hostPort", None):
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    group = {"minMember": minimum, **({} if topology is None else {"networkTopology": topology}), **more}
    size = more["subGroupPolicy"][0]["subGroupSize"] if more else len(cpus)
    annotations = {"scheduling.k8s.io/group-name": "train"}
    return [
        {"kind": "PodGroup", "metadata": {"name": "train"}, "spec": group},
        *(
            {
                "kind": "Pod",
                "metadata": {
                    "name": f"train-{number}",
                    "labels": {"app": "train", _PART: str(number // size)},
                    "annotations": annotations,
                },
                "spec": {
                    "schedulerName": "volcano",
                    "containers": [{**container, "resources": {"requests": {"cpu": str(cpu)}}}],
                    **rules,
                },
            }
            for number, cpu in enumerate(cpus)
        ),
    ]


def _placed(objects: list[dict[str, Any]]) -> set[str]:
    """The nodes of the gang, once nothing changes any more."""
    simulation = simulation_of(objects)
    simulation.run()
    return {pod.spec.node_name for pod in simulation.cluster.objects("Pod", Pod) if pod.spec.node_name}


def _cordoned(network: list[dict[str, Any]], nodes: frozenset[str]) -> list[dict[str, Any]]:
    """The nodes alone; all but these are cordoned, so that they count for spreads."""
    return [
        each if each["metadata"]["name"] in nodes else {**each, "spec": {"unschedulable": True}}
        for each in network
        if each["kind"] == "Node"
    ]


def _domains(network: list[dict[str, Any]], *topologies: dict[str, Any] | None) -> list[frozenset[str]]:
    """The nodes of each domain that pods with these limits may use."""
    domains = domains_of(simulation_of(network))
    limit = min((each or {}).get("highestTierAllowed", domains[""][0]) for each in topologies)
    return [nodes for tier, nodes in domains.values() if tier <= limit]


def _cpus() -> st.SearchStrategy[list[int]]:
    """Of pods that are all alike, or of two sorts, one after the other or mixed."""
    return st.one_of(
        st.builds(lambda cpu, pods: [cpu] * pods, st.integers(1, 2), st.integers(2, 5)),
        st.builds(
            lambda one, other: [*one, *other], *[st.lists(st.just(cpu), min_size=1, max_size=3) for cpu in (3, 1)]
        ),
        st.lists(st.sampled_from([1, 3]), min_size=2, max_size=5),
    )


_LIMITS: Final = [{"highestTierAllowed": 1}, {"highestTierAllowed": 2}, {"highestTierAllowed": 3}, {"mode": "soft"}]


@settings(max_examples=_EXAMPLES, deadline=None)
@given(labelled_networks(), _cpus(), st.integers(0, 4), _rules(), st.sampled_from(_LIMITS))
def test_a_gang_waits_only_where_no_domain_takes_it_by_itself(
    network: list[dict[str, Any]], cpus: list[int], surplus: int, rules: dict[str, Any], topology: dict[str, Any]
) -> None:
    minimum = max(1, len(cpus) - surplus)
    held = _placed([*network, *_gang(cpus, minimum, rules, topology)])
    allowed = _domains(network, topology)
    event("it is placed" if held else "it waits")
    if held:
        assert any(held <= nodes for nodes in allowed)
        return
    for nodes in allowed:
        taken = _placed([*_cordoned(network, nodes), *_gang(cpus, minimum, rules, None)])
        assert not taken, f"{sorted(nodes)} would take it: {sorted(taken)}"


@settings(max_examples=_EXAMPLES, deadline=None)
@given(
    labelled_networks(),
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 3)),
    _rules(),
    st.sampled_from([None, *_LIMITS]),
    st.sampled_from(_LIMITS),
)
def test_a_divided_gang_waits_only_where_no_domain_takes_all_of_it(
    network: list[dict[str, Any]],
    shape: tuple[int, int, int, int],
    rules: dict[str, Any],
    topology: dict[str, Any] | None,
    of_parts: dict[str, Any],
) -> None:
    parts, size, cpu, surplus = shape
    policy = {"name": "p", "matchLabelKeys": [_PART], "subGroupSize": size, "minSubGroups": max(0, parts - surplus)}
    cpus, minimum = [cpu] * parts * size, max(1, (parts - surplus) * size)
    limited = _gang(cpus, minimum, rules, topology, subGroupPolicy=[{**policy, "networkTopology": of_parts}])
    held = _placed([*network, *limited])
    event("it is placed" if held else "it waits")
    for nodes in [] if held else _domains(network, topology, of_parts):
        taken = _placed([*_cordoned(network, nodes), *_gang(cpus, minimum, rules, None, subGroupPolicy=[policy])])
        assert not taken, f"{sorted(nodes)} would take it: {sorted(taken)}"
