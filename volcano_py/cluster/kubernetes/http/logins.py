"""Where the API server is and how to log in: from the files of a pod, or from a kubeconfig."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader

MOUNTED_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet mounts a pod's token and the cluster's CA."""

ACCOUNT_VARIABLE: Final = "VOLCANO_PY_SERVICE_ACCOUNT"
"""The folder with these two files, where it is another one."""


class Login:
    """A server, and what to show to it. The names are those that the loader of kubernetes_asyncio sets."""

    def __init__(self) -> None:
        self.host = "http://localhost"
        self.ssl_ca_cert: str | None = None
        self.cert_file: str | None = None
        self.key_file: str | None = None
        self.verify_ssl = True
        self.tls_server_name: str | None = None
        self.proxy: str | None = None
        self.api_key: dict[str, str] = {}

    @property
    def authorization(self) -> str | None:
        """The value of the Authorization header, None without one."""
        return self.api_key.get("BearerToken")


def read_in_cluster() -> Login:
    """The login of the pod that this process runs in, from its variables and mounted files.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file or a variable is missing or empty.
    """
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ValueError("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set")
    directory = Path(os.environ.get(ACCOUNT_VARIABLE) or MOUNTED_ACCOUNT)
    login = Login()
    login.host = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    login.ssl_ca_cert = str(directory / "ca.crt")
    token = (directory / "token").read_text(encoding="utf-8").strip()
    for name, text in {"token": token, "ca.crt": Path(login.ssl_ca_cert).read_text(encoding="utf-8")}.items():
        if not text:
            raise ValueError(f"{directory / name} is empty")
    login.api_key["BearerToken"] = f"Bearer {token}"
    return login


async def read_kubeconfig(source: str, context: str | None, login: Login) -> KubeConfigLoader:
    """Read files (joined as in `$KUBECONFIG`) into `login`. The loader reads a token file or runs a plugin again.

    Raises:
        OSError, ValueError, yaml.YAMLError: a file cannot be read, or is not valid.
        AttributeError, KeyError, TypeError: a file is YAML of another shape.
    """
    # Loaded here, because kubernetes_asyncio brings its 800 generated models: 0.2 s of CPU and 36 MB, of which a daemon
    # in a pod needs nothing.
    from kubernetes_asyncio.config import ConfigException, load_kube_config

    try:
        # persist_config would write into the user's file.
        return await load_kube_config(source, context, client_configuration=login, persist_config=False)
    except ConfigException as error:
        raise ValueError(str(error)) from error
