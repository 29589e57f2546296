"""Reading a cluster: of one moment, with the rights there are, and saying what is missing."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as replaced

from tests.unit.capture.clusters import CONFIG_MAP, LISTS, config_map, forbid, metadata, serve, waiting
from tests.unit.cluster.fakes import FakeApi, Reply, Request, page, refusal
from volcano_py.api.objects import Pod, PriorityClass
from volcano_py.capture.kinds import CONSEQUENCES, KINDS
from volcano_py.capture.live import of_cluster
from volcano_py.capture.model import BUILT_IN, Unread
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import UnauthorizedError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.config import default_configuration_text

pytestmark = pytest.mark.real_time

CONF = 'actions: "allocate"\ntiers:\n- plugins:\n  - name: gang\n'


async def test_all_kinds_are_read_as_they_were_when_the_pods_were_listed(
    api: FakeApi, client: KubernetesClient
) -> None:
    serve(api)

    found = await of_cluster(client)

    assert {kind for kind, _ in found.items} == set(LISTS)
    assert found.revision == "7"
    assert found.unread == ()
    assert abs(found.taken - time.time()) < 60
    first, *others = [request for request in api.requests if "limit" in request.query]
    assert first.path == str(kinds.POD.path)
    assert "resourceVersion" not in first.query
    asked = {(each.query["resourceVersion"], each.query["resourceVersionMatch"]) for each in others}
    assert asked == {("7", "Exact")}
    assert len(others) == len(KINDS) - 1


async def test_a_server_that_has_forgotten_the_moment_is_asked_for_another(
    api: FakeApi, client: KubernetesClient
) -> None:
    serve(api)

    def only_newest(request: Request) -> Reply:
        if "resourceVersion" in request.query:
            return refusal(410, "Expired", "too old resource version")
        return page(9, *LISTS["Node"])

    api.on("GET", kinds.NODE.path, only_newest)

    found = await of_cluster(client)

    assert sum(kind == "Node" for kind, _ in found.items) == 2
    assert found.revision == ""


async def test_the_live_configuration_counts(api: FakeApi, client: KubernetesClient) -> None:
    serve(api)
    api.on("GET", CONFIG_MAP, config_map(CONF))

    found = await of_cluster(client)

    assert (found.configuration, found.source) == (
        CONF,
        "ConfigMap volcano-system/volcano-scheduler-configmap",
    )


async def test_without_a_config_map_the_built_in_configuration_holds_as_for_the_daemon(
    api: FakeApi, client: KubernetesClient
) -> None:
    serve(api)

    found = await of_cluster(client)

    assert (found.configuration, found.source, found.unread) == (default_configuration_text(), BUILT_IN, ())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (refusal(403, "Forbidden", "not yours"), "not yours"),
        (Reply(body={"metadata": {"name": "volcano-scheduler-configmap"}}), "it has no key volcano-scheduler.conf"),
    ],
    ids=["forbidden", "no key"],
)
async def test_a_configuration_that_cannot_be_read_is_said(
    api: FakeApi, client: KubernetesClient, answer: Reply, why: str
) -> None:
    serve(api)
    api.on("GET", CONFIG_MAP, answer)

    found = await of_cluster(client)

    assert found.configuration == default_configuration_text()
    assert found.unread == (
        Unread(
            "ConfigMap volcano-system/volcano-scheduler-configmap",
            why,
            "decisions follow from the built-in configuration",
        ),
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_a_kind_that_may_not_be_read_is_said_with_what_follows(
    api: FakeApi, client: KubernetesClient, kind: Any
) -> None:
    serve(api)
    forbid(api, kind)

    found = await of_cluster(client)

    (missing,) = found.unread
    assert missing.what == kind.name
    assert missing.why == f'User "ann" cannot list resource "{kind.path.plural}"'
    assert missing.so
    assert kind.name not in {name for name, _ in found.items} - {"PriorityClass"}


async def test_what_may_be_read_in_one_namespace_only_is_read_there(api: FakeApi, client: KubernetesClient) -> None:
    """As by a user with the ClusterRole `view` in a namespace of their own."""
    serve(api, {**LISTS, "Pod": (waiting("mine"), waiting("other"))})
    forbid(api, kinds.POD, kinds.SERVICE, kinds.NAMESPACE)
    api.on("GET", "/api/v1/namespaces/team/pods", page(8, waiting("mine")))
    forbid(api, replaced(kinds.SERVICE, path=ApiPath("v1", "services", "team")))

    found = await of_cluster(client, namespace="team")

    assert [obj.metadata.name for kind, obj in found.items if kind == "Pod" and isinstance(obj, Pod)] == ["mine"]
    why = 'User "ann" cannot list resource'
    assert [(each.what, each.why) for each in found.unread] == [
        ("Pod in other namespaces than team", f'{why} "pods"'),
        ("Namespace", f'{why} "namespaces"'),
        ("Service", f'{why} "services"'),
    ]
    assert found.unread[0].so == "they count as absent, and nodes and queues seem to have more room than they have"
    without = await of_cluster(client)
    assert [each.what for each in without.unread] == ["Pod", "Namespace", "Service"]


async def test_classes_that_may_not_be_read_have_the_values_that_pods_show(
    api: FakeApi, client: KubernetesClient
) -> None:
    groups = [{"metadata": metadata(name, "team"), "spec": {"priorityClassName": name}} for name in ("high", "unknown")]
    pods = (waiting("urgent", priority=77, priorityClassName="high"), waiting("plain"))
    serve(api, {"Pod": pods, "PodGroup": tuple(groups)})
    forbid(api, kinds.PRIORITY_CLASS)

    found = await of_cluster(client)

    classes = [obj for _, obj in found.items if isinstance(obj, PriorityClass)]
    assert [(each.metadata.name, each.value) for each in classes] == [("high", 77), ("unknown", 0)]


async def test_a_cluster_without_volcano_jobs_has_none_and_without_queues_says_so(
    api: FakeApi, client: KubernetesClient
) -> None:
    serve(api)
    missing = refusal(404, "NotFound", "the server could not find the requested resource")
    api.on("GET", kinds.VOLCANO_JOB.path, missing)
    api.on("GET", kinds.QUEUE.path, missing)

    found = await of_cluster(client)

    assert [(each.what, each.why) for each in found.unread] == [
        ("Queue", "the cluster does not serve /apis/scheduling.volcano.sh/v1beta1/queues")
    ]


async def test_an_object_that_cannot_be_read_is_named_and_the_others_are_there(
    api: FakeApi, client: KubernetesClient
) -> None:
    broken = waiting("broken") | {"spec": {"nodeName": 7}}
    serve(api, {**LISTS, "Pod": (broken, waiting("fine"))})

    found = await of_cluster(client)

    assert [obj.metadata.name for kind, obj in found.items if kind == "Pod"] == ["fine"]  # type: ignore[attr-defined]
    assert [each.what for each in found.unread] == ["Pod team/broken"]


async def test_load_is_read_where_the_configuration_has_it_measured_by_metrics_server(
    api: FakeApi, client: KubernetesClient
) -> None:
    serve(api)
    metrics = "/apis/metrics.k8s.io/v1beta1/nodes"
    api.on("GET", metrics, page(0, {"metadata": {"name": "n1"}, "usage": {"cpu": "3"}}))
    assert "NodeMetrics" not in {kind for kind, _ in (await of_cluster(client)).items}

    api.on("GET", CONFIG_MAP, config_map(f"{CONF}metrics:\n  type: metrics-server\n"))
    assert "NodeMetrics" in {kind for kind, _ in (await of_cluster(client)).items}

    api.on("GET", CONFIG_MAP, config_map(f"{CONF}metrics:\n  type: prometheus\n  address: http://prometheus\n"))
    (missing,) = (await of_cluster(client)).unread
    assert str(missing) == (
        "NodeMetrics not read: the configuration measures load with prometheus, which is not asked; "
        "the load of nodes counts as unknown"
    )


async def test_the_leader_is_known_where_the_lease_may_be_read(api: FakeApi, client: KubernetesClient) -> None:
    serve(api)
    lease = Reply(body={"metadata": {"name": "volcano"}, "spec": {"holderIdentity": "host-1"}})
    api.on("GET", "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases/volcano", lease)

    assert (await of_cluster(client)).leader == "host-1"


async def test_the_version_of_the_server_is_known_where_it_says_it(api: FakeApi, client: KubernetesClient) -> None:
    serve(api)
    assert set((await of_cluster(client)).versions) == {"volcano-py"}

    api.on("GET", "/version", Reply(body={"gitVersion": "v1.36.1"}))

    assert (await of_cluster(client)).versions["kubernetes"] == "v1.36.1"


async def test_a_login_that_is_not_accepted_ends_it(api: FakeApi, client: KubernetesClient) -> None:
    serve(api)
    api.on("GET", kinds.POD.path, replace(refusal(401, "Unauthorized")))

    with pytest.raises(UnauthorizedError):
        await of_cluster(client)


def test_every_kind_that_the_daemon_follows_is_read() -> None:
    """And what Kubernetes creates claims from, which a cluster in memory does itself."""
    followed = [*kinds.KINDS.values(), kinds.VOLCANO_JOB, kinds.NODE_SHARD, kinds.RESOURCE_CLAIM_TEMPLATE]

    assert {kind.name for kind in followed} == {kind.name for kind in KINDS}
    assert {kind.name for kind in KINDS} <= set(CONSEQUENCES)
