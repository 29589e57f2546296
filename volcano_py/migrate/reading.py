"""Reads what a move depends on: from a live cluster, with the rights of whoever asks, or from manifests. Nothing is
written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from volcano_py.api.names import SCHEDULING_API, SYSTEM_NAMESPACE, TOPOLOGY_API
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError, NotFoundError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.jobs.flows.model import FLOW_API
from volcano_py.jobs.model import BATCH_API
from volcano_py.migrate.model import Installation, Raw, Unread, Workload

_ADMISSION: Final = "admissionregistration.k8s.io/v1"
_CRDS: Final = ApiPath("apiextensions.k8s.io/v1", "customresourcedefinitions")
_LISTS: Final = {
    "Lease": ApiPath("coordination.k8s.io/v1", "leases", SYSTEM_NAMESPACE),
    "MutatingWebhookConfiguration": ApiPath(_ADMISSION, "mutatingwebhookconfigurations"),
    "ValidatingWebhookConfiguration": ApiPath(_ADMISSION, "validatingwebhookconfigurations"),
    "PrometheusRule": ApiPath("monitoring.coreos.com/v1", "prometheusrules"),
    "Queue": ApiPath(SCHEDULING_API, "queues"),
    "PodGroup": ApiPath(SCHEDULING_API, "podgroups"),
    "Job": ApiPath(BATCH_API, "jobs"),
    "JobFlow": ApiPath(FLOW_API, "jobflows"),
    "HyperNode": ApiPath(TOPOLOGY_API, "hypernodes"),
}
_DASHBOARDS: Final = "grafana_dashboard"
"""The label by which Grafana's sidecar finds dashboards, in any namespace. Volcano's own are in its namespace."""


def installation_in(objects: Iterable[Raw]) -> Installation:
    """Of manifests, such as `kubectl get … -o yaml` writes them; kinds without an object count as not read."""
    found: dict[str, list[Raw]] = {}
    for each in objects:
        kind, version = each.get("kind", ""), each.get("apiVersion", "")
        if kind != "Job" or version == BATCH_API:
            found.setdefault(kind, []).append(each)
    looked_for = ("Deployment", "ConfigMap", "CustomResourceDefinition", *_LISTS)
    missing = [Unread(kind, "there is none in the files") for kind in looked_for if kind not in found]
    return Installation({kind: tuple(those) for kind, those in found.items()}, tuple(missing))


async def installation_of(client: KubernetesClient, crds: Iterable[str]) -> Installation:
    """Of this cluster; `crds` are the names of those that we need.

    Raises:
        UnauthorizedError: the login is not accepted.
        UnreachableError: there is no answer.
    """
    reader = _Reader(client)
    deployments = await reader.list("Deployment", ApiPath("apps/v1", "deployments"))
    reader.objects["Deployment"] = tuple(each for each in deployments if Workload.of(each) is not None)
    for kind, path in _LISTS.items():
        reader.objects[kind] = await reader.list(kind, path)
    reader.objects["CustomResourceDefinition"] = await reader.named("CustomResourceDefinition", _CRDS, crds)
    reader.objects["ConfigMap"] = await reader.config_maps()
    return Installation(reader.objects, tuple(reader.unread))


class _Reader:
    """Collects what may not be read instead of failing."""

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client
        self.objects: dict[str, tuple[Raw, ...]] = {}
        self.unread: list[Unread] = []

    async def list(self, kind: str, path: ApiPath, **params: str) -> tuple[Raw, ...]:
        """All objects of a kind; none where the cluster does not know the kind."""
        found: list[Raw] = []
        try:
            async for page in self._client.pages(path, params):
                found += [msgspec.json.decode(item, type=Raw) for item in page.items or ()]
        except NotFoundError:
            return ()
        except ForbiddenError as error:
            self.unread.append(Unread(kind, error.message or "forbidden"))
        return tuple(found)

    async def named(self, kind: str, path: ApiPath, names: Iterable[str]) -> tuple[Raw, ...]:
        """Those of these names that exist."""
        found: list[Raw] = []
        for name in names:
            try:
                found.append(msgspec.json.decode(await self._client.get(path.of(name)), type=Raw))
            except NotFoundError:
                continue
            except ForbiddenError as error:
                self.unread.append(Unread(kind, error.message or "forbidden"))
                break
        return tuple(found)

    async def config_maps(self) -> tuple[Raw, ...]:
        """Those next to a scheduler, and dashboards anywhere."""
        workloads = [Workload.of(each) for each in self.objects["Deployment"]]
        namespaces = {SYSTEM_NAMESPACE} | {each.namespace for each in workloads if each is not None}
        lists = [await self.list("ConfigMap", ApiPath("v1", "configmaps", each)) for each in sorted(namespaces)]
        lists.append(await self.list("ConfigMap", ApiPath("v1", "configmaps"), labelSelector=_DASHBOARDS))
        return tuple({each["metadata"]["uid"]: each for found in lists for each in found}.values())
