"""Users with few rights: the page shows what they may read, names what is missing, and has nothing of others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest_asyncio

from e2e.harness.cluster import Cluster
from e2e.harness.install import kubeconfig_view
from e2e.ui.accounts import OF_A_TEAM, account
from e2e.ui.page import opened, tab
from volcano_py.local.controlplane import service_account_token
from volcano_py.local.workdir.kubeconfig import with_token

if TYPE_CHECKING:
    from playwright.async_api import Browser


@pytest_asyncio.fixture(loop_scope="session")
async def researcher(shown: Cluster, tmp_path: Path) -> AsyncIterator[Path]:
    """The kubeconfig of a user who may read pods and PodGroups of the namespace `research`, and nothing else."""
    async with account(shown, "research", "reader", OF_A_TEAM) as token:
        yield with_token(tmp_path / "reader.kubeconfig", await kubeconfig_view(shown), token)


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
