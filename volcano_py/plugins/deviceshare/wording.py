"""What nodes say that refuse a pod on account of their cards, and what is said of the best of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from volcano_py.api.wording.summarize import plural
from volcano_py.plugins.deviceshare.apart import TOGETHER, Apart
from volcano_py.plugins.deviceshare.choice import Lack
from volcano_py.state.cards.asked import WHOLE, ContainerAsks, Sharing

ALL_MEMORY: Final = 2**62
"""Where a container asks for all of a card: more than any amount."""
MIG_CARDS: Final = "node(s) had GPUs in mode mig, of no model in deviceshare.KnownMigGeometries"
NO_INSTANCE: Final = "node(s) had GPUs without MIG instances of that size"
UNWANTED: Final = "node(s) had too few GPUs that the pod may use"
TOO_FEW: Final = "node(s) had too few GPUs"
TOO_SMALL: Final = "node(s) had too small GPUs"
NOT_IN_USE: Final = " that no other pod uses"
"""Which GPUs."""
_IN_USE: Final = "node(s) had too few GPUs that no pod uses"
_BY_RULE: Final = "node(s) had too few GPUs without a pod that an exclusive rule keeps apart"
_BY_BOTH: Final = "node(s) had too few GPUs without a pod of the PodGroup, or one that an exclusive rule keeps apart"
_LACKS: Final[Mapping[Lack, str]] = MappingProxyType(
    {
        Lack.USERS: "node(s) had too few GPUs that take another container",
        Lack.APART: "node(s) had too few GPUs without a pod of the PodGroup",
        Lack.MEMORY: "node(s) had too few GPUs with enough memory free",
        Lack.CORES: "node(s) had too few GPUs with enough cores free",
        Lack.INSTANCE: "node(s) had too few GPUs with a large enough MIG instance free",
    }
)
_OF_ONE: Final[Mapping[Lack, str]] = MappingProxyType(
    {
        **_LACKS,
        Lack.MEMORY: "node(s) had no GPU with enough memory free",
        Lack.CORES: "node(s) had only GPUs that other pods have to themselves",
    }
)
"""Where a pod gets a part of one GPU, by its number."""


def no_cards(sharing: Sharing) -> str:
    return f"node(s) had no {'' if sharing is Sharing.VGPU else 'healthy '}GPUs to share"


def lacks(sharing: Sharing, lack: Lack, apart: Apart = TOGETHER) -> str:
    """Too few cards of a node pass a test. `apart`: what the pod is kept apart from."""
    if sharing is Sharing.GPU_NUMBER:
        return _IN_USE
    if lack is Lack.APART and apart.rules:
        return _BY_RULE if apart.job is None else _BY_BOTH
    return (_OF_ONE if sharing is Sharing.GPU_MEMORY else _LACKS)[lack]


def so_many(cards: int, which: str, most: int, node: str) -> str:
    """`The pod asks for 2 GPUs that no other pod uses; the most of these on a node is 1, on node n1`; `which`: the
    part before the semicolon that says which GPUs."""
    return (
        f"The pod asks for {cards} {plural('GPU', cards)}{which}; the most of these on a node is {most}, on node {node}"
    )


def allowed_by(annotations: Sequence[str]) -> str:
    """Which GPUs: those that annotations of the pod leave."""
    listed = " and ".join(annotations)
    return f" that its annotation {listed} allows" if len(annotations) == 1 else f" that its annotations {listed} allow"


def unknown_mig(node: str, kinds: Sequence[str]) -> str:
    """`Node n1 has GPUs of the type NVIDIA-H100 in mode mig: add their model to deviceshare.KnownMigGeometries`."""
    return (
        f"Node {node} has GPUs of the {plural('type', len(kinds))} {' and '.join(kinds)} in mode mig: add their model "
        "to deviceshare.KnownMigGeometries"
    )


def kept_apart(rules: Sequence[str]) -> str:
    """`The pod has the labels team=a,tier=x, and by deviceshare.GPUExclusiveRules no two such pods share a GPU`."""
    labels = " and ".join(rules)
    return f"The pod has the labels {labels}, and by deviceshare.GPUExclusiveRules no two such pods share a GPU"


def lacks_memory(asked: ContainerAsks, free: int, node: str) -> str:
    """`The pod asks for 1 GPU with 8000 MB of memory; the most that is free on a GPU is 4096 MB, on node n1`."""
    return f"{_asks(asked)}; the most that is free on {_gpus(asked)} is {free} MB, on node {node}"


def lacks_cores(asked: ContainerAsks, free: int, node: str) -> str:
    """The same of cores, in percent. All of them are there only for a container that is alone."""
    if asked.cores == WHOLE:
        return f"{_asks(asked)}; that needs GPUs that no other container uses"
    return f"{_asks(asked)}; the most that is free of the cores of {_gpus(asked)} is {free} %, on node {node}"


def too_small(asked: ContainerAsks, memory: int, node: str) -> str:
    """`…; the largest GPU that it may use has 40960 MB, on node n1`."""
    if asked.cards == 1:
        return f"{_asks(asked)}; the largest GPU that it may use has {memory} MB, on node {node}"
    return f"{_asks(asked)}; the {asked.cards} largest GPUs that it may use have {memory} MB or more, on node {node}"


def lacks_instance(asked: ContainerAsks, memory: int, node: str) -> str:
    """`…; the largest MIG instance that is free on a GPU has 5120 MB, on node n1`."""
    largest = f"the largest MIG instance that is free on {_gpus(asked)} has {memory} MB"
    return f"{_asks(asked)}; {largest}, on node {node}"


def no_instance(asked: ContainerAsks, memory: int, node: str) -> str:
    """`…; the largest MIG instance of a GPU has 20480 MB, on node n1`."""
    return f"{_asks(asked)}; the largest MIG instance of {_gpus(asked)} has {memory} MB, on node {node}"


def _gpus(asked: ContainerAsks) -> str:
    return "a GPU" if asked.cards == 1 else f"each of {asked.cards} GPUs"


def _asks(asked: ContainerAsks) -> str:
    memory = f"{asked.memory} MB of memory" if asked.memory else "all its memory"
    cores = f" and {asked.cores} % of the cores" if asked.cores else ""
    each = " each" if asked.cards > 1 else ""
    return f"The pod asks for {asked.cards} {plural('GPU', asked.cards)} with {memory}{cores}{each}"
