"""Each page in a browser: what it says of the cluster, that it follows it, and that its links can be shared.

With UI_SCREENSHOTS=docs/images/page the pictures of the guide are made again.
"""

from __future__ import annotations

from pathlib import Path

from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod
from e2e.ui.conftest import OpenTab
from e2e.ui.page import picture_in


async def test_the_overview_says_what_is_used_and_what_waits_for_which_reason(
    open_tab: OpenTab, tmp_path: Path
) -> None:
    async with open_tab() as tab:
        await tab.says("8 nodes, 33 pods placed, 4 pods waiting.")
        for reason in ("OverCapability", "NodesRefuse", "NeverFits"):
            await tab.page.get_by_role("link", name=reason).wait_for()
        assert "8 of 64" not in await tab.text()
        row = tab.page.get_by_role("row").filter(has=tab.page.get_by_role("link", name="batch", exact=True))
        assert "28 cpu held, deserves 20" in await row.inner_text()
        await picture_in(tab, tmp_path, "overview.png")


async def test_queues_form_a_tree_and_say_who_borrows_from_whom(open_tab: OpenTab, tmp_path: Path) -> None:
    async with open_tab() as tab:
        await tab.go("#/queues", "Queues")
        table = tab.page.get_by_role("table").first
        names = await table.locator("tbody tr td:first-child a").all_inner_texts()
        assert names[0] == "root"
        assert names.index("research") + 1 == names.index("language") == names.index("vision") - 1
        loan = tab.page.get_by_role("row").filter(has_text="beyond what it deserves")
        assert "batch (8 beyond what it deserves; not reclaimable)" in await loan.first.inner_text()
        await picture_in(tab, tmp_path, "queues.png")
        await tab.page.get_by_role("link", name="vision", exact=True).first.click()
        await tab.page.get_by_role("heading", level=1, name="Queue vision").wait_for()
        assert "12 cpu held, deserves 16" in await tab.text()


async def test_queues_that_jobs_name_and_that_do_not_exist_are_listed(open_tab: OpenTab, shown: Cluster) -> None:
    shop = Namespace(shown, "shop")
    async with open_tab() as tab:
        await tab.go("#/queues", "Queues")
        heading = tab.page.get_by_role("heading", name="Queues that do not exist")
        assert await heading.count() == 0
        await shop.apply(gang("lost", 1, queue="nowhere", cpu="1"))
        await heading.wait_for()
        row = tab.page.get_by_role("region", name="Queues that jobs name").get_by_role("row").nth(1)
        assert (await row.inner_text()).split() == ["nowhere", "0", "1", "nothing"]
        assert await tab.axe() == []
        await row.get_by_role("link", name="nowhere").click()
        await tab.says("There is no queue nowhere. 1 job names it.")
        await tab.page.get_by_role("link", name="1 job").click()
        await tab.says("1 of 8 jobs")
        await tab.says("queue nowhere does not exist")
        await shown.kubectl("delete", "--namespace", "shop", "podgroup/lost", "pod/lost-0")
        await tab.go("#/queues", "Queues")
        await heading.wait_for(state="detached")


async def test_jobs_are_filtered_and_the_address_keeps_the_filter(open_tab: OpenTab, tmp_path: Path) -> None:
    async with open_tab() as tab:
        await tab.go("#/jobs", "Jobs")
        await tab.page.get_by_label("Namespace").select_option("research")
        await tab.says("3 of 7 jobs")
        await tab.page.get_by_label("Reason").select_option("OverCapability")
        await tab.says("1 of 7 jobs")
        assert tab.page.url.endswith("#/jobs?namespace=research&reason=OverCapability")
        await tab.page.reload()
        await tab.says("1 of 7 jobs")
        assert await tab.page.get_by_label("Reason").input_value() == "OverCapability"
        await tab.go("#/jobs?queue=research", "Jobs")
        await tab.says("3 of 7 jobs")  # those of the queues below it
        await tab.go("#/jobs", "Jobs")
        await tab.says("7 jobs")
        await picture_in(tab, tmp_path, "jobs.png")


async def test_a_job_says_why_it_waits_what_limits_it_and_what_would_help(open_tab: OpenTab, tmp_path: Path) -> None:
    async with open_tab() as tab:
        await tab.go("#/jobs/research/tune", "research/tune")
        await tab.says("lower minMember of PodGroup research/tune from 2 to 1")
        chain = tab.page.locator(".chain > li")
        assert await chain.filter(has_text="keeps it out").locator("strong").inner_text() == "queue language"
        assert await tab.page.locator(".gang").get_by_text("tune-1: waits").count() == 1
        await picture_in(tab, tmp_path, "job.png")


