"""The page for all users of a cluster: it runs with the shipped rights, over TLS, and each user signs in with a token.

Four users: one of the namespace `research`, one who may list everything, one without any right, and one whose token no
longer counts. With UI_SCREENSHOTS=docs/images/page the picture of the form is made again.
"""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import pytest
import pytest_asyncio

from e2e.harness.cluster import Cluster
from e2e.harness.install import REPOSITORY, SYSTEM_NAMESPACE, kubeconfig_view
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang
from e2e.harness.rights import UI_ACCOUNT
from e2e.ui.accounts import OF_A_TEAM, OF_EVERYTHING, account
from e2e.ui.page import Tab, opened, origin_of, picture_in
from e2e.ui.test_everyone_can_use_the_page import PAGES, SCREENS
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.local.controlplane import service_account_token
from volcano_py.local.workdir.kubeconfig import with_token
from volcano_py.observe.listen import ListenAddress
from volcano_py.operator.webhooks.certificates import issue
from volcano_py.scheduler import builtin_registry
from volcano_py.ui.access import Shared
from volcano_py.ui.cluster import Cluster as PageCluster
from volcano_py.ui.serving import serving
from volcano_py.ui.web import sessions
from volcano_py.ui.web.sign_in import COOKIE

if TYPE_CHECKING:
    from playwright.async_api import Browser

RESEARCH, EVERYTHING, NOTHING = "researcher", "operator", "stranger"
SECRET_WORDS: Final = ("shop/", "batch/", "rack-a", "checkout")
"""What only work and nodes have that the user of `research` may not see."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as of a mounted Secret, and the authority that browsers would trust."""
    directory, made = tmp_path_factory.mktemp("tls"), issue(("127.0.0.1",), datetime.now(UTC))
    for name, content in (("tls.crt", made.certificate), ("tls.key", made.key), ("ca.crt", made.authorities)):
        (directory / name).write_bytes(content)
    return directory


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(shown: Cluster, certificates: Path, directory: Path) -> AsyncIterator[str]:
    """The address of the page, which runs as its ServiceAccount with the shipped rights."""
    files = [REPOSITORY / "manifests" / "ui" / name for name in ("serviceaccount.yaml", "rbac.yaml")]
    for file in files:
        await shown.kubectl("apply", "-f", str(file))
    token = await service_account_token(shown.client, SYSTEM_NAMESPACE, UI_ACCOUNT)
    kubeconfig = with_token(directory / "ui.kubeconfig", await kubeconfig_view(shown), token)
    arguments = ("--sign-in", "--tls-cert-dir", str(certificates), "--kubeconfig", str(kubeconfig))
    try:
        async with opened(*arguments) as found:
            yield found
    finally:
        for file in files:
            await shown.kubectl("delete", "-f", str(file))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tokens(shown: Cluster) -> AsyncIterator[Mapping[str, str]]:
    """User → token."""
    async with (
        account(shown, "research", RESEARCH, OF_A_TEAM) as research,
        account(shown, "shop", EVERYTHING, OF_EVERYTHING, everywhere=True) as everything,
        account(shown, "shop", NOTHING) as nothing,
    ):
        yield {RESEARCH: research, EVERYTHING: everything, NOTHING: nothing}


@contextlib.asynccontextmanager
async def visit(page: str, certificates: Path, token: str = "") -> AsyncIterator[aiohttp.ClientSession]:
    """A client with cookies of its own, signed in with the token."""
    trust = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=str(certificates / "ca.crt")))
    jar = aiohttp.CookieJar(unsafe=True)  # those of addresses without a name, too
    async with aiohttp.ClientSession(origin_of(page), cookie_jar=jar, connector=trust) as session:
        if token:
            async with session.post("/sign-in", data={"token": token}, allow_redirects=False) as answer:
                assert answer.status == 303, await answer.text()
        yield session


async def tables(session: aiohttp.ClientSession) -> dict[str, Any]:
    async with session.get("/api/board") as answer:
        assert answer.status == 200
        found: dict[str, Any] = (await answer.json())["tables"]
        return found


async def test_without_a_session_no_address_shows_anything(page: str, certificates: Path) -> None:
    async with visit(page, certificates) as session:
        for path in ("/api/board", "/api/updates", "/api/explain/queue/batch", "/api/pods/research/tune", "/nothing"):
            async with session.get(path) as answer:
                assert (answer.status, "batch" in await answer.text()) == (401, False), path
        for path in ("/api/what-if", "/api/plan"):
            async with session.post(path, json={}) as answer:
                assert answer.status == 401
        async with session.get("/") as first:
            assert (str(first.url.path), "Token of Kubernetes" in await first.text()) == ("/sign-in", True)


