"""What schedulers other than ours need of a cluster: their CRDs, open queues, and a configuration file of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from volcano_py.api.effects import JsonObject
from volcano_py.bench.contenders import CONFIGURATION, Contender, peer
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.config import default_configuration_text
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.errors import LocalError
from volcano_py.local.install import apply_crds, is_crd
from volcano_py.local.kubectl import Kubectl
from volcano_py.operator.kube_api import created_or_found, queue_path
from volcano_py.operator.queues.states import initial_queues


@dataclass(frozen=True, slots=True)
class Peers:
    """The commands of the peers, in which {kubeconfig}, {configuration}, {directory} and {port} are filled in.

    `crds` is a folder of CRDs that they need; `configuration` is the text that each finds at {configuration}.
    """

    commands: Sequence[str] = ()
    crds: Path | None = None
    configuration: str = default_configuration_text()

    async def contenders(self, plane: ControlPlane, client: KubernetesClient, kubeconfig: Path) -> list[Contender]:
        """The peers, when the cluster has what they need.

        Raises:
            LocalError: the folder has no CRDs, or one that is not valid.
        """
        if not self.commands:
            return []
        if self.crds is not None:
            await apply_missing_crds(plane.kubectl, read_crds(self.crds))
        for queue in initial_queues():
            await _open_queue(client, queue)
        names = [f"peer {number}" for number in range(1, len(self.commands) + 1)]
        if len(self.commands) == 1:
            names = ["peer"]
        return [
            peer(kubeconfig, name, command, self._folder(plane.work_dir, name))
            for name, command in zip(names, self.commands, strict=True)
        ]

    def _folder(self, work_dir: Path, name: str) -> Path:
        """A folder for one peer: Volcano's scheduler watches the whole folder that its configuration is in."""
        folder = work_dir / name.replace(" ", "-")
        folder.mkdir()
        (folder / CONFIGURATION).write_text(self.configuration, encoding="utf-8")
        return folder


def read_crds(folder: Path) -> list[dict[str, Any]]:
    """The CRDs in the YAML files of a folder.

    Raises:
        LocalError: a file is not YAML, or no file has a CRD.
    """
    found: list[dict[str, Any]] = []
    for path in sorted((*folder.glob("*.yaml"), *folder.glob("*.yml"))):
        try:
            documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
        except yaml.YAMLError as error:
            raise LocalError(f"{path} is not YAML: {error}") from error
        found += [document for document in documents if isinstance(document, dict) and is_crd(document)]
    if not found:
        raise LocalError(f"{folder} has no CustomResourceDefinition in its *.yaml files; give the folder that has them")
    return found


async def apply_missing_crds(kubectl: Kubectl, crds: Sequence[dict[str, Any]]) -> None:
    """Apply those of kinds that the cluster does not serve yet: all schedulers are measured with the same Queue."""
    served = {item["metadata"]["name"] for item in (await kubectl.json("get", "crd"))["items"]}
    await apply_crds(kubectl, [crd for crd in crds if crd["metadata"]["name"] not in served])


async def _open_queue(client: KubernetesClient, queue: JsonObject) -> None:
    """Write the state that Volcano's controller would: its scheduler places nothing from a queue without one."""
    await created_or_found(client, queue_path(), queue)
    await client.patch(queue_path(queue["metadata"]["name"], "status"), {"status": {"state": "Open"}})
