"""Users with few rights: the page shows what they may read, names what is missing, and has nothing of others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest_asyncio

from e2e.harness.cluster import Cluster
from e2e.harness.install import kubeconfig_view
from e2e.ui.page import opened, tab
from volcano_py.local.client import APIClient
from volcano_py.local.controlplane import service_account_token
from volcano_py.local.workdir.kubeconfig import with_token

if TYPE_CHECKING:
    from playwright.async_api import Browser

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_RULES = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": ["get", "list", "watch"]},
]


@pytest_asyncio.fixture(loop_scope="session")
async def researcher(shown: Cluster, tmp_path: Path) -> AsyncIterator[Path]:
    """The kubeconfig of a user who may read pods and PodGroups of the namespace `research`, and nothing else."""
    client, space = shown.client, "research"
    await client.create(f"/api/v1/namespaces/{space}/serviceaccounts", {"metadata": {"name": "reader"}})
    await client.create(f"{_RBAC}/namespaces/{space}/roles", {"metadata": {"name": "reader"}, "rules": _RULES})
    binding: dict[str, Any] = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": space}],
    }
    await client.create(f"{_RBAC}/namespaces/{space}/rolebindings", binding)
    path = with_token(
        tmp_path / "reader.kubeconfig",
        await kubeconfig_view(shown),
        await service_account_token(client, space, "reader"),
    )

    async def allowed() -> None:
        async with APIClient(path) as own:
            await own.get(f"/api/v1/namespaces/{space}/pods")

    await shown.eventually("the reader has its rights", allowed)
    yield path
    await shown.delete(f"{_RBAC}/namespaces/{space}/rolebindings/reader")
    await shown.delete(f"{_RBAC}/namespaces/{space}/roles/reader")


async def test_a_user_of_one_namespace_sees_its_jobs_and_nothing_of_others(researcher: Path, chromium: Browser) -> None:
    async with (
        opened("--kubeconfig", str(researcher), "--namespace", "research") as url,
        tab(chromium, url) as page,
    ):
        await page.says("3 pods placed")
        await page.page.get_by_text("things could not be read").click()
        await page.says("Pod in other namespaces than research not read")
        await page.says("Node not read")
        await page.go("#/jobs", "Jobs")
        await page.says("research/train")
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            async with session.get(url):
                pass
            async with session.get(f"{url.partition('/?')[0]}/api/board") as board:
                text = await board.text()
        assert "research/tune" in text
        assert "shop/" not in text
        assert "batch/" not in text
        await page.go("#/nodes", "Nodes")
        assert await page.axe() == []


async def test_a_user_without_any_right_sees_what_is_missing(shown: Cluster, chromium: Browser, tmp_path: Path) -> None:
    token = await service_account_token(shown.client, "research", "default")
    path = with_token(tmp_path / "no-rights.kubeconfig", await kubeconfig_view(shown), token)
    async with opened("--kubeconfig", str(path)) as url, tab(chromium, url) as page:
        await page.says("0 nodes, 0 pods placed, 0 pods waiting.")
        await page.page.get_by_text("things could not be read").click()
        await page.says("PodGroup not read")
        assert "research" not in (await page.text()).replace("system:serviceaccount:research", "")
