"""Who may see the page, and what it may load."""

from __future__ import annotations

import aiohttp
import pytest

from e2e.ui.conftest import OpenTab

PATHS = ("/", "/static/app.js", "/api/board", "/api/updates", "/api/explain/queue/batch", "/api/what-if", "/nothing")


@pytest.mark.parametrize("path", PATHS)
async def test_without_or_with_a_wrong_token_nothing_is_shown(url: str, path: str) -> None:
    origin = url.partition("/?")[0]
    async with aiohttp.ClientSession() as session:
        async with session.get(origin + path) as none:
            assert none.status == 401
            assert "batch" not in await none.text()
        async with session.get(f"{origin}{path}?token=wrong") as wrong:
            assert wrong.status == 403
            assert "Set-Cookie" not in wrong.headers
            assert "batch" not in await wrong.text()


async def test_the_token_leaves_the_address_and_the_policy_lets_nothing_else_in(open_tab: OpenTab, url: str) -> None:
    async with open_tab() as tab:
        assert "token" not in tab.page.url
        answer = await tab.page.request.get(tab.page.url)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        refused = await tab.page.evaluate(
            """() => new Promise((resolve) => {
                document.addEventListener("securitypolicyviolation", (event) => resolve(event.violatedDirective));
                const script = document.createElement("script");
                script.textContent = "window.injected = true";
                document.body.append(script);
            })"""
        )
        assert refused.startswith("script-src")
        assert await tab.page.evaluate("window.injected") is None
        assert len(tab.wrong) == 1, tab.wrong
        tab.wrong.clear()


async def test_another_site_gets_no_answer_even_with_the_cookie(open_tab: OpenTab) -> None:
    async with open_tab() as tab:
        headers = {"Origin": "http://elsewhere.example", "Content-Type": "application/json"}
        answer = await tab.page.request.post(f"{tab.page.url}api/what-if", headers=headers, data={"cordon": ["x"]})
        assert answer.status == 403
