"""Kubeconfig files: one cluster, one user, one context, everything inline."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from volcano_py.local.workdir.certificates import KeyPair, write_private

_NAME = "volcano-py"


@dataclass(frozen=True, slots=True)
class Credentials:
    """How a user proves who they are: a client certificate or a bearer token."""

    pair: KeyPair | None = None
    token: str = ""

    def as_user(self) -> dict[str, str]:
        """The `user` entry of a kubeconfig."""
        if self.pair is None:
            return {"token": self.token}
        return {
            "client-certificate-data": base64.b64encode(self.pair.certificate).decode(),
            "client-key-data": base64.b64encode(self.pair.key).decode(),
        }


def write_kubeconfig(path: Path, server: str, ca_certificate: bytes, credentials: Credentials) -> Path:
    """Write a kubeconfig for the API server at `server` (a URL); only its owner may read it."""
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(ca_certificate).decode()}
    return _write(path, cluster, credentials)


def with_token(path: Path, kubeconfig: dict[str, Any], token: str) -> Path:
    """Write a kubeconfig to `path` that reaches the cluster of `kubeconfig` as the bearer of `token`.

    `kubeconfig` has one context and everything inline, as `kubectl config view --raw --minify --flatten` prints it.
    """
    return _write(path, kubeconfig["clusters"][0]["cluster"], Credentials(token=token))


def _write(path: Path, cluster: dict[str, Any], credentials: Credentials) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": credentials.as_user()}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME}}],
        "current-context": _NAME,
    }
    return write_private(path, yaml.safe_dump(document, sort_keys=False).encode())
