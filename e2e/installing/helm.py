"""Helm as a function, and what it renders."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from volcano_py.shipped import shipped

CHART = shipped("charts") / "volcano-py"
KUBERNETES = "1.36.1"

_SECONDS = 120.0

Manifest = dict[str, Any]
Objects = dict[tuple[str, str], Manifest]
"""By kind and name: no two objects of one kind of ours share a name."""


class HelmError(Exception):
    """Helm failed; the message is what it printed."""


class Helm:
    """Runs one helm with directories of its own; `kubeconfig` names the cluster for the verbs that need one."""

    def __init__(self, binary: Path, home: Path, kubeconfig: Path | None = None) -> None:
        self.binary = binary
        self._environment = {
            "HOME": str(home),
            "HELM_CACHE_HOME": str(home / "cache"),
            "HELM_CONFIG_HOME": str(home / "config"),
            "HELM_DATA_HOME": str(home / "data"),
            **({"KUBECONFIG": str(kubeconfig)} if kubeconfig is not None else {}),
        }

    async def __call__(self, *arguments: str) -> str:
        """Run `helm ARGUMENTS`, and return its standard output. Raises HelmError when it fails."""
        process = await asyncio.create_subprocess_exec(
            str(self.binary),
            *arguments,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        async with asyncio.timeout(_SECONDS):
            output, errors = await process.communicate()
        if process.returncode != 0:
            raise HelmError(f"helm {' '.join(arguments)}: {output.decode()}{errors.decode()}")
        return output.decode()

    async def template(self, namespace: str = "volcano-system", /, **values: Any) -> Objects:
        """What the chart makes of these values of `custom`."""
        return await self.template_of({"custom": values}, namespace)

    async def template_of(
        self, values: Mapping[str, Any], namespace: str = "volcano-system", *, kubernetes: str = KUBERNETES
    ) -> Objects:
        """The same for any values, and for another version of Kubernetes."""
        given = [f"--set-json={key}={json.dumps(value)}" for key, value in values.items()]
        kinds = [f"--api-versions=monitoring.coreos.com/v1/{kind}" for kind in ("ServiceMonitor", "PodMonitor")]
        text = await self(
            "template",
            "volcano",
            str(CHART),
            f"--namespace={namespace}",
            f"--kube-version={kubernetes}",
            *kinds,
            *given,
        )
        return by_name(text)


def by_name(text: str) -> Objects:
    """The objects of a stream of YAML."""
    found = [each for each in yaml.safe_load_all(text) if each]
    objects = {(each["kind"], each["metadata"]["name"]): each for each in found}
    assert len(objects) == len(found), "a name twice"
    return objects
