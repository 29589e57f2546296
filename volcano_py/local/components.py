"""The command line of every process of the control plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from volcano_py.local.processes.ports import LOOPBACK
from volcano_py.local.workdir.layout import Layout

STAGES = Path(__file__).parent / "kwok"
"""How simulated nodes and their pods behave: KWOK Stage manifests."""

SIMULATED_NODE = ("kwok.x-k8s.io/node", "fake")
"""The annotation of the nodes that KWOK plays the kubelet for (KWOK's own convention)."""

_SERVICE_ADDRESSES = "10.96.0.0/16"
_POD_ADDRESSES = "10.128.0.1/9"
"""kubeadm's example range for services; pods get the upper half of 10/8: enough addresses for any benchmark."""

_ISSUER = "https://kubernetes.default.svc.cluster.local"

_NODE_GRACE = "8760h"
"""A year: simulated nodes send a heartbeat every ten minutes at best and no leases. A node is lost when it says so."""

_CONTROLLER_QPS = 500
"""The default of 20 requests/s is made for shared servers; here tests wait for the controllers."""

KUBE_SCHEDULER_USER = "system:kube-scheduler"
"""The user that every API server gives a scheduler's rights."""

_OPEN_PATHS = "--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics"
"""What a component answers without a login: its health and its metrics."""


@dataclass(frozen=True, slots=True)
class Component:
    """A process to run: its name, its command line, and the URL that answers 200 once it is ready."""

    name: str
    command: Sequence[str | Path]
    ready_url: str


def etcd(layout: Layout, binary: Path) -> Component:
    """The store. It does not wait for the disk: its data is thrown away with the control plane."""
    client = f"https://{LOOPBACK}:{layout.ports['etcd']}"
    peer = f"https://{LOOPBACK}:{layout.ports['etcd-peer']}"
    certificate, key, authority = layout.file("etcd.crt"), layout.file("etcd.key"), layout.file("etcd-ca.crt")
    return Component(
        "etcd",
        [
            binary,
            "--name=local",
            f"--data-dir={layout.root / 'etcd'}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            # The default of 2 GiB is soon full of pods when nothing is compacted yet.
            f"--quota-backend-bytes={8 * 1024**3}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=local={peer}",
            "--client-cert-auth",
            f"--cert-file={certificate}",
            f"--key-file={key}",
            f"--trusted-ca-file={authority}",
            "--peer-client-cert-auth",
            f"--peer-cert-file={certificate}",
            f"--peer-key-file={key}",
            f"--peer-trusted-ca-file={authority}",
        ],
        # The API server is not ready before its store is.
        "",
    )


def kube_apiserver(layout: Layout, binary: Path) -> Component:
    """The API server, with RBAC and real service-account tokens."""
    settings = layout.settings
    # Nodes are born ready here, and where no controller manager runs, nothing would take the taint off again.
    disabled = ["TaintNodesByCondition"]
    if not settings.controllers:
        # Nothing creates the `default` service account without which no pod would be admitted.
        disabled.append("ServiceAccount")
    flags = [
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        # A loopback address is no valid endpoint of the `kubernetes` service, and nothing here uses that service.
        "--endpoint-reconciler-type=none",
        f"--secure-port={layout.ports['kube-apiserver']}",
        f"--tls-cert-file={layout.file('server.crt')}",
        f"--tls-private-key-file={layout.file('server.key')}",
        f"--client-ca-file={layout.file('ca.crt')}",
        f"--etcd-servers=https://{LOOPBACK}:{layout.ports['etcd']}",
        f"--etcd-cafile={layout.file('etcd-ca.crt')}",
        f"--etcd-certfile={layout.file('etcd-client.crt')}",
        f"--etcd-keyfile={layout.file('etcd-client.key')}",
        "--authorization-mode=RBAC",
        f"--service-account-issuer={_ISSUER}",
        f"--service-account-key-file={layout.file('service-accounts.pub')}",
        f"--service-account-signing-key-file={layout.file('service-accounts.key')}",
        f"--service-cluster-ip-range={_SERVICE_ADDRESSES}",
        f"--disable-admission-plugins={','.join(disabled)}",
        "--allow-privileged=true",
        "--profiling=false",
        # Without it open watches hold up a stop for as long as their clients keep them.
        "--shutdown-watch-termination-grace-period=1s",
    ]
    if settings.audit_log:
        flags += [
            f"--audit-policy-file={layout.file('audit-policy.yaml')}",
            f"--audit-log-path={layout.audit_log}",
            "--audit-log-mode=batch",
            "--audit-log-maxsize=0",
        ]
    return Component("kube-apiserver", [binary, *flags, *settings.apiserver_flags], f"{layout.server}/readyz")


def kube_controller_manager(layout: Layout, binary: Path) -> Component:
    """Kubernetes' controllers, each as its own service account, as kubeadm runs them."""
    port = layout.ports["kube-controller-manager"]
    kubeconfig = layout.user_kubeconfig("system:kube-controller-manager")
    return Component(
        "kube-controller-manager",
        [
            binary,
            f"--kubeconfig={kubeconfig}",
            _OPEN_PATHS,
            "--use-service-account-credentials",
            f"--controllers={','.join(layout.settings.controllers)}",
            # One instance; without a lease there is nothing to lose when the API server restarts.
            "--leader-elect=false",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={port}",
            f"--tls-cert-file={layout.file('server.crt')}",
            f"--tls-private-key-file={layout.file('server.key')}",
            f"--root-ca-file={layout.file('ca.crt')}",
            f"--service-account-private-key-file={layout.file('service-accounts.key')}",
            f"--node-monitor-grace-period={_NODE_GRACE}",
            f"--kube-api-qps={_CONTROLLER_QPS}",
            f"--kube-api-burst={2 * _CONTROLLER_QPS}",
            "--profiling=false",
        ],
        f"https://{LOOPBACK}:{port}/healthz",
    )


def kwok(layout_root: Path, port: int, kubeconfig: Path, binary: Path, *, lease_seconds: int = 0) -> Component:
    """The kubelets of the simulated nodes; works against any cluster whose kubeconfig is given.

    `lease_seconds` > 0 makes it renew node leases too, which a cluster wants whose node controller watches them.
    """
    config = layout_root / "kwok.yaml"
    options: dict[str, Any] = {
        "cidr": _POD_ADDRESSES,
        "nodeIP": "10.0.0.1",
        # The default of 4 is too few to start thousands of pods soon after they are bound.
        "podPlayStageParallelism": 16,
        "nodePlayStageParallelism": 16,
        # KWOK fills in no defaults for what a file leaves out, and these must not be zero.
        "podsOnNodeSyncParallelism": 4,
        "nodeLeaseParallelism": 16,
    }
    if lease_seconds:
        options["nodeLeaseDurationSeconds"] = lease_seconds
    documents = [
        {"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration", "options": options},
    ]
    config.write_text(yaml.safe_dump_all(documents, sort_keys=False), encoding="utf-8")
    return Component(
        "kwok",
        [
            binary,
            f"--kubeconfig={kubeconfig}",
            f"--config={config}",
            f"--config={STAGES / 'nodes.yaml'}",
            f"--config={STAGES / 'pods.yaml'}",
            f"--manage-nodes-with-annotation-selector={'='.join(SIMULATED_NODE)}",
            f"--server-address={LOOPBACK}:{port}",
            # It would log every patch of every pod.
            "--v=WARN",
        ],
        f"http://{LOOPBACK}:{port}/healthz",
    )


def kube_scheduler(layout: Layout, binary: Path, extra: Sequence[str] = ()) -> Component:
    """Kubernetes' own scheduler, to compare with; `extra` are flags such as `--config=…`."""
    port = layout.ports["kube-scheduler"]
    kubeconfig = layout.user_kubeconfig(KUBE_SCHEDULER_USER)
    return Component(
        "kube-scheduler",
        [
            binary,
            f"--kubeconfig={kubeconfig}",
            _OPEN_PATHS,
            "--leader-elect=false",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={port}",
            f"--tls-cert-file={layout.file('server.crt')}",
            f"--tls-private-key-file={layout.file('server.key')}",
            *extra,
        ],
        f"https://{LOOPBACK}:{port}/healthz",
    )
