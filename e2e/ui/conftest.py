"""The page of one cluster, for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
import pytest_asyncio

from e2e.harness.cluster import Cluster
from e2e.ui.page import Tab, browser, opened, tab
from e2e.ui.world import world

if TYPE_CHECKING:
    from playwright.async_api import Browser


class OpenTab(Protocol):
    """Opens the page in a tab of its own; `settings` are those of a browser context."""

    def __call__(self, **settings: Any) -> AbstractAsyncContextManager[Tab]: ...


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """The browser."""
    async with browser() as found:
        yield found


@pytest.fixture(scope="package")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the cluster's daemon."""
    return tmp_path_factory.mktemp("world")


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def shown(
    chromium: Browser,  # first: without a browser nothing need be set up
    installed: Cluster,
    directory: Path,
) -> AsyncIterator[Cluster]:
    """The cluster that the page shows."""
    async with world(installed, directory) as found:
        yield found


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def url(shown: Cluster) -> AsyncIterator[str]:
    """The address of the page, with the token."""
    async with opened("--kubeconfig", str(shown.kubeconfig)) as found:
        yield found


@pytest.fixture
def open_tab(chromium: Browser, url: str) -> OpenTab:
    return partial(tab, chromium, url)
