"""Load from metrics-server, through the API server: the numbers that `kubectl top nodes` shows."""

from __future__ import annotations

from typing import Final

from volcano_py.api.objects import NodeMetrics
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError, NotFoundError, RequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.load.source import LoadError, LoadSink

PATH: Final = ApiPath("metrics.k8s.io/v1beta1", "nodes")
KIND: Final = "NodeMetrics"


class MetricsServer:
    """A `LoadSource`."""

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client

    async def read(self, sink: LoadSink) -> int:
        try:
            nodes = await self._client.list(PATH, NodeMetrics)
        except NotFoundError as error:
            raise LoadError("the cluster has no metrics.k8s.io API; install metrics-server") from error
        except ForbiddenError as error:
            raise LoadError("reading nodes of metrics.k8s.io is forbidden; apply manifests/node-load") from error
        except RequestError as error:
            raise LoadError(str(error)) from error
        sink.replace(KIND, nodes)
        return len(nodes)

    async def aclose(self) -> None:
        """Nothing: the client belongs to the caller."""
