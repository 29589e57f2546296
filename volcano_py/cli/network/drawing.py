"""The tree of the network, a line for each domain and one for the jobs in it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from volcano_py.api.wording.amounts import numbers
from volcano_py.api.wording.summarize import counted, summarize
from volcano_py.cli.network.domains import WHOLE, Domain, Network
from volcano_py.cli.printing.one_line import plain

_FIRST = ("cpu", "memory")


def drawing(network: Network) -> RenderableType:
    """The tree, what is wrong with it, and how to read it."""
    branch: list[Tree] = []
    for domain in network.domains:
        tree = Tree(_label(domain), guide_style="dim")
        del branch[domain.depth :]
        if branch:
            branch[-1].children.append(tree)
        branch.append(tree)
    faults = [Text(plain(f"{fault.name}: {fault.reason}: {fault.message}"), "yellow") for fault in network.faults]
    return Group(branch[0], *faults, Text("FREE/ALL of each resource", "dim"))


def _label(domain: Domain) -> Text:
    name = plain(domain.name) if domain.name else WHOLE
    tier = f"{plain(domain.tier_name)}, tier {domain.tier}" if domain.tier_name else f"tier {domain.tier}"
    label = Text(name, "bold").append(f" ({tier})", "dim").append(f"  {counted(domain.nodes, 'node')}")
    for text in _amounts(domain):
        label.append(f"  {text}")
    if domain.jobs:
        label.append(f"\n{counted(len(domain.jobs), 'job')}: {plain(summarize(domain.jobs))}", "cyan")
    return label


def _amounts(domain: Domain) -> Iterator[str]:
    """Without places for pods, which are hardly ever what is short; programs get them, too."""
    for name in sorted(domain.allocatable.keys() - {"pods"}, key=lambda name: (name not in _FIRST, name)):
        free, total = numbers(name, domain.free.get(name, 0), domain.allocatable[name])
        yield f"{name} {free}/{total}"
