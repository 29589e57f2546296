"""The client certificate that the API server presents to webhooks, set up as the guide says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from volcano_py.local.workdir.certificates import CertificateAuthority, write_private
from volcano_py.local.workdir.kubeconfig import Credentials

_GUIDE: Final = Path(__file__).parents[3] / "docs" / "guide" / "admission.md"
_CONFIGURATION: Final = re.compile(r"```text\n(apiVersion: apiserver\.config\.k8s\.io/v1\n.*?)```", re.DOTALL)
_KUBECONFIG: Final = "/etc/kubernetes/webhook-clients.yaml"
"""As the guide has it."""

API_SERVER: Final = "kube-apiserver-webhooks"
"""The common name of the certificate."""


@dataclass(frozen=True)
class WebhookClients:
    """`authority` has signed the certificate of the API server, and of nothing else."""

    authority: CertificateAuthority
    directory: Path

    @classmethod
    def create(cls, directory: Path) -> WebhookClients:
        """Write the API server's files into the directory."""
        found = cls(CertificateAuthority("webhook clients"), directory)
        # "*" is any webhook: our webhooks listen on another port in each test.
        user = {"name": "*", "user": Credentials(pair=found.authority.client(API_SERVER)).as_user()}
        kubeconfig = write_private(
            directory / "webhook-clients.yaml",
            yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "users": [user]}).encode(),
        )
        [configuration] = _CONFIGURATION.findall(_GUIDE.read_text(encoding="utf-8"))
        assert configuration.count(_KUBECONFIG) == 2
        write_private(found._configuration, configuration.replace(_KUBECONFIG, str(kubeconfig)).encode())
        write_private(found.authority_file, found.authority.certificate)
        return found

    @property
    def authority_file(self) -> Path:
        """The authority's certificate, for `--admission-client-ca-file`."""
        return self.directory / "webhook-clients-ca.crt"

    @property
    def apiserver_flags(self) -> tuple[str, ...]:
        return (f"--admission-control-config-file={self._configuration}",)

    @property
    def _configuration(self) -> Path:
        return self.directory / "admission-control.yaml"
