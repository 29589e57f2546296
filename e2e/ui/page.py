"""`volcano-py ui` as a process, and a browser that looks at it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
MISSING: Final = (
    "the tests of the page need Chromium, that of the distribution: `apt-get install chromium` as root"
    f" (looked for on PATH: {', '.join(BROWSERS)})"
)
NO_CLIENT: Final = "the tests of the page need Playwright's client: `make test` installs it, or pip install playwright"
AXE: Final = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
SECONDS: Final = 60.0


@contextlib.asynccontextmanager
async def opened(*arguments: str) -> AsyncIterator[str]:
    """The address of a page that runs with these arguments, the token in it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "volcano_py", "ui", "--no-browser", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(SECONDS):
            line = (await process.stdout.readline()).decode().strip()
        if not line.startswith(("http://127.0.0.1:", "https://127.0.0.1:")):
            pytest.fail(f"volcano-py ui has printed {line!r}: {(await process.stderr.read()).decode()}", pytrace=False)
        yield line
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


@contextlib.asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """The distribution's Chromium, without a window."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(MISSING)
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        pytest.fail(NO_CLIENT, pytrace=False)
    # Its sandbox needs rights of the kernel that root in a container does not have; it loads only our own page.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=program, args=sandbox)
        yield chromium
        await chromium.close()


def origin_of(url: str) -> str:
    """Scheme, host and port of the page's address."""
    return url.partition("/?")[0].rstrip("/")


class Tab:
    """A tab of the browser. What goes wrong in it is kept: errors of scripts, refusals of the policy, and requests that
    leave the page's own address."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.wrong: list[str] = []
        self._origin = origin_of(url)
        page.set_default_timeout(SECONDS * 1000)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"{message.type}: {message.text}")

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(f"{self._origin}/"):
            self.wrong.append(f"request to {request.url}")

    async def go(self, place: str, heading: str) -> None:
        """Follow a link of the page, such as `#/queues`, and wait for its heading."""
        await self.page.evaluate("place => { location.hash = place; }", place)
        await self.page.get_by_role("heading", level=1, name=heading).wait_for()

    async def text(self) -> str:
        """What the page says."""
        return str(await self.page.locator("main").inner_text())

    async def says(self, text: str) -> None:
        """Wait until the page has this text."""
        await self.page.locator("main").get_by_text(text).first.wait_for()

    async def axe(self) -> list[str]:
        """What axe-core finds wrong with the page as it stands."""
        await self.page.evaluate(AXE)
        found = await self.page.evaluate("axe.run()")
        return [
            f"{each['id']}: {each['help']}: {node['html'][:200]}"
            for each in found["violations"]
            for node in each["nodes"]
        ]


@contextlib.asynccontextmanager
async def tab(chromium: Browser, url: str, **settings: Any) -> AsyncIterator[Tab]:
    """A tab of its own, with its own cookies, that has opened the page; at the end nothing may have gone wrong."""
    context = await chromium.new_context(**{"viewport": {"width": 1280, "height": 860}, **settings})
    found = Tab(await context.new_page(), url)
    await found.page.goto(url)
    await found.page.locator("main h1").first.wait_for()
    yield found
    await context.close()
    assert found.wrong == [], found.wrong


async def picture_in(tab: Tab, directory: Path, name: str) -> None:
    """The page, whole, in `directory`, or where UI_SCREENSHOTS says."""
    place = Path(os.environ.get("UI_SCREENSHOTS", directory))
    await asyncio.to_thread(place.mkdir, parents=True, exist_ok=True)
    content = await tab.page.screenshot(path=place / name, full_page=True, animations="disabled")
    assert content.startswith(b"\x89PNG")
