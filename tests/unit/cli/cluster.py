"""Verbs as a user runs them, on an API server under the test's control."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.unit.cluster.fakes import FakeApi, Reply, kubeconfig, refusal
from volcano_py.cli.main import main

SCHEDULING = "/apis/scheduling.volcano.sh/v1beta1"


class UserOfCluster:
    """`api` is the server; `run` is the command line with the kubeconfig for it."""

    def __init__(self, api: FakeApi, kubeconfig_path: Path) -> None:
        self.api, self.kubeconfig = api, kubeconfig_path

    async def run(self, *arguments: str) -> Result:
        """Next to the server, so in a thread of its own, with a loop of its own."""
        command = [*arguments, "--kubeconfig", str(self.kubeconfig)]
        return await asyncio.to_thread(CliRunner().invoke, main, command)

    async def prints(self, *arguments: str) -> str:
        """What a command that succeeds prints."""
        result = await self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    async def is_refused(self, *arguments: str) -> str:
        """The error of a command that does not succeed, and prints nothing else."""
        result = await self.run(*arguments)
        assert (result.exit_code, result.stdout) == (1, ""), result.output
        return result.stderr.removeprefix("Error: ").rstrip("\n")


@asynccontextmanager
async def user_of_cluster(folder: Path, namespace: str = "") -> AsyncIterator[UserOfCluster]:
    """A server, and a kubeconfig for it whose context names this namespace."""
    api = FakeApi()
    await api.start()
    path = kubeconfig(folder / "kubeconfig", api.url)
    if namespace:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"user": "test"}', f'"user": "test", "namespace": "{namespace}"}}'), "utf-8")
    try:
        yield UserOfCluster(api, path)
    finally:
        await api.stop()


def found(obj: Mapping[str, Any]) -> Reply:
    return Reply(body=dict(obj))


def is_missing(kind: str, name: str) -> Reply:
    """The server's answer for an object that does not exist."""
    return refusal(404, "NotFound", f'{kind} "{name}" not found', details={"name": name, "kind": kind})


def queue(name: str, *, version: str = "1", state: str = "Open", **spec: Any) -> dict[str, Any]:
    """A queue as the API sends it; `status` among the keywords adds to its status."""
    status = {"state": state, **spec.pop("status", {})}
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": version, "managedFields": [{"manager": "m"}]}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {**metadata, "annotations": spec.pop("annotations", {})},
        "spec": {"weight": 1, **spec},
        "status": status,
    }


def pod_group(name: str, namespace: str = "ns", *, phase: str = "", why: str = "", **spec: Any) -> dict[str, Any]:
    """A PodGroup as the API sends it; `why` makes it unschedulable."""
    conditions = [{"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": why}]
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "1"},
        "spec": {"minMember": 1, **spec},
        "status": {"phase": phase, "conditions": conditions if why else []},
    }
