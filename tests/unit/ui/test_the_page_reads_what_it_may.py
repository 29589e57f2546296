"""A cluster that is followed with few rights: one namespace in place of all, and what is missing is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.capture.clusters import LISTS, forbid, pod, serve
from tests.unit.cluster.fakes import FakeApi, Reply, Watch, eventually, kubeconfig, page, refusal
from tests.unit.ui.cluster import board_of
from volcano_py.capture.kinds import KINDS
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.scheduler import builtin_registry
from volcano_py.ui.cluster import EVICTION, Cluster

pytestmark = pytest.mark.real_time

OF_TEAM = {
    "Pod": "/api/v1/namespaces/team/pods",
    "PodGroup": "/apis/scheduling.volcano.sh/v1beta1/namespaces/team/podgroups",
}


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    server = FakeApi()
    await server.start()
    serve(server)
    server.on("GET", EVICTION.path, page(7))
    server.on("GET", "/api/v1/namespaces/volcano-system/configmaps", page(7))
    yield server
    await server.stop()


@pytest.fixture
async def client(api: FakeApi, tmp_path: Path) -> AsyncIterator[KubernetesClient]:
    async with await KubernetesClient.connect(kubeconfig(tmp_path / "kubeconfig", api.url)) as ready:
        yield ready


def cluster() -> Cluster:
    return Cluster("here", builtin_registry(), scheduler_names=frozenset({"volcano"}), default_queue="default")


async def test_with_all_rights_nothing_is_missing_and_changes_come_by_watches(
    api: FakeApi, client: KubernetesClient
) -> None:
    shown = cluster()
    async with shown.following(client, config_namespace="volcano-system", namespace="team"):
        assert shown.unread == ()
        assert {*board_of(shown)["nodes"]} == {"n1", "n2"}
        watches = [await api.watch() for _ in range(len(KINDS) + 2)]
        await _of(watches, str(kinds.NODE.path)).send("DELETED", {**LISTS["Node"][1], **_newer("n2")})
        await eventually(lambda: {*board_of(shown)["nodes"]} == {"n1"})


async def test_who_may_read_one_namespace_sees_its_jobs_and_what_is_missing(
    api: FakeApi, client: KubernetesClient
) -> None:
    forbid(api, *KINDS, EVICTION)
    for name, path in OF_TEAM.items():
        api.on("GET", path, page(7, *LISTS[name]))
    for kind in KINDS:
        if kind.namespaced and kind.name not in OF_TEAM:
            forbidden = kind.path.plural
            api.on("GET", f"{_root(kind)}/namespaces/team/{forbidden}", _refused(forbidden))
    api.on("GET", "/api/v1/namespaces/team/events", _refused("events"))
    shown = cluster()
    async with shown.following(client, config_namespace="volcano-system", namespace="team"):
        board = board_of(shown)
        assert "team/train" in board["jobs"]
        assert board["nodes"] == {}
        missing = {each.what: each.so for each in shown.unread}
        fuller = "they count as absent, and nodes and queues seem to have more room than they have"
        assert missing["Pod in other namespaces than team"] == fuller
        assert missing["Node"] == "no pod fits anywhere"
        assert missing["Event"] == "evictions are not shown"
        watches = [await api.watch() for _ in range(3)]
        assert {each.request.path for each in watches} >= {*OF_TEAM.values()}
        await _of(watches, OF_TEAM["Pod"]).send("ADDED", {**pod("new", "train"), **_newer("new", "team")})
        await eventually(lambda: len(shown.objects("Pod", kinds.POD.type)) == len(LISTS["Pod"]) + 1)


def _of(watches: list[Watch], path: str) -> Watch:
    return next(each for each in watches if each.request.path == path)


def _newer(name: str, namespace: str = "") -> dict[str, dict[str, str]]:
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "9"}}


def _root(kind: kinds.Kind) -> str:
    version = kind.path.group_version
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _refused(plural: str) -> Reply:
    return refusal(403, "Forbidden", f'User "ann" cannot list resource "{plural}" in the namespace "team"')
