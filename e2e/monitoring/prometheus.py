"""A Prometheus of the tests' own: scrapes daemons every second, and answers queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import yaml

from volcano_py.local.processes.ports import LOOPBACK, free_port
from volcano_py.local.processes.processes import ManagedProcess
from volcano_py.local.processes.readiness import wait_ready
from volcano_py.shipped import shipped

RULES = shipped("manifests") / "monitoring" / "alerts" / "plain" / "volcano-py.rules.yaml"
JOB = "volcano-py-metrics"
"""What the shipped ServiceMonitor makes of the label `job`: the name of the Service."""

_READY_SECONDS = 60.0
_STOP_SECONDS = 20.0


class Sample(msgspec.Struct, frozen=True):
    """One series of an answer and its value now."""

    labels: Mapping[str, str]
    value: float

    @property
    def is_number(self) -> bool:
        return math.isfinite(self.value)


class Prometheus:
    """One process, with the shipped alerts; its data goes to `directory`."""

    def __init__(self, binary: Path, directory: Path, daemons: Mapping[str, str]) -> None:
        """`daemons`: instance → URL."""
        address = f"{LOOPBACK}:{free_port(set())}"
        self.url = f"http://{address}"
        configuration = directory / "prometheus.yml"
        configuration.write_text(yaml.safe_dump(_configuration(daemons)), encoding="utf-8")
        self.process = ManagedProcess(
            "prometheus",
            [
                binary,
                f"--config.file={configuration}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address={address}",
            ],
            directory / "prometheus.log",
        )

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        await self.process.start()
        await wait_ready(self.process, f"{self.url}/-/ready", _READY_SECONDS)

    async def stop(self) -> None:
        await self.process.stop(_STOP_SECONDS)

    async def query(self, query: str) -> list[Sample]:
        """The value of each series of the answer now."""
        answer = await self._get("query", query=query)
        assert answer["resultType"] == "vector", f"{query}: {answer}"
        return [Sample(each["metric"], float(each["value"][1])) for each in answer["result"]]

    async def rules(self) -> list[dict[str, Any]]:
        """The alerts and how their last evaluation went."""
        return [rule for group in (await self._get("rules"))["groups"] for rule in group["rules"]]

    async def _get(self, what: str, **parameters: str) -> Any:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.url}/api/v1/{what}", params=parameters) as response,
        ):
            answer = await response.json()
            assert answer["status"] == "success", f"{what} {parameters}: {answer}"
            return answer["data"]


def _configuration(daemons: Mapping[str, str]) -> dict[str, Any]:
    targets = [
        {"targets": [url.removeprefix("http://")], "labels": {"instance": instance}}
        for instance, url in daemons.items()
    ]
    return {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": JOB, "static_configs": targets}],
    }
