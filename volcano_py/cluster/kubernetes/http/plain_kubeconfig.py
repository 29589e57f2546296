"""Kubeconfigs with a login that is written down: a token, a certificate or a password.

Most are of this kind, and reading them here takes a millisecond. kubernetes_asyncio reads the others, and names what is
wrong with one that is not valid; it brings its 800 generated models: 0.2 s of CPU and 36 MB.
"""

from __future__ import annotations

import atexit
import base64
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import yaml

if TYPE_CHECKING:
    from volcano_py.cluster.kubernetes.http.logins import Login


class _Cluster(msgspec.Struct, rename="kebab", frozen=True):
    server: str
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None


class _User(msgspec.Struct, rename="kebab", frozen=True):
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str | None = None
    password: str | None = None
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    exec: Any = None
    auth_provider: Any = None


class _Context(msgspec.Struct, frozen=True):
    cluster: str
    user: str


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: _Cluster


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: _User


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: _Context


_LISTS: Final = ("clusters", "users", "contexts")


class PlainKubeconfig:
    """One context, as kubernetes_asyncio's loader would give it. Token files are read again each time."""

    provider: Final = None
    """None of those that have a login to ask for."""

    def __init__(self, cluster: _Cluster, user: _User, context: dict[str, Any], folders: tuple[Path, Path]) -> None:
        """`folders` are those of the files that the cluster and the user are in: paths are relative to them."""
        self._cluster, self._holder = cluster, user
        self._of_cluster, self._of_user = folders
        self.current_context = context
        """As it is in the file."""

    async def load_and_set(self, login: Login) -> None:
        """Write the login that the files hold now.

        Raises:
            OSError: a file cannot be read.
            ValueError: what should be in base64 is not.
        """
        cluster = self._cluster
        if authorization := self._authorization():
            login.api_key["BearerToken"] = authorization
        login.host = cluster.server.rstrip("/")
        if login.host.startswith("https"):
            user = self._holder
            authority = cluster.certificate_authority_data, cluster.certificate_authority
            login.ssl_ca_cert = _file(*authority, self._of_cluster)
            login.cert_file = _file(user.client_certificate_data, user.client_certificate, self._of_user)
            login.key_file = _file(user.client_key_data, user.client_key, self._of_user)
        login.verify_ssl = not cluster.insecure_skip_tls_verify
        login.tls_server_name, login.proxy = cluster.tls_server_name, cluster.proxy_url

    def _authorization(self) -> str:
        user = self._holder
        token = user.token
        if not token and user.token_file:
            token = (self._of_user / user.token_file).read_text(encoding="utf-8").strip()
        if token:
            return f"Bearer {token}"
        if user.username is None or user.password is None:
            return ""
        return f"Basic {base64.b64encode(f'{user.username}:{user.password}'.encode()).decode()}"


def plain_kubeconfig(source: str, context: str | None) -> PlainKubeconfig | None:
    """What files (joined as in `$KUBECONFIG`) say about a context; None if that is left to kubernetes_asyncio.

    Raises:
        OSError, yaml.YAMLError: a file cannot be read, or is no YAML.
    """
    paths = [Path(path).expanduser() for path in source.split(os.pathsep) if path]
    contents = [(path, yaml.safe_load(path.read_text(encoding="utf-8"))) for path in paths if path.exists()]
    try:
        return _of(contents, context)
    except (msgspec.ValidationError, AttributeError, KeyError, TypeError):
        return None


def _of(contents: Sequence[tuple[Path, Any]], context: str | None) -> PlainKubeconfig | None:
    """
    Raises:
        msgspec.ValidationError, AttributeError, KeyError, TypeError: there is no such context, or its shape is another.
    """
    named: dict[str, dict[str, tuple[Path, Any]]] = {kind: {} for kind in _LISTS}
    current = context
    for path, content in contents:
        for kind in _LISTS:
            for item in content.get(kind) or ():
                named[kind].setdefault(item["name"], (path.absolute().parent, item))
        if context is None:
            current = content.get("current-context", current)
    if current is None:
        return None
    _, of_context = named["contexts"][current]
    chosen = msgspec.convert(of_context, _NamedContext).context
    of_cluster, cluster = named["clusters"][chosen.cluster]
    of_user, user = named["users"][chosen.user]
    login = msgspec.convert(user, _NamedUser).user
    if login.exec is not None or login.auth_provider is not None:
        return None
    return PlainKubeconfig(msgspec.convert(cluster, _NamedCluster).cluster, login, of_context, (of_cluster, of_user))


_written: dict[bytes, str] = {}
"""Content → the file that it was written to. They are few: a login has three, and they rarely change."""


def _file(data: str, path: str, folder: Path) -> str | None:
    """A file with what is written down in base64, or the file that is named; what uses it takes no bytes.

    Raises:
        OSError: there is no such file.
        ValueError: the data is not in base64.
    """
    if data:
        return _kept(base64.standard_b64decode(data))
    if not path:
        return None
    named = folder / path
    if not named.is_file():
        raise FileNotFoundError(f"{named} does not exist")
    return os.path.normpath(named)


def _kept(content: bytes) -> str:
    """A file with this content that only we may read, until we end."""
    if content not in _written:
        handle, name = tempfile.mkstemp(prefix="volcano-py-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if not _written:
            atexit.register(_remove_all)
        _written[content] = name
    return _written[content]


def _remove_all() -> None:
    for name in _written.values():
        Path(name).unlink(missing_ok=True)
    _written.clear()
