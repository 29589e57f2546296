"""Over generated networks: a gang whose pods have rules of their own waits only if no domain that it may use would take
it, had it no limit and were all other nodes cordoned."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.networks import domains_of, networks, simulation_of
from volcano_py.api.objects import Pod

_EXAMPLES: Final = max(25, settings().max_examples - 5)
_APP: Final = {"matchLabels": {"app": "train"}}
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


def _gang(pods: int, cpu: int, rules: dict[str, Any], topology: dict[str, Any] | None) -> list[dict[str, Any]]:
    rules = dict(rules)
    container: dict[str, Any] = {"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}
    if port := rules.pop("hostPort", None):
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    group = {"minMember": pods, **({} if topology is None else {"networkTopology": topology})}
    annotations = {"scheduling.k8s.io/group-name": "train"}
    return [
        {"kind": "PodGroup", "metadata": {"name": "train"}, "spec": group},
        *(
            {
                "kind": "Pod",
                "metadata": {"name": f"train-{number}", "labels": {"app": "train"}, "annotations": annotations},
                "spec": {"schedulerName": "volcano", "containers": [container], **rules},
            }
            for number in range(pods)
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


@settings(max_examples=_EXAMPLES, deadline=None)
@given(
    labelled_networks(),
    st.integers(2, 5),
    st.integers(1, 2),
    _rules(),
    st.sampled_from(
        [{"highestTierAllowed": 1}, {"highestTierAllowed": 2}, {"highestTierAllowed": 3}, {"mode": "soft"}]
    ),
)
def test_a_gang_waits_only_where_no_domain_takes_it_by_itself(
    network: list[dict[str, Any]], pods: int, cpu: int, rules: dict[str, Any], topology: dict[str, Any]
) -> None:
    held = _placed([*network, *_gang(pods, cpu, rules, topology)])
    domains = domains_of(simulation_of(network))
    limit = topology.get("highestTierAllowed", domains[""][0])
    allowed = [nodes for tier, nodes in domains.values() if tier <= limit]
    event("it is placed" if held else "it waits")
    if held:
        assert any(held <= nodes for nodes in allowed)
        return
    for nodes in allowed:
        taken = _placed([*_cordoned(network, nodes), *_gang(pods, cpu, rules, None)])
        assert not taken, f"{sorted(nodes)} would take it: {sorted(taken)}"
