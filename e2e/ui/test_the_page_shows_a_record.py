"""A record that the daemon writes, in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from e2e.harness.cluster import Cluster
from e2e.ui.page import opened, tab

if TYPE_CHECKING:
    from playwright.async_api import Browser


async def test_a_record_has_a_timeline_and_the_cluster_as_a_cycle_found_it(
    shown: Cluster, directory: Path, chromium: Browser
) -> None:
    record = str(directory / "record")

    async def written() -> None:
        async with opened("--record", record) as url, tab(chromium, url) as page:
            await page.go("#/timeline", "Timeline")
            await page.says("The whole record")
            assert "OverCapability" in await page.text(), "the record is written a moment later"
            await page.go("#/jobs/research/tune", "research/tune")
            await page.says("lower minMember")

    await shown.eventually("the record has what waits", written)
    async with opened("--record", record, "--at", "1") as url, tab(chromium, url) as page:
        await page.says("8 nodes, 0 pods placed")
