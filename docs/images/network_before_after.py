"""Makes network-before-after.svg: the nodes of examples/network in their tree, before its gangs come and after.

.venv/bin/python docs/images/network_before_after.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.objects import Pod
from volcano_py.cluster.manifests import read_paths, stored
from volcano_py.config import parse_configuration
from volcano_py.scheduler import builtin_registry
from volcano_py.simulation import Simulation

PICTURE: Final = Path(__file__).with_name("network-before-after.svg")
EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "network"
GROUP: Final = "scheduling.k8s.io/group-name"
COLORS: Final[Mapping[str, str]] = {"spans-two-racks": "#0969da", "small": "#bf8700", "fits-a-rack": "#1a7f37"}
ROOT: Final = "the whole cluster"
NODE, GAP, LEFT, TOP, TIER, PANEL, WIDTH = 50, 6, 24, 40, 46, 208, 762
FONT: Final = "system-ui, -apple-system, Segoe UI, Helvetica, Arial, DejaVu Sans, sans-serif"


def picture() -> str:
    simulation = _simulation()
    tree = {each.metadata.name: each for each in simulation.cluster.objects("HyperNode", HyperNode)}
    before = _jobs_by_node(simulation)
    simulation.run()
    after = _jobs_by_node(simulation)
    height = TOP + 2 * PANEL + 20
    rows = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="{FONT}" role="img"'
            ' aria-label="Twelve nodes in three racks, two of them below one spine: all free before; after, one gang '
            'fills the first rack and half of the second, one pod is next to it, another gang has most of the third">'
        ),
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#f6f8fa"/>',
    ]
    for number, (title, jobs) in enumerate((("before", before), ("after", after))):
        rows += _panel(TOP + number * PANEL, title, tree, jobs)
    return "\n".join([*rows, *_legend(height - 22), "</svg>"]) + "\n"


def _simulation() -> Simulation:
    registry = builtin_registry()
    text = (EXAMPLE / "volcano-scheduler.conf").read_text(encoding="utf-8")
    parsed = parse_configuration(text, registry.catalogue())
    assert parsed.config is not None, parsed.problems
    return Simulation(stored(read_paths([EXAMPLE])), parsed.config, registry)


def _jobs_by_node(simulation: Simulation) -> dict[str, str]:
    pods = simulation.cluster.objects("Pod", Pod)
    return {pod.spec.node_name: pod.metadata.annotations[GROUP] for pod in pods if pod.spec.node_name}


def _panel(top: int, title: str, tree: Mapping[str, HyperNode], jobs: Mapping[str, str]) -> Iterator[str]:
    """Nodes from left to right, depth-first, and a bar over them for each HyperNode."""
    yield f'<text x="{LEFT}" y="{top - 14}" font-size="14" font-weight="600" fill="#1f2328">{title}</text>'
    below = {each for name in tree for each in _members(tree, name)}
    nodes = [node for name in sorted(set(tree) - below) for node in _nodes(tree, name)]
    at = {node: LEFT + number * (NODE + GAP) + _rack_of(tree, node) * 24 for number, node in enumerate(nodes)}
    highest = max(each.spec.tier for each in tree.values()) + 1
    for name, tier, held in [(ROOT, highest, nodes), *((n, h.spec.tier, _nodes(tree, n)) for n, h in tree.items())]:
        y, x = top + (highest - tier) * TIER, at[held[0]]
        width = at[held[-1]] + NODE - x
        yield f'<rect x="{x}" y="{y}" width="{width}" height="28" rx="5" fill="#ffffff" stroke="#57606a"/>'
        text = f"{name} (tier {tier})"
        middle = x + width / 2
        yield f'<text x="{middle:g}" y="{y + 19}" text-anchor="middle" font-size="13" fill="#1f2328">{text}</text>'
    y = top + highest * TIER - 10
    for node, x in at.items():
        job = jobs.get(node, "")
        fill, ink = COLORS.get(job, "#ffffff"), "#ffffff" if job else "#57606a"
        yield f'<rect x="{x}" y="{y}" width="{NODE}" height="28" rx="4" fill="{fill}" stroke="#8c959f"/>'
        yield f'<text x="{x + NODE / 2:g}" y="{y + 19}" text-anchor="middle" font-size="12" fill="{ink}">{node}</text>'


def _members(tree: Mapping[str, HyperNode], name: str) -> list[str]:
    matches = (member.selector.exact_match for member in tree[name].spec.members)
    return sorted(match.name for match in matches if match is not None)


def _nodes(tree: Mapping[str, HyperNode], name: str) -> list[str]:
    """Nodes of a HyperNode, in the order of the tree."""
    members = _members(tree, name) if name in tree else [name]
    return [name] if name not in tree else [node for each in members for node in _nodes(tree, each)]


def _rack_of(tree: Mapping[str, HyperNode], node: str) -> int:
    """How many racks are to the left of the one that the node is in."""
    tops = sorted(set(tree) - {each for name in tree for each in _members(tree, name)})
    racks = [name for top in tops for name in _racks(tree, top)]
    return next(number for number, rack in enumerate(racks) if node in _members(tree, rack))


def _racks(tree: Mapping[str, HyperNode], name: str) -> list[str]:
    members = _members(tree, name)
    return [rack for each in members for rack in _racks(tree, each)] if members[0] in tree else [name]


def _legend(y: int) -> Iterator[str]:
    x = LEFT
    for job, color in COLORS.items():
        yield f'<rect x="{x}" y="{y}" width="12" height="12" rx="2" fill="{color}"/>'
        yield f'<text x="{x + 18}" y="{y + 11}" font-size="13" fill="#1f2328">{job}</text>'
        x += 150
    yield f'<text x="{x}" y="{y + 11}" font-size="13" fill="#57606a">too-large waits</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE}\n")
