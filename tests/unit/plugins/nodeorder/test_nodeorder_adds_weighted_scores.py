"""The weights of nodeorder are Volcano's, with its defaults."""

from __future__ import annotations

from tests.support.placement.node_answers import scores
from tests.support.sessions import node, open_session, pod, pod_group
from volcano_py.config.fields.reading import read_arguments
from volcano_py.plugins.nodeorder import NodeOrder
from volcano_py.plugins.nodeorder.arguments import NodeOrderArguments


def test_the_defaults_are_volcanos() -> None:
    keys = {
        "leastrequested.weight": 1,
        "mostrequested.weight": 0,
        "balancedresource.weight": 1,
        "nodeaffinity.weight": 2,
        "podaffinity.weight": 2,
        "tainttoleration.weight": 3,
        "imagelocality.weight": 1,
        "podtopologyspread.weight": 2,
    }
    written, problems = read_arguments(NodeOrderArguments, keys)
    assert problems == ()
    assert written == NodeOrderArguments()


def total(**weights: int) -> float:
    arguments = {f"{name}.weight": weight for name, weight in weights.items()}
    opened = open_session(
        node("n1", cpu="4", memory="8Gi"),
        pod_group("g"),
        pod("p", group="g", cpu="1", memory="4Gi"),
        tiers=[[(NodeOrder, {"arguments": arguments})]],
    )
    return scores(opened, NodeOrder, "p")["n1"]


def test_scores_are_weighted_and_added() -> None:
    least, most, balanced = (75 + 50) // 2, (25 + 50) // 2, 50 + (50 + 87 - 100) // 2
    assert total() == least + balanced
    assert total(leastrequested=3, mostrequested=10, balancedresource=100) == 3 * least + 10 * most + 100 * balanced


def test_with_all_weights_0_nodes_are_equal() -> None:
    assert total(leastrequested=0, balancedresource=0, imagelocality=0) == 0
