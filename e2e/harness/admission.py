"""Admission webhooks on the local control plane: the API server asks a daemon of the test."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509

from e2e.harness.cluster import Cluster
from e2e.harness.install import SYSTEM_NAMESPACE
from volcano_py.api.names import ADMISSION
from volcano_py.local.install import install_admission
from volcano_py.local.ports import LOOPBACK, free_port

SECRET_PATH = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/secrets/{ADMISSION}"

_API = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATION_PATHS = tuple(
    f"{_API}/{kind}webhookconfigurations/{ADMISSION}" for kind in ("validating", "mutating")
)  # fmt: skip


@dataclass(frozen=True)
class Door:
    """The address at which the API server asks; a daemon with `flags` answers there."""

    cluster: Cluster
    port: int

    @property
    def flags(self) -> Sequence[str]:
        return ("--admission", f"--admission-address={LOOPBACK}:{self.port}", f"--admission-host={LOOPBACK}")

    def certificate(self) -> x509.Certificate:
        """The one that is served."""
        return x509.load_pem_x509_certificate(ssl.get_server_certificate((LOOPBACK, self.port)).encode())


async def open_door(cluster: Cluster) -> Door:
    """Install the webhook configurations, and what the daemon needs for its certificates."""
    port = free_port(set())
    await install_admission(cluster.kubectl, f"https://{LOOPBACK}:{port}")
    return Door(cluster, port)


async def take_away(cluster: Cluster) -> None:
    """Everything that `open_door` has installed; other tests do without."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    own = f"namespaces/{SYSTEM_NAMESPACE}"
    for path in (
        *CONFIGURATION_PATHS,
        SECRET_PATH,
        f"{rbac}/clusterroles/{ADMISSION}",
        f"{rbac}/clusterrolebindings/{ADMISSION}",
        f"{rbac}/{own}/roles/{ADMISSION}",
        f"{rbac}/{own}/rolebindings/{ADMISSION}",
        f"/api/v1/{own}/services/{ADMISSION}",
    ):
        await cluster.delete(path)
