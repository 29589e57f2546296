"""Blocks of Python, and copies of files of the project."""

from __future__ import annotations

import pytest

from tests.unit.docs.clusters import NODES, simulate
from tests.unit.docs.pages import PAGES, PROJECT, Block, all_blocks, blocks
from volcano_py.cluster.manifests import read_text
from volcano_py.framework.plugin import POINTS, Plugin, points_of
from volcano_py.framework.registry import Registry

INCLUDED = [block for page in PAGES for block in blocks(page) if "include" in block.marks]
PLUGINS = [block for block in all_blocks("python") if "plugin" in block.marks]

# Two gangs in two queues, with a pod that is alone: enough for every extension point to be asked.
WORKLOAD = """
{kind: Queue, metadata: {name: blue}, spec: {weight: 2}}
---
{kind: PodGroup, metadata: {name: g1, annotations: {example.com/deadline: "2026-01-02T00:00:00Z"}},
 spec: {minMember: 2, queue: blue, minResources: {cpu: "2"}}}
---
{kind: PodGroup, metadata: {name: g2}, spec: {minMember: 2, minResources: {cpu: "2"}}}
""" + "".join(
    f"""---
{{kind: Pod, metadata: {{name: {group}-{i}, annotations: {{scheduling.k8s.io/group-name: {group}}}}},
 spec: {{schedulerName: volcano, containers: [{{name: c, resources: {{requests: {{cpu: "1"}}}}}}]}}}}
"""
    for group in ("g1", "g2")
    for i in (0, 1)
)


@pytest.mark.parametrize("block", INCLUDED, ids=str)
def test_a_copy_of_a_file_is_what_the_file_is_now(block: Block) -> None:
    """When this fails: python -m tests.unit.docs.refresh."""
    assert block.text == (PROJECT / block.marks["include"]).read_text(encoding="utf-8")


@pytest.mark.parametrize("block", PLUGINS, ids=str)
def test_a_plugin_works_as_it_stands(block: Block, registry: Registry) -> None:
    namespace: dict[str, object] = {"__name__": "shown"}
    exec(compile(block.text, str(block), "exec"), namespace)
    shown = [
        value
        for value in namespace.values()
        if isinstance(value, type) and issubclass(value, Plugin) and value.__module__ == "shown"
    ]
    assert shown
    for plugin in shown:
        assert points_of(plugin), f"{plugin.name} fills no extension point"
        known = Registry.of([*registry.plugins.values(), plugin], registry.actions.values())
        text = (
            "actions: enqueue, allocate, backfill\n"
            f"tiers:\n- plugins:\n  - name: gang\n  - name: predicates\n  - name: {plugin.name}\n"
        )
        result = simulate(read_text(f"{NODES}\n---\n{WORKLOAD}"), known, text)
        assert [report.plugin_errors for report in result.reports if report.plugin_errors] == []
        assert len(result.binds) == 4


def test_python_is_a_plugin_or_a_copy() -> None:
    """Anything else would be dead code."""
    for block in all_blocks("python"):
        assert {"plugin", "include"} & block.marks.keys(), str(block)


def test_there_are_plugins_and_copies() -> None:
    assert PLUGINS
    assert INCLUDED


def test_the_guide_names_every_extension_point() -> None:
    text = (PROJECT / "docs" / "plugin-guide.md").read_text(encoding="utf-8")
    assert [point for point in POINTS if f"\n| `{point}` |" not in text] == []
