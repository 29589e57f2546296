"""Admission webhooks on the local control plane: the API server asks a daemon of the test."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509

from e2e.harness.cluster import Cluster
from e2e.harness.install import SYSTEM_NAMESPACE
from e2e.harness.objects import Object, queue
from volcano_py.api.names import ADMISSION
from volcano_py.local.client import APIError
from volcano_py.local.install import install_admission
from volcano_py.local.processes.ports import LOOPBACK, free_port

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"

PROBE = "admission-probe"
"""The name of a queue that is never made."""

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


async def refusal_of(door: Door, body: Object) -> str:
    """Why a queue is refused, "" if it is not; it is never stored. Whether the API server asks yet is not known."""
    try:
        await door.cluster.client.create(f"{QUEUES}?dryRun=All", body)
    except APIError as error:
        return str(error)
    return ""


async def answered(door: Door) -> None:
    """Wait until the API server asks, trusts, and is answered, by both webhooks of queues.

    A queue that must be refused is refused by the rules, and one that is fine has been filled in.
    """

    async def judged() -> None:
        refused = await refusal_of(door, queue(PROBE, parent="nowhere"))
        assert "nowhere does not exist" in refused, refused
        filled = await door.cluster.client.create(f"{QUEUES}?dryRun=All", queue(PROBE))
        assert filled["spec"].get("reclaimable") is True, filled

    await door.cluster.eventually("the API server is answered", judged)


async def take_away(cluster: Cluster) -> None:
    """Everything that `open_door` has installed; other tests do without.

    The API server learns by a watch of its own that there are no webhooks any more, and refuses queues until then:
    no server answers. So one is tried that the rules would refuse, too.
    """
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
        f"/apis/networking.k8s.io/v1/{own}/networkpolicies/{ADMISSION}",
    ):
        await cluster.delete(path)

    async def noticed() -> None:
        await cluster.client.create(f"{QUEUES}?dryRun=All", queue(PROBE, parent="nowhere"))

    await cluster.eventually("the API server asks no webhook any more", noticed)
