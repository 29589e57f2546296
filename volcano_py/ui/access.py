"""Who may open a page, and what each may see: one user with a token in the address, or many who sign in."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.operator.webhooks.certificate_rotation import CertificateFileWatcher, tls_context
from volcano_py.ui.cluster import ClusterError
from volcano_py.ui.rights.reviewed import ReviewedRights
from volcano_py.ui.rights.sight import OwnRights, Rights
from volcano_py.ui.rights.tokens import Tokens
from volcano_py.ui.web.door import TokenDoor
from volcano_py.ui.web.files import Files
from volcano_py.ui.web.sign_in import SignInDoor
from volcano_py.ui.web.visitor import Door


class Shared(msgspec.Struct, frozen=True):
    """A page for many users, who sign in. Without certificates, a proxy terminates TLS.

    Attributes:
        config_namespace: where the ConfigMap of the scheduler is.
        certificates: a directory with tls.crt and tls.key, which are read again when they change.
    """

    client: KubernetesClient
    config_namespace: str
    certificates: Path | None = None


class Access(msgspec.Struct, frozen=True):
    """`tls`: what the page is served with; None is plain HTTP."""

    door: Door
    rights: Rights
    tls: ssl.SSLContext | None = None


@contextlib.asynccontextmanager
async def access(shared: Shared | None, files: Files, port: int) -> AsyncIterator[Access]:
    """For as long as the page is served; None: a page for one user.

    Raises:
        ClusterError: there is no usable certificate.
    """
    if shared is None:
        yield Access(TokenDoor(port), OwnRights())
        return
    door = SignInDoor(Tokens(shared.client), files, behind_proxy=shared.certificates is None)
    rights = ReviewedRights(shared.client, shared.config_namespace)
    if shared.certificates is None:
        yield Access(door, rights)
        return
    tls = tls_context()
    watcher = CertificateFileWatcher(tls, shared.certificates, on_expiry=lambda _: None)
    try:
        await watcher.look()
    except (OSError, ValueError) as error:
        raise ClusterError(f"there is no certificate to serve with: {error}") from error
    watching = asyncio.create_task(watcher.run())
    try:
        yield Access(door, rights, tls)
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
