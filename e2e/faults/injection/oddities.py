"""Objects that no schema would admit, what is said of each, and what has to run all the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, gang, volcano_job
from e2e.harness.views import EventView

SCHEDULING, BATCH = "scheduling.volcano.sh/v1beta1", "batch.volcano.sh/v1alpha1"
FLOW, BUS = "flow.volcano.sh/v1alpha1", "bus.volcano.sh/v1alpha1"
TOPOLOGY = "topology.volcano.sh/v1alpha1"
OF_THE_CLUSTER = ("Queue", "HyperNode")
RESOURCES = {
    ("HyperNode", TOPOLOGY): "hypernodes",
    ("Queue", SCHEDULING): "queues",
    ("PodGroup", SCHEDULING): "podgroups",
    ("Job", BATCH): "jobs",
    ("CronJob", BATCH): "cronjobs",
    ("JobTemplate", FLOW): "jobtemplates",
    ("JobFlow", FLOW): "jobflows",
    ("Command", BUS): "commands",
}

UNREADABLE = "Unreadable: this {kind} cannot be read: {path}"


@dataclass(frozen=True)
class Case:
    """Something odd of one of our kinds. `reported` is found in its status or in an event about it."""

    kind: str
    api: str
    name: str
    reported: str
    fields: dict[str, Any]

    @property
    def body(self) -> Object:
        return {"apiVersion": self.api, "kind": self.kind, "metadata": {"name": self.name}, **self.fields}


def unreadable(kind: str, api: str, name: str, path: str, **fields: Any) -> Case:
    """An object in which something at `path` has the wrong type."""
    return Case(kind, api, name, UNREADABLE.format(kind=kind, path=re.escape(path)), fields)


def with_spec(kind: str, api: str, name: str, reported: str, **spec: Any) -> Case:
    """One that can be read, and makes no sense."""
    return Case(kind, api, name, reported, {"spec": spec})


def tasks(**changes: Any) -> list[Any]:
    """The tasks of a job of one pod, with these changes in the one there is."""
    (task,) = volcano_job("any", 1)["spec"]["tasks"]
    return [{**task, **changes}]


def path_of(kind: str, api: str, namespace: str, name: str = "") -> str:
    """Where objects of the kind are."""
    where = "" if kind in OF_THE_CLUSTER else f"/namespaces/{namespace}"
    return f"/apis/{api}{where}/{RESOURCES[kind, api]}" + (f"/{name}" if name else "")


def name_of(case: Case, namespace: str) -> str:
    """Its name, with the namespace where the kind has none."""
    return f"{namespace}-{case.name}" if case.kind in OF_THE_CLUSTER else case.name


class Store:
    """Creates objects as they are. What no schema would admit is deleted with `clear`, and does not wait for the
    namespace's end: other tests look at the whole cluster."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace, self._cluster = namespace, namespace.cluster
        self._of_the_cluster: list[Case] = []

    async def __call__(self, case: Case) -> None:
        body = case.body
        body["metadata"] = {"name": name_of(case, self._namespace.name)}
        await self._cluster.client.create(path_of(case.kind, case.api, self._namespace.name), body)
        if case.kind in OF_THE_CLUSTER:
            self._of_the_cluster.append(case)

    async def clear(self) -> None:
        """Delete all of it."""
        for case in self._of_the_cluster:
            await self._cluster.delete(path_of(case.kind, case.api, "", name_of(case, self._namespace.name)))
        for kind, api in RESOURCES:
            if kind not in OF_THE_CLUSTER:
                await self._cluster.delete(path_of(kind, api, self._namespace.name))


async def what_is_reported(namespace: Namespace) -> dict[str, str]:
    """Status and events of all objects of our kinds by Kind/name; a pod's message counts for its PodGroup, too, and the
    status of what an object owns for the owner."""
    reported: dict[str, str] = {}

    def add(about: str, text: str) -> None:
        reported[about] = f"{reported.get(about, '')}{text}\n"

    for kind, api in RESOURCES:
        for each in (await namespace.cluster.client.get(path_of(kind, api, namespace.name)))["items"]:
            for owner in (each, *each["metadata"].get("ownerReferences", ())):
                name = owner.get("name") or owner["metadata"]["name"]
                add(f"{owner['kind']}/{name}", str(each.get("status") or ""))
    events: list[EventView] = [*(await namespace.events()), *(await namespace.cluster.events("default"))]
    for event in events:
        add(event.about.removesuffix("-0").replace("Pod/", "PodGroup/"), f"{event.reason}: {event.message}")
    return reported


async def each_is_reported(namespace: Namespace, cases: Sequence[Case]) -> None:
    """Wait until there is a reason on every odd object."""

    async def reported() -> None:
        texts = await what_is_reported(namespace)
        wrong = []
        for case in cases:
            about = f"{case.kind}/{name_of(case, namespace.name)}"
            if not re.search(case.reported, texts.get(about, "")):
                wrong.append(f"{about}: {texts.get(about, '')[:600]!r} should have {case.reported!r}")
        assert not wrong, "\n".join(wrong)

    await namespace.cluster.eventually("each oddity has its reason", reported)


async def all_is_well(daemon: Daemon) -> None:
    """The daemon lives, its books are right, and nothing failed inside it."""
    status, text = await daemon.get("/healthz")
    assert status == 200, text
    assert (await daemon.document("/dump"))["drift"] == 0
    records = daemon.log_records()
    errors = [each for each in records if each.get("level") == "error" and "object unreadable" not in each["msg"]]
    assert not errors, errors
    defects = [each for each in records if each.get("exception")]
    assert not defects, defects


async def healthy_work_runs(namespace: Namespace, name: str, team: str, selector: Mapping[str, str]) -> None:
    """Something of each kind, made now: a gang in a queue, a job, and the job of a flow."""
    labels = {"of": name}
    of_pods: dict[str, Any] = {"node_selector": selector, "labels": labels}
    spec = volcano_job(name, 1, node_selector=selector, labels=labels)["spec"]
    await namespace.apply(gang(f"{name}-gang", 2, queue=team, **of_pods))
    await namespace.apply(volcano_job(f"{name}-job", 1, **of_pods))
    for kind, body in (("JobTemplate", spec), ("JobFlow", {"flows": [{"name": name}]})):
        await namespace.apply({"apiVersion": FLOW, "kind": kind, "metadata": {"name": name}, "spec": body})
    await namespace.wait_phases(selector=f"of={name}", Running=4)
