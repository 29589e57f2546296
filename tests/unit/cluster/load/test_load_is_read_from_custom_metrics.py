"""The custom metrics API of prometheus-adapter: both versions, and what is said when there is none."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.unit.cluster.fakes import FakeApi, Reply, refusal
from tests.unit.cluster.load.kept import Kept
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.paths import metric_of_nodes
from volcano_py.cluster.load.custom_metrics import CPU, MEMORY, CustomMetrics
from volcano_py.cluster.load.source import LoadError
from volcano_py.state.nodes.loads import Load

MOMENT = "2026-11-21T09:30:00Z"
SECONDS = 1795253400.0


def values(**amounts: str) -> Reply:
    """What the API answers of these nodes."""
    items = [
        {
            "describedObject": {"kind": "Node", "name": name},
            "metric": {"name": "x"},
            "timestamp": MOMENT,
            "value": value,
        }
        for name, value in amounts.items()
    ]
    return Reply(body=orjson.dumps({"kind": "MetricValueList", "items": items}))


async def read(client: KubernetesClient) -> dict[str, Load]:
    kept = Kept()
    assert await CustomMetrics(client).read(kept) == len(kept.loads)
    return kept.loads


async def test_two_requests_return_the_load_of_all_nodes(api: FakeApi, client: KubernetesClient) -> None:
    api.on("GET", metric_of_nodes("v1beta2", CPU), values(n1="250m", n2="1"))
    api.on("GET", metric_of_nodes("v1beta2", MEMORY), values(n1="75e-2", n3="500m"))
    assert await read(client) == {
        "n1": Load(0.25, 0.75, SECONDS),
        "n2": Load(1.0, None, SECONDS),
        "n3": Load(None, 0.5, SECONDS),
    }


async def test_an_older_version_is_used_where_there_is_no_newer_one(api: FakeApi, client: KubernetesClient) -> None:
    for metric in (CPU, MEMORY):
        api.on("GET", metric_of_nodes("v1beta2", metric), refusal(404, "NotFound"))
        api.on("GET", metric_of_nodes("v1beta1", metric), values(n1="100m"), values(n1="200m"))
    source, kept = CustomMetrics(client), Kept()
    for expected in (0.1, 0.2):
        assert await source.read(kept) == 1
        assert kept.loads["n1"].cpu == expected
    asked = [request.path for request in api.requests if "v1beta2" in request.path]
    assert len(asked) == 1, "the version that answers is remembered"


async def test_what_can_be_no_load_is_left_out(api: FakeApi, client: KubernetesClient) -> None:
    for metric in (CPU, MEMORY):
        api.on("GET", metric_of_nodes("v1beta2", metric), values(a="x", b="-1", c="300m"))
    assert await read(client) == {"b": Load(0.0, 0.0, SECONDS), "c": Load(0.3, 0.3, SECONDS)}


async def test_items_that_lack_parts_hide_no_others(api: FakeApi, client: KubernetesClient) -> None:
    whole = {"describedObject": {"name": "a"}, "timestamp": MOMENT, "value": "500m"}
    items = [whole, *({**whole, field: None} for field in whole), {}]
    for metric in (CPU, MEMORY):
        api.on("GET", metric_of_nodes("v1beta2", metric), Reply(body=orjson.dumps({"items": items})))
    assert await read(client) == {"a": Load(0.5, 0.5, SECONDS)}


@pytest.mark.parametrize(
    ("status", "reported"),
    [
        (404, "install prometheus-adapter with rules for them"),
        (403, "apply manifests/node-load-custom-metrics"),
        (422, "422"),
    ],
)
async def test_an_api_server_that_refuses_is_reported(
    api: FakeApi, client: KubernetesClient, status: int, reported: str
) -> None:
    for version in ("v1beta2", "v1beta1"):
        api.on("GET", metric_of_nodes(version, CPU), refusal(status, "Refused"))
    with pytest.raises(LoadError, match=reported):
        await read(client)


@pytest.mark.parametrize("items", [[], None])
async def test_metrics_without_values_are_reported(api: FakeApi, client: KubernetesClient, items: Any) -> None:
    for metric in (CPU, MEMORY):
        api.on("GET", metric_of_nodes("v1beta2", metric), Reply(body=orjson.dumps({"items": items})))
    with pytest.raises(LoadError, match="have no values"):
        await read(client)
