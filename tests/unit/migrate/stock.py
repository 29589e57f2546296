"""A cluster with a stock Volcano, as the e2e tests install it, and changes to it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from volcano_py.capture.model import Capture
from volcano_py.cli.installing.migrate import current_program
from volcano_py.cluster.manifests import read_text, stored
from volcano_py.migrate.check import Program, Verdict, check
from volcano_py.migrate.model import Finding, Installation, Level, Raw, Unread

STOCK = Path(__file__).resolve().parents[3] / "examples" / "from-volcano" / "volcano.yaml"
NOW = datetime(2026, 11, 24, 10, 0, tzinfo=UTC)
QUEUES = "queues.scheduling.volcano.sh"


@cache
def program() -> Program:
    """What `volcano-py migrate` passes."""
    return current_program()


class Stock:
    """Objects by kind and name, to be changed by a test."""

    def __init__(self) -> None:
        documents = yaml.safe_load_all(STOCK.read_text(encoding="utf-8"))
        self.objects: list[Raw] = [*documents, *copy.deepcopy(list(program().crds.values()))]
        for each in self.objects:
            each["metadata"]["uid"] = f"{each['kind']}-{each['metadata']['name']}"

    def named(self, kind: str, name: str) -> Raw:
        (found,) = [each for each in self.objects if (each["kind"], each["metadata"]["name"]) == (kind, name)]
        return found

    def remove(self, kind: str, name: str) -> None:
        self.objects.remove(self.named(kind, name))

    def add(self, kind: str, name: str, namespace: str = "", **content: Any) -> None:
        metadata = {"name": name, "uid": f"{kind}-{name}", **({"namespace": namespace} if namespace else {})}
        self.objects.append({"kind": kind, "metadata": metadata, **content})

    @property
    def scheduler(self) -> Raw:
        return self.named("Deployment", "volcano-scheduler")

    @property
    def arguments(self) -> list[str]:
        found: list[str] = self.scheduler["spec"]["template"]["spec"]["containers"][0]["args"]
        return found

    def configure(self, text: str) -> None:
        self.named("ConfigMap", "volcano-scheduler-configmap")["data"] = {"volcano-scheduler.conf": text}

    def add_ours(self, replicas: int) -> None:
        self.add("Deployment", "volcano-py", "volcano-system", spec={"replicas": replicas})
        self.objects[-1]["metadata"]["labels"] = {"app.kubernetes.io/name": "volcano-py"}

    def installation(self, unread: Sequence[Unread] = ()) -> Installation:
        kinds = {each["kind"] for each in self.objects}
        return Installation(
            {kind: tuple(each for each in self.objects if each["kind"] == kind) for kind in kinds}, tuple(unread)
        )

    def check(self, capture: Capture | None = None, unread: Sequence[Unread] = ()) -> Verdict:
        return check(self.installation(unread), program(), capture, NOW)

    def findings(self, level: Level, about: str = "") -> list[Finding]:
        """Of this level, about objects whose names contain `about`."""
        return [each for each in self.check().of_level(level) if about in each.about]


def blocking(change: Callable[[Stock], object]) -> list[str]:
    """What blocks after a change, without Volcano's scheduler that runs."""
    stock = Stock()
    stock.scheduler["spec"]["replicas"] = 0
    change(stock)
    return [f"{each.about}: {each.message}" for each in stock.check().of_level(Level.BLOCKS)]


def captured(manifests: str) -> Capture:
    """A cluster of these objects."""
    return Capture(taken=NOW.timestamp(), items=tuple(stored(read_text(manifests, "the test"))), configuration="")