async def test_wrong_and_outdated_tokens_open_nothing(
    page: str, certificates: Path, shown: Cluster, tokens: Mapping[str, str]
) -> None:
    async with account(shown, "shop", "gone") as outdated:
        pass
    elsewhere = await shown.client.create(
        f"/api/v1/namespaces/shop/serviceaccounts/{NOTHING}/token",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 600, "audiences": ["another-service"]},
        },
    )
    header, claims, signature = tokens[EVERYTHING].split(".")
    altered = f"{header}.{claims}.{signature[::-1]}"
    async with visit(page, certificates) as session:
        for text in (outdated, elsewhere["status"]["token"], altered):
            async with session.post("/sign-in", data={"token": text}, allow_redirects=False) as answer:
                assert (answer.status, "Set-Cookie" in answer.headers) == (403, False)
                assert text not in await answer.text()


async def test_the_user_of_everything_sees_the_whole_cluster_read_with_the_shipped_rights(
    page: str, certificates: Path, tokens: Mapping[str, str]
) -> None:
    async with visit(page, certificates, tokens[EVERYTHING]) as session:
        found = await tables(session)
        row = found["cluster"]["cluster"]
        assert ("unread" in row, "hidden" in row, row["nodes"]) == (False, False, 8)
        assert {key.partition("/")[0] for key in found["jobs"]} == {"batch", "research", "shop"}
        for path in ("/api/explain/podgroup/shop/huge", "/api/explain/queue/batch", "/api/explain/node/rack-a-0"):
            async with session.get(path) as answer:
                assert (answer.status, "unread" in await answer.json()) == (200, False), path
        async with session.get("/api/explain/podgroup/shop/huge") as answer:
            assert any("16 cpu" in each["text"] for each in (await answer.json())["history"]), "its events"
        async with session.post("/api/what-if", json={"cordon": ["rack-a-0"]}) as answer:
            assert answer.status == 200


async def test_the_user_of_one_namespace_sees_its_work_and_nothing_of_others(
    page: str, certificates: Path, tokens: Mapping[str, str]
) -> None:
    async with visit(page, certificates, tokens[RESEARCH]) as session:
        found = await tables(session)
        row = found["cluster"]["cluster"]
        assert {*found["jobs"]} == {"research/train", "research/tune", "research/eval"}
        assert (row["running"], row["nodes"], found["queues"], found["nodes"]) == (3, 0, {}, {})
        assert "2 namespaces are not yours to see: you may not list PodGroups and pods there" in row["hidden"]
        answers = [json.dumps(found)]
        for path, status in {
            "/api/explain/podgroup/research/eval": 200,
            "/api/explain/podgroup/research/tune": 200,
            "/api/pods/research/tune": 200,
            "/api/explain/podgroup/shop/huge": 404,
            "/api/explain/pod/shop/huge-0": 404,
            "/api/explain/queue/vision": 404,
            "/api/explain/node/rack-b-0": 404,
            "/api/pods/shop/huge": 404,
        }.items():
            async with session.get(path) as answer:
                assert answer.status == status, path
                if status == 200:
                    answers.append(await answer.text())
        for path, body in (("/api/what-if", {"cordon": ["rack-a-0"]}), ("/api/plan", {"text": ""})):
            async with session.post(path, json=body) as answer:
                assert (answer.status, "all work" in await answer.text()) == (400, True)
        for text in answers:
            assert not [word for word in SECRET_WORDS if word in text], text


async def test_the_user_without_rights_sees_that_there_is_nothing_to_see(
    page: str, certificates: Path, tokens: Mapping[str, str]
) -> None:
    async with visit(page, certificates, tokens[NOTHING]) as session:
        found = await tables(session)
        assert {table for table, rows in found.items() if rows} == {"cluster"}
        assert found["cluster"]["cluster"]["hidden"][0].startswith("3 namespaces are not yours to see")


async def test_a_stream_brings_changes_of_the_users_own_namespace_only(
    page: str, certificates: Path, tokens: Mapping[str, str], shown: Cluster
) -> None:
    async with (
        visit(page, certificates, tokens[RESEARCH]) as session,
        session.get("/api/updates?after=0") as stream,
    ):
        seen = (await stream.content.readuntil(b"\n\n")).decode()
        batch, research = Namespace(shown, "batch"), Namespace(shown, "research")
        await batch.apply(gang("hidden", 1, queue="batch", cpu="64"))
        await research.apply(gang("seen", 1, queue="vision", cpu="64"))
        while "research/seen" not in seen:
            seen += (await stream.content.readuntil(b"\n\n")).decode()
        await research.delete_pod("seen-0")
        await research.delete_pod_group("seen")
        await batch.delete_pod("hidden-0")
        await batch.delete_pod_group("hidden")
        while '"gone":["research/seen"]' not in seen:
            seen += (await stream.content.readuntil(b"\n\n")).decode()
    assert "batch/" not in seen


