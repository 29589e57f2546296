"""What one control plane consists of on disk: its settings, directories, ports, certificates and kubeconfigs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from volcano_py.local.processes.ports import LOOPBACK, free_port
from volcano_py.local.workdir.certificates import CertificateAuthority, KeyPair, service_account_keys, write_private
from volcano_py.local.workdir.kubeconfig import Credentials, write_kubeconfig

DEFAULT_CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "ephemeral-volume-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "resourceclaim-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
)
"""What a scheduler's users see of a cluster: workloads, storage, quotas, clean-up, taints of nodes that are not ready.

Left out is what needs a network or a cloud (services, endpoints, IPAM) and what nothing here uses (autoscaling,
certificate signing).
"""

_MEASURED: tuple[Mapping[str, Any], ...] = (
    {
        "level": "Metadata",
        "verbs": ["create", "update", "patch", "delete", "deletecollection"],
        "resources": [{"group": "", "resources": ["pods", "pods/binding", "pods/status", "pods/eviction"]}],
    },
    {
        "level": "Metadata",
        "verbs": ["create"],
        "resources": [{"group": "batch.volcano.sh", "resources": ["jobs"]}],
    },
)
"""What latencies are measured from: when a pod or a Volcano Job was created, and when a pod was bound and started, to
the microsecond, and the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How one control plane differs from another."""

    audit_log: bool = False
    """Log who created, bound and changed pods, and who created Volcano Jobs."""
    audited_users: Sequence[str] = ()
    """Of these users, log every request; works with `audit_log`."""
    apiserver_flags: Sequence[str] = ()
    controllers: Sequence[str] = DEFAULT_CONTROLLERS
    """Names for kube-controller-manager; empty: none runs, so no workloads, and pods need no service account."""
    simulate_nodes: bool = True


class Layout:
    """The files, ports and credentials of one control plane below its work directory, made when this is created."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root
        self.settings = settings
        self.logs = root / "logs"
        self.kubeconfig = root / "admin.kubeconfig"
        self.audit_log = self.logs / "audit.log"
        for directory in (root, self.logs, root / "certificates", root / "kubeconfigs"):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

        taken: set[int] = set()
        self.ports = {
            name: free_port(taken)
            for name in ("etcd", "etcd-peer", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
        }
        self.server = f"https://{LOOPBACK}:{self.ports['kube-apiserver']}"

        self.authority = CertificateAuthority("volcano-py local control plane")
        self._write("ca.crt", self.authority.certificate)
        self._pair(
            "server",
            self.authority.serving(
                "kube-apiserver",
                ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
                (LOOPBACK,),
            ),
        )
        # etcd has an authority of its own: a user of the API server must not be able to read the store behind its back.
        etcd_authority = CertificateAuthority("volcano-py local etcd")
        self._write("etcd-ca.crt", etcd_authority.certificate)
        self._pair("etcd", etcd_authority.serving("etcd", ("localhost",), (LOOPBACK,)))
        self._pair("etcd-client", etcd_authority.client("kube-apiserver"))
        tokens = service_account_keys()
        self._write("service-accounts.pub", tokens.certificate)
        self._write("service-accounts.key", tokens.key)
        self._write("audit-policy.yaml", yaml.safe_dump(_audit_policy(settings.audited_users)).encode())

        self.user_kubeconfig("admin", ("system:masters",), self.kubeconfig)

    def user_kubeconfig(self, user: str, groups: Sequence[str] = (), path: Path | None = None) -> Path:
        """Write a kubeconfig with a client certificate for `user` in `groups`; RBAC decides what they may do."""
        path = path if path is not None else self.kubeconfig_path(user)
        credentials = Credentials(pair=self.authority.client(user, groups))
        return write_kubeconfig(path, self.server, self.authority.certificate, credentials)

    def token_kubeconfig(self, user: str, token: str) -> Path:
        """Write a kubeconfig with a bearer token."""
        return write_kubeconfig(
            self.kubeconfig_path(user), self.server, self.authority.certificate, Credentials(token=token)
        )

    def mounted_account(self, user: str, token: str) -> Path:
        """Write the files of a service account that a kubelet mounts into a pod, and return their folder."""
        directory = self.root / "accounts" / user
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(directory / "ca.crt", self.authority.certificate)
        write_private(directory / "token", token.encode())
        return directory

    def kubeconfig_path(self, user: str) -> Path:
        return self.root / "kubeconfigs" / f"{user.replace(':', '-').replace('/', '-')}.kubeconfig"

    def file(self, name: str) -> Path:
        """The path of a file among the certificates and policies."""
        return self.root / "certificates" / name

    def _write(self, name: str, content: bytes) -> None:
        write_private(self.file(name), content)

    def _pair(self, name: str, pair: KeyPair) -> None:
        self._write(f"{name}.crt", pair.certificate)
        self._write(f"{name}.key", pair.key)


def _audit_policy(users: Sequence[str]) -> dict[str, Any]:
    everything_of_users = [{"level": "Metadata", "users": list(users)}] if users else []
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [*everything_of_users, *(dict(rule) for rule in _MEASURED), {"level": "None"}],
    }
