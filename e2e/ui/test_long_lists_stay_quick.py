"""Lists of thousands: only the rows in sight are in the document, and all can be reached."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from e2e.ui.page import opened, tab

if TYPE_CHECKING:
    from playwright.async_api import Browser

JOBS = 3000


def manifests(path: Path) -> Path:
    groups = [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": f"job-{number:04}", "namespace": f"team-{number % 7}"},
            "spec": {"minMember": 1},
        }
        for number in range(JOBS)
    ]
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": groups}), encoding="utf-8")
    return path


async def test_three_thousand_jobs_are_a_few_rows_and_the_last_one_is_reached(
    chromium: Browser, tmp_path: Path
) -> None:
    file = await asyncio.to_thread(manifests, tmp_path / "jobs.yaml")
    async with opened("--from", str(file)) as url, tab(chromium, url) as page:
        await page.go("#/jobs", "Jobs")
        await page.says(f"{JOBS} jobs")
        rows = page.page.locator("tbody tr:not(.spacer)")
        assert await rows.count() < 100
        assert await page.page.locator("table").get_attribute("aria-rowcount") == str(JOBS + 1)
        scroller = page.page.locator(".list")
        await scroller.evaluate("list => { list.scrollTop = list.scrollHeight; }")
        await page.page.locator(f"tr[aria-rowindex='{JOBS + 1}']").wait_for()
        assert await rows.count() < 100
        assert await scroller.evaluate("list => list.scrollTop + list.clientHeight >= list.scrollHeight - 1")
        await page.page.get_by_role("searchbox", name="Name").fill("job-2999")
        await page.says(f"1 of {JOBS} jobs")
        await page.page.get_by_role("link", name="team-3/job-2999").wait_for()
