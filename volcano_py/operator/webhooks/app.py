"""Admission, put together: the view, the handlers, the server and its certificates, on every replica."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import kopf
import msgspec

from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import RequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.observe.listen import ListenAddress
from volcano_py.operator.webhooks.certificate_rotation import (
    CertificateFileWatcher,
    CertificateRotator,
    service_hosts,
    tls_context,
)
from volcano_py.operator.webhooks.handlers import WEBHOOKS, AdmissionHandlers, AdmissionRules, Reviewed
from volcano_py.operator.webhooks.review_json import Resource
from volcano_py.operator.webhooks.server import LIMITS, AdmissionServer, Limits
from volcano_py.operator.webhooks.view import AdmissionView


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSite:
    """Where admission is found, and where its certificates come from.

    `hosts` are further names and addresses the API server may use; with `manages_certificates` off, certificates come
    as `tls.crt` and `tls.key` in `directory`. With `client_authorities`, callers need a certificate that one of these
    has signed, and with `callers` one with such a common name.
    """

    address: ListenAddress
    namespace: str
    name: str
    hosts: Sequence[str] = ()
    manages_certificates: bool = True
    directory: Path | None = None
    client_authorities: Path | None = None
    callers: Sequence[str] = ()
    limits: Limits = LIMITS


class _Kind(msgspec.Struct, frozen=True):
    name: str = ""


class _Kinds(msgspec.Struct, frozen=True):
    """An answer of discovery."""

    resources: list[_Kind] = []


class Admission:
    """One replica's; a child of the supervisor (`run`), and kopf's `Webhooks`.

    Attributes:
        view: to be fed with queues, PodGroups and namespaces.
        server: to be given to kopf.
        outdated: set when kopf must be restarted.
    """

    def __init__(
        self,
        client: KubernetesClient,
        site: AdmissionSite,
        rules: AdmissionRules,
        *,
        reviewed: Reviewed,
        on_expiry: Callable[[float], None],
        turned_away: Callable[[int], None] = lambda _: None,
    ) -> None:
        """
        Raises:
            ValueError: certificates are to come from files, and no directory is set; or the authorities
                of callers cannot be read.
        """
        self.view = AdmissionView(client, rules.default_queue)
        self.outdated = asyncio.Event()
        self._client = client
        self._handlers = AdmissionHandlers(self.view, rules, reviewed)
        tls = tls_context(site.client_authorities)
        self._server = AdmissionServer(
            site.address,
            tls,
            WEBHOOKS,
            self._renew,
            callers=site.callers,
            turned_away=turned_away,
            limits=site.limits,
        )
        self.server: kopf.WebhookServerProtocol = self._server
        if site.manages_certificates:
            self._keeper: CertificateRotator | CertificateFileWatcher = CertificateRotator(
                client,
                tls,
                namespace=site.namespace,
                name=site.name,
                hosts=(*service_hosts(site.namespace, site.name), *site.hosts),
                on_expiry=on_expiry,
                directory=site.directory,
            )
        elif site.directory is not None:
            self._keeper = CertificateFileWatcher(tls, site.directory, on_expiry=on_expiry)
        else:
            raise ValueError("the certificates are not managed here: set the directory to read them from")

    def register(self, registry: kopf.OperatorRegistry) -> None:
        """kopf's part."""
        self._handlers.register(registry)

    async def run(self) -> None:
        """Keep the certificates, and serve as soon as there is one, until cancelled.

        Raises:
            ExceptionGroup: of a ListenError, when the address cannot be had.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keeper.run(), name="admission certificates")
            await self._keeper.ready.wait()
            await self._server.run()

    async def _renew(self, resource: Resource) -> bool:
        """Start kopf again if there is such a kind; whether."""
        group, version, plural = resource
        try:
            found = await self._client.read(ApiPath(f"{group}/{version}"), _Kinds)
        except RequestError:
            return False
        if all(each.name != plural for each in found.resources):
            return False
        self.outdated.set()
        return True

    @property
    def listening(self) -> ListenAddress | None:
        """Where webhooks are answered really; None while they are not."""
        return self._server.listening

    def problem(self) -> str | None:
        """For readiness: a replica that cannot answer must not be asked."""
        return self._keeper.problem() or self._server.problem()
