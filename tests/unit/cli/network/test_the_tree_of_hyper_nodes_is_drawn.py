"""`volcano-py topology tree` over manifests and over a cluster."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from tests.unit.cli.cluster import SCHEDULING, UserOfCluster, pod_group
from tests.unit.cluster.fakes import page, refusal
from volcano_py.cli.main import main

RESOURCES = "cpu: 8, memory: 32Gi, pods: 10"
OBJECTS = f"""
{{kind: Node, metadata: {{name: a1}}, status: {{allocatable: {{{RESOURCES}, example.com/chip: 4}}}}}}
---
{{kind: Node, metadata: {{name: a2}}, status: {{allocatable: {{{RESOURCES}, example.com/chip: 4}}}}}}
---
{{kind: Node, metadata: {{name: b1}}, status: {{allocatable: {{{RESOURCES}}}}}}}
---
{{kind: Node, metadata: {{name: x}}, status: {{allocatable: {{{RESOURCES}}}}}}}
""" + "".join(
    f"---\n{orjson.dumps(each).decode()}\n"
    for each in (
        {
            "kind": "HyperNode",
            "metadata": {"name": "rack-a"},
            "spec": {
                "tier": 1,
                "tierName": "rack",
                "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "^a"}}}],
            },
        },
        {
            "kind": "HyperNode",
            "metadata": {"name": "rack-b"},
            "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "b1"}}}]},
        },
        {
            "kind": "HyperNode",
            "metadata": {"name": "spine"},
            "spec": {
                "tier": 2,
                "members": [
                    {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}} for name in ("rack-a", "rack-b")
                ]
                + [{"type": "Node", "selector": {"exactMatch": {"name": "gone"}}}],
            },
        },
        *({"kind": "PodGroup", "metadata": {"name": name}} for name in ("one", "two", "none")),
        *(
            {
                "kind": "Pod",
                "metadata": {"name": f"{job}-{node}", "annotations": {"scheduling.k8s.io/group-name": job}},
                "spec": {
                    "schedulerName": "volcano",
                    "nodeName": node,
                    "containers": [{"name": "c", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}],
                },
                "status": {"phase": "Running"},
            }
            for job, node in (("one", "a1"), ("one", "a2"), ("two", "a1"), ("two", "b1"), ("none", ""))
        ),
    )
)  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "objects.yaml").write_text(OBJECTS, encoding="utf-8")
    return tmp_path / "objects.yaml"


def run(file: Path, *arguments: str) -> str:
    result = CliRunner().invoke(main, ["topology", "tree", "--from", str(file), *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_tree_shows_room_and_the_jobs_at_their_smallest_domain(file: Path) -> None:
    assert [line.rstrip() for line in run(file).splitlines()] == [
        "the whole cluster (tier 3)  4 nodes  cpu 20/32  memory 124Gi/128Gi  example.com/chip 8/8",
        "└── spine (tier 2)  3 nodes  cpu 12/24  memory 92Gi/96Gi  example.com/chip 8/8",
        "    1 job: default/two",
        "    ├── rack-a (rack, tier 1)  2 nodes  cpu 7/16  memory 61Gi/64Gi  example.com/chip 8/8",
        "    │   1 job: default/one",
        "    └── rack-b (tier 1)  1 node  cpu 5/8  memory 31Gi/32Gi",
        "spine: UnknownMember: nodes that do not exist are among its members: gone",
        "FREE/ALL of each resource",
    ]


def test_programs_get_every_domain_with_its_parent(file: Path) -> None:
    found = orjson.loads(run(file, "-o", "json"))
    domains = {each["name"]: each for each in found["domains"]}
    assert {name: each["parent"] for name, each in domains.items()} == {
        "": "", "spine": "", "rack-a": "spine", "rack-b": "spine",
    }  # fmt: skip
    assert domains["rack-a"] == {
        "name": "rack-a",
        "parent": "spine",
        "depth": 2,
        "tier": 1,
        "tierName": "rack",
        "nodes": 2,
        "allocatable": {"cpu": "16", "memory": "64Gi", "pods": "20", "example.com/chip": "8"},
        "free": {"cpu": "7", "memory": "61Gi", "pods": "17", "example.com/chip": "8"},
        "jobs": ["default/one"],
    }
    assert [(each["name"], each["reason"]) for each in found["faults"]] == [("spine", "UnknownMember")]


def test_a_cluster_without_hyper_nodes_is_one_domain(tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text(OBJECTS.split("---")[0], encoding="utf-8")
    assert run(tmp_path / "none.yaml").splitlines()[0].startswith("the whole cluster (tier 1)  1 node  cpu 8/8")


HYPER_NODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"


async def test_a_cluster_is_listed_and_one_without_the_crd_has_no_hyper_nodes(user: UserOfCluster) -> None:
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "8", "pods": "10"}}}
    rack = {
        "metadata": {"name": "rack"},
        "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}]},
    }
    user.api.on("GET", "/api/v1/nodes", page(7, node))
    user.api.on("GET", HYPER_NODES, page(7, rack))
    user.api.on("GET", f"{SCHEDULING}/podgroups", page(7, pod_group("train")))
    user.api.on("GET", "/api/v1/pods", page(7))
    found = orjson.loads(await user.prints("topology", "tree", "-o", "json"))
    assert [(each["name"], each["nodes"]) for each in found["domains"]] == [("", 1), ("rack", 1)]
    user.api.on("GET", HYPER_NODES, refusal(404, "NotFound", "the server could not find the requested resource"))
    found = orjson.loads(await user.prints("topology", "tree", "-o", "json"))
    assert [(each["name"], each["nodes"]) for each in found["domains"]] == [("", 1)]
    user.api.on("GET", HYPER_NODES, refusal(403, "Forbidden", "hypernodes is forbidden"))
    assert "hypernodes is forbidden" in await user.is_refused("topology", "tree")
