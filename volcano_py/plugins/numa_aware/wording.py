"""What nodes say that refuse a pod on account of their NUMA nodes, and what is said of the best of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from volcano_py.api.wording.summarize import counted, plural
from volcano_py.state.numa.asked import BEST_EFFORT, RESTRICTED, SINGLE

NO_OBJECT: Final = "node(s) had no Numatopology"
NOT_STATIC: Final = "node(s) had no static CPU manager policy"
NO_LAYOUT: Final = "node(s) had a Numatopology without CPUs"
NONE_LISTED: Final = "node(s) had no CPU free for pods with CPUs of their own"
TOO_SMALL: Final[Mapping[str, str]] = MappingProxyType(
    {
        RESTRICTED: "node(s) had too few CPUs",
        SINGLE: "node(s) had too small NUMA nodes",
    }
)
TOO_FEW: Final[Mapping[str, str]] = MappingProxyType(
    {
        RESTRICTED: "node(s) had too few CPUs free on as few NUMA nodes as they could be on",
        SINGLE: "node(s) had too few CPUs free on one NUMA node",
    }
)
"""By the policy of the node."""
DEPLOY: Final = (
    "Deploy Volcano's resource-exporter, which creates the Numatopology of each node, or remove the pod's annotation "
    "volcano.sh/numa-topology-policy"
)


def other_policy(policy: str, asked: str) -> str:
    """The topology manager's policy of nodes, and that of the pod; the former may be anything."""
    is_known = policy in (BEST_EFFORT, RESTRICTED, SINGLE, "none")
    found = f"the topology manager policy {policy}" if is_known else "an unknown topology manager policy"
    return f"node(s) had {found}, not {asked}"


def set_policy(asked: str) -> str:
    """What helps against another policy."""
    return (
        f"Set topologyManagerPolicy: {asked} and cpuManagerPolicy: static in the kubelet's configuration of a node, or "
        "change the pod's annotation volcano.sh/numa-topology-policy"
    )


def free_cpus(cores: Sequence[int], node: str, numa: Iterable[tuple[int, int, int]]) -> str:
    """`A container asks for 4 CPUs; node n1 has 3 of 8 CPUs free on NUMA node 0, 2 of 8 on NUMA node 1`. `numa`: id,
    free CPUs and size of each."""
    (first, free, size), *others = numa
    parts = [f"{free} of {size} CPUs free on NUMA node {first}"]
    parts += [f"{free} of {size} on NUMA node {number}" for number, free, size in others]
    return f"{_asks(cores)}; node {node} has {', '.join(parts)}"


def _asks(cores: Sequence[int]) -> str:
    if len(cores) == 1:
        return f"A container asks for {cores[0]} {plural('CPU', cores[0])}"
    most = sorted(cores, reverse=True)[:3]
    listed = ", ".join(map(str, most))
    return f"{counted(len(cores), 'container')} ask for CPUs of their own, up to {listed}"