async def test_nodes_are_shown_by_their_racks_and_say_what_is_on_them(open_tab: OpenTab, tmp_path: Path) -> None:
    async with open_tab() as tab:
        await tab.go("#/nodes", "Nodes")
        assert await tab.page.get_by_role("group", name="rack-a").get_by_role("link").count() == 4
        await picture_in(tab, tmp_path, "nodes.png")
        first = tab.page.get_by_role("group", name="rack-a").get_by_role("link").first
        await first.focus()
        await tab.page.keyboard.press("ArrowRight")
        await tab.page.keyboard.press("Enter")
        await tab.page.get_by_role("heading", level=1, name="Node rack-a-1").wait_for()
        await tab.says("batch/nightly")


async def test_evictions_say_which_pod_went_for_which(open_tab: OpenTab, tmp_path: Path) -> None:
    async with open_tab() as tab:
        await tab.go("#/evictions", "Evictions")
        row = tab.page.get_by_role("row").filter(has_text="shop/checkout-0")
        await row.first.wait_for()
        assert "shop/serve-" in await row.first.inner_text()
        why = row.first.locator("td.sentence")
        fits = "cell => cell.scrollWidth <= cell.clientWidth && cell.firstElementChild.clientHeight < cell.clientHeight"
        assert await why.evaluate(fits), "the sentence is cut"
        sideways = "list => list.scrollWidth - list.clientWidth"
        assert await tab.page.locator(".list").evaluate(sideways) <= 0, "the end of the sentence is out of sight"
        await picture_in(tab, tmp_path, "evictions.png")


async def test_an_edit_of_the_configuration_is_planned_and_a_broken_one_refused(
    open_tab: OpenTab, tmp_path: Path
) -> None:
    async with open_tab() as tab:
        await tab.go("#/configuration", "Configuration")
        await tab.says("enableHierarchy: true")
        edit = tab.page.get_by_label("volcano-scheduler.conf")
        text = await edit.input_value()
        await edit.fill(text.replace("backfill, preempt", "backfill, reclam"))
        await tab.page.get_by_role("button", name="Show what would change").click()
        await tab.says('did you mean "reclaim"')
        assert tab.wrong == ["error: Failed to load resource: the server responded with a status of 400 (Bad Request)"]
        tab.wrong.clear()
        await edit.fill(text.replace("- name: capacity", "- name: proportion"))
        await tab.page.get_by_role("button", name="Show what would change").click()
        await tab.page.get_by_role("heading", level=3, name="Queues").wait_for()
        await picture_in(tab, tmp_path, "configuration.png")


async def test_a_form_tries_changes_and_shows_what_differs(open_tab: OpenTab, tmp_path: Path) -> None:
    async with open_tab() as tab:
        await tab.go("#/what-if", "What if")
        await tab.page.get_by_label("More nodes").fill("rack-b-0=1")
        await tab.page.get_by_label("Other values").fill("queue/language.spec.capability.cpu=8")
        await tab.page.get_by_role("button", name="Show what would change").click()
        work = tab.page.get_by_role("region", name="Work")
        await work.get_by_role("link", name="research/tune").wait_for()
        assert "2 placed" in await work.inner_text()
        assert "addNodes=rack-b-0%3D1" in tab.page.url
        await picture_in(tab, tmp_path, "what-if.png")


async def test_a_pod_without_a_pod_group_goes_by_its_own_name(open_tab: OpenTab, shown: Cluster) -> None:
    shop = Namespace(shown, "shop")
    await shop.apply(pod("alone", cpu="100"))
    async with open_tab() as tab:
        await tab.go("#/jobs?text=shop/alone", "Jobs")
        await tab.page.get_by_role("link", name="shop/alone (Pod)").click()
        await tab.page.get_by_role("heading", level=1, name="shop/alone (Pod)").wait_for()
        await tab.says("PodGroup podgroup-")
        await shop.delete_pod("alone")
        await tab.go("#/jobs", "Jobs")
        await tab.says("7 jobs")


async def test_the_timeline_has_shares_and_waits(open_tab: OpenTab, tmp_path: Path) -> None:
    async with open_tab() as tab:
        await tab.go("#/timeline", "Timeline")
        await tab.page.locator(".plot canvas").nth(2).wait_for()
        legend = await tab.page.locator(".plot").nth(1).inner_text()
        assert all(queue in legend for queue in ("batch", "research", "shop")), legend
        await picture_in(tab, tmp_path, "timeline.png")


async def test_the_page_follows_the_cluster_without_being_loaded_again(open_tab: OpenTab, shown: Cluster) -> None:
    batch = Namespace(shown, "batch")
    async with open_tab() as tab:
        await tab.go("#/jobs?namespace=batch", "Jobs")
        await tab.says("1 of 7 jobs")
        await tab.page.evaluate("window.stays = true")
        await batch.apply(gang("late", 1, queue="batch", cpu="1", node_selector={"topology.kubernetes.io/rack": "a"}))
        row = tab.page.get_by_role("row").filter(has=tab.page.get_by_role("link", name="batch/late"))
        await row.get_by_text("Running").wait_for()
        await batch.delete_pod("late-0")
        await batch.delete_pod_group("late")
        await tab.says("1 of 7 jobs")
        assert await tab.page.evaluate("window.stays")
