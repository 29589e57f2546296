"""Accessibility: axe-core finds nothing, the keyboard reaches everything, and narrow and dark screens are served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from e2e.ui.conftest import OpenTab

PAGES = {
    "#/overview": "Overview",
    "#/queues": "Queues",
    "#/queues/shop": "Queue shop",
    "#/jobs": "Jobs",
    "#/jobs/research/tune": "research/tune",
    "#/nodes": "Nodes",
    "#/nodes/rack-a-0": "Node rack-a-0",
    "#/evictions": "Evictions",
    "#/configuration": "Configuration",
    "#/what-if": "What if",
    "#/timeline": "Timeline",
}
SCREENS: Mapping[str, Mapping[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 740}},
}


@pytest.mark.parametrize("screen", SCREENS)
async def test_axe_finds_nothing_on_any_page(open_tab: OpenTab, screen: str) -> None:
    async with open_tab(**SCREENS[screen]) as tab:
        for place, heading in PAGES.items():
            await tab.go(place, heading)
            assert await tab.axe() == [], place


async def test_a_narrow_screen_needs_no_scrolling_sideways(open_tab: OpenTab) -> None:
    async with open_tab(viewport={"width": 360, "height": 740}) as tab:
        for place, heading in PAGES.items():
            await tab.go(place, heading)
            width = await tab.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360, f"{place} is {width} wide"


async def test_a_dark_screen_has_a_dark_page(open_tab: OpenTab) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    async with open_tab(color_scheme="dark") as dark, open_tab(color_scheme="light") as light:
        assert await dark.page.evaluate(colour) == "rgb(13, 17, 23)"
        assert await light.page.evaluate(colour) == "rgb(255, 255, 255)"


async def test_the_keyboard_alone_leads_to_why_a_job_waits(open_tab: OpenTab) -> None:
    async with open_tab() as tab:
        keys = tab.page.keyboard
        await keys.press("Tab")
        assert await tab.page.evaluate("document.activeElement.textContent") == "Skip to the page"
        await tab.page.get_by_role("navigation").get_by_role("link", name="Jobs").focus()
        await keys.press("Enter")
        await tab.page.get_by_role("heading", level=1, name="Jobs").wait_for()
        assert await tab.page.evaluate("document.activeElement.id") == "main"
        await tab.page.locator("td:first-child a").first.focus()
        await keys.press("ArrowDown")
        job = await tab.page.evaluate("document.activeElement.textContent")
        await keys.press("Enter")
        await tab.page.get_by_role("heading", level=1, name=job).wait_for()
        await tab.says("What would help")