async def test_a_session_and_its_stream_end_with_the_account_of_their_token(
    page: str, certificates: Path, shown: Cluster, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is served in this process, so that it asks about tokens before each answer instead of once a minute."""
    assert page, "its account has its rights"
    monkeypatch.setattr(sessions, "CHECKED_FOR", 0.0)
    async with (
        await KubernetesClient.connect(directory / "ui.kubeconfig") as client,
        following(client) as cluster,
        serving(cluster, ListenAddress("127.0.0.1", 0), shared=Shared(client, SYSTEM_NAMESPACE, certificates)) as own,
        contextlib.AsyncExitStack() as stack,
    ):
        token = await stack.enter_async_context(account(shown, "shop", "leaver", OF_A_TEAM))
        session = await stack.enter_async_context(visit(own, certificates, token))
        assert {*(await tables(session))["jobs"]} == {"shop/huge", "shop/serve", "shop/checkout"}
        async with session.get("/api/updates?after=0") as stream:
            assert b"shop/huge" in await stream.content.readuntil(b"}\n\n")
            await shown.delete("/api/v1/namespaces/shop/serviceaccounts/leaver")
            # In a cluster in which nothing changes, a line says so every fifteen seconds.
            while not (event := await stream.content.readuntil(b"\n\n")).startswith(b"event: again"):
                assert b"shop/huge" not in event
        async with session.get("/api/board") as answer:
            assert (answer.status, "shop" in await answer.text()) == (401, False)


@contextlib.asynccontextmanager
async def following(client: KubernetesClient) -> AsyncIterator[PageCluster]:
    """What the page shows, kept in step with the API server."""
    found = PageCluster("e2e", builtin_registry(), scheduler_names=frozenset({"volcano"}), default_queue="default")
    async with found.following(client, config_namespace=SYSTEM_NAMESPACE, namespace="default"):
        yield found


@contextlib.asynccontextmanager
async def tab(chromium: Browser, page: str, place: str = "", **settings: Any) -> AsyncIterator[Tab]:
    """A tab that shows the form; the certificate's authority is not one that the browser knows."""
    context = await chromium.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 860}, **settings)
    found = Tab(await context.new_page(), page)
    await found.page.goto(page + place)
    await found.page.get_by_role("heading", level=1, name="Sign in").wait_for()
    yield found
    await context.close()
    assert found.wrong == []


async def enter(tab: Tab, token: str) -> None:
    await tab.page.get_by_label("Token of Kubernetes").fill(token)
    await tab.page.get_by_role("button", name="Sign in").click()


async def test_signing_in_leads_to_the_place_that_was_asked_for_and_out_again(
    page: str, chromium: Browser, tokens: Mapping[str, str]
) -> None:
    async with tab(chromium, page, "#/jobs?namespace=research") as found:
        await enter(found, "wrong")
        await found.page.get_by_role("alert").get_by_text("does not accept this token").wait_for()
        assert found.wrong == ["error: Failed to load resource: the server responded with a status of 403 (Forbidden)"]
        found.wrong.clear()
        await enter(found, tokens[EVERYTHING])
        await found.says("3 of 7 jobs")
        assert "token" not in found.page.url
        await found.page.get_by_text(f"system:serviceaccount:shop:{EVERYTHING}").wait_for()
        (cookie,) = await found.page.context.cookies()
        assert (cookie["name"], cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (
            COOKIE, True, True, "Strict",
        )  # fmt: skip
        await found.page.get_by_role("button", name="Sign out").click()
        await found.page.get_by_role("heading", level=1, name="Sign in").wait_for()
        assert await found.page.context.cookies() == []


@pytest.mark.parametrize("screen", SCREENS)
async def test_axe_finds_nothing_in_the_form_nor_on_any_page_of_a_user_who_sees_little(
    page: str, chromium: Browser, tokens: Mapping[str, str], screen: str
) -> None:
    settings = {key: value for key, value in SCREENS[screen].items() if key != "viewport"}
    async with tab(chromium, page, **settings) as found:
        if "viewport" in SCREENS[screen]:
            await found.page.set_viewport_size(SCREENS[screen]["viewport"])
        assert await found.axe() == []
        await enter(found, tokens[RESEARCH])
        await found.says("3 pods placed")
        await found.says("Not all of the cluster is yours to see")
        for place, heading in PAGES.items():
            await found.go(place, heading)
            assert await found.axe() == [], place
            width = await found.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert width <= 0, f"{place} is {width} too wide"
        assert all(text.endswith("404 (Not Found)") for text in found.wrong), found.wrong
        found.wrong.clear()


async def test_the_form_is_shown_in_the_guide(page: str, chromium: Browser, tmp_path: Path) -> None:
    async with tab(chromium, page) as found:
        await picture_in(found, tmp_path, "sign-in.png")
