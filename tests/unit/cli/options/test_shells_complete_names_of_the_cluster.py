"""A Tab where a name goes: the names that the cluster has."""

from __future__ import annotations

import asyncio

import pytest
from click.shell_completion import ShellComplete

from tests.unit.cli.cluster import SCHEDULING, UserOfCluster, pod_group
from tests.unit.cluster.fakes import page, refusal
from volcano_py.cli.main import main

QUEUES = f"{SCHEDULING}/queues"
BATCH = "/apis/batch.volcano.sh/v1alpha1"


def named(*names: str) -> list[dict[str, object]]:
    return [{"metadata": {"name": name}} for name in names]


async def completed(user: UserOfCluster, *words: str) -> list[str]:
    """What a shell is offered after these words; the kubeconfig is on the line already."""
    *verb, incomplete = words
    line = [*verb[:2], "--kubeconfig", str(user.kubeconfig), *verb[2:]]
    shell = ShellComplete(main, {}, "volcano-py", "")
    items = await asyncio.to_thread(shell.get_completions, line, incomplete)
    return [item.value for item in items]


@pytest.mark.parametrize(
    "words",
    [
        ("queue", "get", "te"),
        ("queue", "get", "--name", "te"),
        ("queue", "create", "--parent", "te"),
        ("job", "list", "--queue", "te"),
        ("podgroup", "list", "-q", "te"),
        ("pod", "list", "-q", "te"),
    ],
    ids=" ".join,
)
async def test_queues(user: UserOfCluster, words: tuple[str, ...]) -> None:
    user.api.on("GET", QUEUES, page(7, *named("team-b", "team-a", "ops")))
    assert await completed(user, *words) == ["team-a", "team-b"]


async def test_jobs_of_the_namespace_on_the_line(user: UserOfCluster) -> None:
    user.api.on("GET", f"{BATCH}/namespaces/ns/jobs", page(7, *named("train", "eval")))
    assert await completed(user, "job", "view", "-n", "ns", "") == ["eval", "train"]


async def test_a_new_job_may_have_any_name(user: UserOfCluster) -> None:
    assert await completed(user, "job", "run", "") == []
    assert user.api.sent("GET") == []


async def test_explain_completes_names_of_the_kind(user: UserOfCluster) -> None:
    user.api.on("GET", f"{SCHEDULING}/namespaces/ns/podgroups", page(7, pod_group("train")))
    user.api.on("GET", "/api/v1/nodes", page(7, *named("n1")))
    user.api.on("GET", f"{BATCH}/namespaces/ns/jobs", page(7, *named("train")))
    user.api.on("GET", "/apis/batch/v1/namespaces/ns/jobs", page(7, *named("render")))
    user.api.on("GET", "/apis/apps/v1/namespaces/ns/deployments", page(7, *named("web")))
    shell = ShellComplete(main, {}, "volcano-py", "")
    line = ["explain", "--kubeconfig", str(user.kubeconfig), "-n", "ns"]
    for words, offered in (
        (["podgroup", ""], ["train"]),
        (["node", ""], ["n1"]),
        (["pg/"], ["pg/train"]),
        (["node/n"], ["node/n1"]),
        (["podgroup/other"], []),
        (["service/"], []),
        (["po"], ["podgroup", "pod"]),
        (["job/"], ["job/render", "job/train"]),
        (["job.batch/"], ["job.batch/render"]),
        (["deploy/w"], ["deploy/web"]),
        (["de"], ["deployment"]),
    ):
        items = await asyncio.to_thread(shell.get_completions, [*line, *words[:-1]], words[-1])
        assert [item.value for item in items] == offered


async def test_a_cluster_that_refuses_offers_nothing(user: UserOfCluster) -> None:
    user.api.on("GET", QUEUES, refusal(403, "Forbidden"))
    assert await completed(user, "queue", "get", "") == []
