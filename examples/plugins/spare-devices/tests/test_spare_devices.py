"""The plugin in a simulated cluster of one CPU node and one GPU node."""

from __future__ import annotations

from volcano_py.cluster.manifests import read_text, stored
from volcano_py.config import format_problems, parse_configuration
from volcano_py.scheduler import builtin_registry
from volcano_py.simulation import Simulation, SimulationResult

# Without a score, a simulation takes the first node by name: the one with GPUs.
CONFIGURATION = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: spare-devices
    arguments: {arguments}
"""

NODES = """
kind: Node
metadata: {name: a-gpu}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110", nvidia.com/gpu: "4"}}
---
kind: Node
metadata: {name: b-cpu}
status: {allocatable: {cpu: "2", memory: 32Gi, pods: "110"}}
---
"""


def pod(name: str, **requests: str) -> str:
    container = {"name": "main", "resources": {"requests": requests}}
    return f"kind: Pod\nmetadata: {{name: {name}}}\nspec: {{schedulerName: volcano, containers: [{container}]}}\n---\n"


def simulate(manifests: str, arguments: str = "{}") -> SimulationResult:
    """The cluster at rest; the plugin is found as it is in a daemon, through its entry point."""
    registry = builtin_registry().with_installed()
    text = CONFIGURATION.replace("{arguments}", arguments)
    parsed = parse_configuration(text, registry.catalogue(), strict=True)
    assert parsed.config is not None, format_problems(parsed.problems, text)
    return Simulation(stored(read_text(manifests)), parsed.config, registry).run()


def test_pods_without_gpus_leave_gpu_nodes_alone() -> None:
    result = simulate(NODES + pod("web", cpu="1"))
    assert result.binds == {"default/web": "b-cpu"}


def test_pods_with_gpus_go_to_gpu_nodes() -> None:
    result = simulate(NODES + pod("train", **{"cpu": "1", "nvidia.com/gpu": "1"}))
    assert result.binds == {"default/train": "a-gpu"}


def test_gpu_nodes_take_what_fits_nowhere_else() -> None:
    result = simulate(NODES + pod("wide", cpu="4"))
    assert result.binds == {"default/wide": "a-gpu"}


def test_required_keeps_gpu_nodes_free_in_any_case_and_says_so() -> None:
    result = simulate(NODES + pod("wide", cpu="4"), "{spare-devices.required: true}")
    assert result.binds == {}
    assert "1 node(s) were kept free for pods that ask for devices" in result.unschedulable["default/wide"]


def test_what_counts_as_a_device_is_configured() -> None:
    result = simulate(NODES + pod("web", cpu="1"), "{spare-devices.resources: amd.com/gpu}")
    assert result.binds == {"default/web": "a-gpu"}
