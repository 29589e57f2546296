"""Sends the probes of a JobFlow to pods: whether a port takes connections, whether a GET is answered.

The pods are those of a Job of the flow's own namespace, asked at the address that their kubelet reports; of an answer
nothing but its status is read, and redirects are not followed. So a flow learns no more than a pod's own probes could.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Protocol

import aiohttp
import msgspec
from yarl import URL

from volcano_py.api.names import TASK_SPEC
from volcano_py.api.objects import ApiObject
from volcano_py.cluster.kubernetes.http.paths import label_selector
from volcano_py.cluster.kubernetes.writing.turns import Slots
from volcano_py.jobs.flows.headers import header_problem
from volcano_py.jobs.flows.plan import PodProbe
from volcano_py.jobs.names import JOB_NAME
from volcano_py.operator.kube_api import KubeApi, pod_path

_ANSWER_WITHIN: Final = 1.0  # seconds, as the default of a pod's own probes
_IN_FLIGHT: Final = 64  # of all flows of a namespace together; others have slots alongside
_MOST_PODS: Final = 500  # that are asked for one probe; of a larger task these stand for all
_GOOD: Final = range(200, 400)  # as for a pod's own probes


class _Status(ApiObject, frozen=True):
    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")


class _Pod(ApiObject, frozen=True):
    status: _Status = _Status()


class _Pods(ApiObject, frozen=True):
    items: list[_Pod] = []


class Prober(Protocol):
    """Asks pods whether a probe of a flow holds."""

    async def holds(self, namespace: str, probe: PodProbe) -> bool:
        """Whether as many pods as are needed answer.

        Raises:
            RequestError: the pods cannot be listed.
        """


class PodProber:
    """Asks pods over the network."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._slots = Slots(_IN_FLIGHT)

    async def holds(self, namespace: str, probe: PodProbe) -> bool:
        """See `Prober`."""
        addresses = await self._addresses(namespace, probe)
        needed = min(probe.needed, _MOST_PODS)
        if len(addresses) < needed:
            return False
        answers = await asyncio.gather(*(self._answers(namespace, address, probe) for address in addresses))
        return sum(answers) >= max(1, needed)

    async def _addresses(self, namespace: str, probe: PodProbe) -> list[str]:
        labels = {JOB_NAME: probe.job} | ({TASK_SPEC: probe.task} if probe.task else {})
        query: Mapping[str, str | int] = {
            "labelSelector": label_selector(labels),
            "fieldSelector": "status.phase=Running",
            "limit": _MOST_PODS,
        }
        pods = msgspec.json.decode(await self._api.get(pod_path(namespace), query), type=_Pods)
        return [pod.status.pod_ip for pod in pods.items if pod.status.phase == "Running" and pod.status.pod_ip]

    async def _answers(self, namespace: str, address: str, probe: PodProbe) -> bool:
        async with self._slots.hold(namespace):
            try:
                async with asyncio.timeout(_ANSWER_WITHIN):
                    return await (_connects(address, probe) if probe.path is None else _gets(address, probe))
            # The last two: an address, a header or a port that cannot be one.
            except (OSError, aiohttp.ClientError, ValueError, OverflowError):
                return False


async def _connects(address: str, probe: PodProbe) -> bool:
    _, writer = await asyncio.open_connection(address, probe.port)
    writer.close()
    return True


async def _gets(address: str, probe: PodProbe) -> bool:
    path, _, query = (probe.path or "/").partition("?")
    url = URL.build(scheme="http", host=address, port=probe.port, path=f"/{path.removeprefix('/')}", query_string=query)
    headers = dict([probe.header]) if probe.header is not None else {}
    for name, value in headers.items():
        if problem := header_problem(name, value):
            raise ValueError(problem)
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
        session.get(url, headers=headers, allow_redirects=False) as answer,
    ):
        return answer.status in _GOOD
