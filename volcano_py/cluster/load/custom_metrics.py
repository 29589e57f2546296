"""Load from the custom metrics API, as prometheus-adapter serves it: two requests for all nodes together.

The adapter's rules say over which time the two metrics are averaged; Volcano's example takes ten minutes.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from volcano_py.api.quantity import QuantityError, parse_quantity
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError, NotFoundError, RequestError
from volcano_py.cluster.kubernetes.http.paths import metric_of_nodes
from volcano_py.cluster.load.source import LoadError, LoadSink, Part, joined, part_in_use

VERSIONS: Final = ("v1beta2", "v1beta1")
"""Of custom.metrics.k8s.io, in the order in which they are tried."""
CPU: Final = "node_cpu_usage_avg"
MEMORY: Final = "node_memory_usage_avg"
_DESCRIPTION: Final = f"{CPU} and {MEMORY} of nodes"


class _Described(msgspec.Struct):
    name: str = ""


class _Item(msgspec.Struct, rename="camel"):
    described_object: _Described | None = None
    timestamp: datetime | None = None
    value: str | int | float | None = None


class _Values(msgspec.Struct):
    items: list[_Item] | None = None
    """An empty list of Go may be null."""


class CustomMetrics:
    """A `LoadSource`."""

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client
        self._version: str | None = None

    async def read(self, sink: LoadSink) -> int:
        try:
            loads = joined(await self._ask(CPU), await self._ask(MEMORY))
        except NotFoundError as error:
            raise LoadError(
                f"the API server has no custom metrics {_DESCRIPTION}; install prometheus-adapter with rules for them"
            ) from error
        except ForbiddenError as error:
            text = f"reading custom metrics {_DESCRIPTION} is forbidden; apply manifests/node-load-custom-metrics"
            raise LoadError(text) from error
        except RequestError as error:
            raise LoadError(str(error)) from error
        if not loads:
            raise LoadError(f"the custom metrics {_DESCRIPTION} have no values; check the rules of prometheus-adapter")
        sink.measured(loads)
        return len(loads)

    async def aclose(self) -> None:
        """Nothing: the client belongs to the caller."""

    async def _ask(self, metric: str) -> dict[str, Part]:
        """From the first version that is served."""
        versions = VERSIONS if self._version is None else (self._version,)
        for version in versions:
            try:
                found = await self._client.read(metric_of_nodes(version, metric), _Values)
            except NotFoundError:
                if version == versions[-1]:
                    self._version = None
                    raise
            else:
                self._version = version
                return _by_node(found.items or [])
        raise AssertionError("the last version returns or raises")


def _by_node(items: list[_Item]) -> dict[str, Part]:
    """What cannot be a load is left out."""
    found: dict[str, Part] = {}
    for item in items:
        if item.described_object is None or item.timestamp is None or item.value is None:
            continue
        try:
            part = part_in_use(float(parse_quantity(item.value)))
        except (QuantityError, OverflowError):
            continue
        if item.described_object.name and part is not None:
            found[item.described_object.name] = item.timestamp.timestamp(), part
    return found
