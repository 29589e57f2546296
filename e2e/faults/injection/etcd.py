"""etcd as its administrator sees it, by the HTTP gateway that it has next to gRPC."""

from __future__ import annotations

import base64
import ssl
from typing import Any

import aiohttp

from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.processes.ports import LOOPBACK

_COMPACTED = "required revision has been compacted"
_KEY = base64.b64encode(b"/registry/").decode()


async def compact(control_plane: ControlPlane) -> int:
    """Make etcd forget everything that was before this moment; its revision."""
    async with _session(control_plane) as session:
        now = int((await _post(session, "range", {"key": _KEY}))["header"]["revision"])
        await _post(session, "compaction", {"revision": now, "physical": True})
        before = await _post(session, "range", {"key": _KEY, "revision": now - 1})
    assert _COMPACTED in before.get("message", ""), before
    return now


def _session(control_plane: ControlPlane) -> aiohttp.ClientSession:
    layout = control_plane.layout
    trust = ssl.create_default_context(cafile=layout.file("etcd-ca.crt"))
    trust.load_cert_chain(layout.file("etcd-client.crt"), layout.file("etcd-client.key"))
    return aiohttp.ClientSession(
        f"https://{LOOPBACK}:{layout.ports['etcd']}", connector=aiohttp.TCPConnector(ssl=trust)
    )


async def _post(session: aiohttp.ClientSession, method: str, body: dict[str, Any]) -> dict[str, Any]:
    async with session.post(f"/v3/kv/{method}", json=body) as response:
        answer: dict[str, Any] = await response.json()
        return answer
