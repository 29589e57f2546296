"""Webhooks that ask callers for a certificate, on an API server that presents one, set up as the guide says."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
import pytest

from e2e.conftest import StartDaemon
from e2e.harness.webhooks.admission import Door, answered
from e2e.harness.webhooks.clients import API_SERVER
from volcano_py.local.processes.ports import LOOPBACK
from volcano_py.local.workdir.certificates import CertificateAuthority, KeyPair, write_private


async def call(door: Door, directory: Path, pair: KeyPair | None) -> int:
    """The status of the answer to a client with this certificate."""
    # Whether the server can be trusted is not what is looked at here.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if pair is not None:
        certificate = write_private(directory / "caller.crt", pair.certificate)
        context.load_cert_chain(certificate, write_private(directory / "caller.key", pair.key))
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(f"https://{LOOPBACK}:{door.port}/no-such-webhook", json={}) as response,
    ):
        return response.status


async def test_a_certificate_of_the_api_servers_authority_and_name_is_what_is_answered(
    door: Door, start_daemon: StartDaemon, tmp_path: Path
) -> None:
    clients = door.cluster.webhook_clients
    assert clients is not None
    asks = (f"--admission-client-ca-file={clients.authority_file}", f"--admission-client-name={API_SERVER}")
    await start_daemon(*door.flags, *asks)
    await answered(door)

    assert await call(door, tmp_path, clients.authority.client(API_SERVER)) == 404
    for pair in (
        None,
        clients.authority.client("another"),
        CertificateAuthority("webhook clients").client(API_SERVER),
    ):
        with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
            await call(door, tmp_path, pair)
    await answered(door)
