"""Admission with kopf in it, over TLS, against a small API server: reviews as the API server sends them."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web

from tests.support.connections.sockets import until_closed
from tests.unit.cluster.fakes import PATIENCE
from tests.unit.operator.kopf_host.test_kopf_app import QUEUES, Seen, Server, until
from volcano_py.api.names import QUEUE_NAME
from volcano_py.api.objects import Namespace, ObjectMeta
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.observe.listen import ListenAddress
from volcano_py.operator.kopf_host.app import KopfApp
from volcano_py.operator.queues.feed import QueueFeed
from volcano_py.operator.webhooks import view as admission_view
from volcano_py.operator.webhooks.app import Admission, AdmissionSite
from volcano_py.operator.webhooks.handlers import AdmissionRules, Outcome
from volcano_py.operator.webhooks.server import Limits

pytestmark = pytest.mark.real_time

GROUP_API = "/apis/scheduling.volcano.sh/v1beta1"
JOB_API = "/apis/batch.volcano.sh/v1alpha1"
TOPOLOGY_API = "/apis/topology.volcano.sh/v1alpha1"
SECRET = "/api/v1/namespaces/volcano-system/secrets/door"


class ClusterApi(Server):
    """With the Secret of the certificates, PodGroups to count, and Jobs that come later."""

    def __init__(self) -> None:
        super().__init__()
        self.secret: dict[str, str] = {}
        self.serves_jobs = False
        self.hyper_nodes: list[dict[str, Any]] | None = []

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path == SECRET:
            if request.method == "PATCH":
                self.secret = (await request.json())["data"]
            return web.json_response({"metadata": {"resourceVersion": "1"}, "data": self.secret})
        if path == f"{GROUP_API}/podgroups":
            return web.json_response({"metadata": {}, "items": []})
        if path == JOB_API and self.serves_jobs:
            return web.json_response({"resources": [_kind("jobs", "Job"), _kind("cronjobs", "CronJob")]})
        answer = await super()._answer(request)
        if path == f"{TOPOLOGY_API}":
            return web.json_response({"resources": [_kind("hypernodes", "HyperNode")]})
        if path == f"{TOPOLOGY_API}/hypernodes":
            if self.hyper_nodes is None:
                return web.json_response({"kind": "Status", "code": 403}, status=403)
            return web.json_response({"metadata": {}, "items": self.hyper_nodes})
        if path == "/apis" and isinstance(answer, web.Response) and answer.text:
            entry = {"groupVersion": "topology.volcano.sh/v1alpha1", "version": "v1alpha1"}
            known = json.loads(answer.text)["groups"]
            known.append({"name": "topology.volcano.sh", "versions": [entry], "preferredVersion": entry})
            answer = web.json_response({"groups": known})
        if path == "/apis" and self.serves_jobs and isinstance(answer, web.Response) and answer.text:
            groups = json.loads(answer.text)["groups"]
            entry = {"groupVersion": "batch.volcano.sh/v1alpha1", "version": "v1alpha1"}
            groups.append({"name": "batch.volcano.sh", "versions": [entry], "preferredVersion": entry})
            return web.json_response({"groups": groups})
        if path == GROUP_API and isinstance(answer, web.Response) and answer.text:
            found = json.loads(answer.text)["resources"]
            return web.json_response({"resources": [*found, _kind("podgroups", "PodGroup")]})
        return answer


def _kind(plural: str, kind: str) -> dict[str, Any]:
    return {
        "name": plural, "singularName": kind.lower(), "kind": kind, "namespaced": True,
        "verbs": ["list", "watch", "patch"],
    }  # fmt: skip


class Door:
    """All of it, running."""

    def __init__(self, api: ClusterApi, client: KubernetesClient) -> None:
        self.api, self.reviewed = api, list[tuple[str, str, Outcome]]()
        seen = Seen()
        site = AdmissionSite(
            address=ListenAddress.parse("127.0.0.1:0"),
            namespace="volcano-system",
            name="door",
            hosts=("127.0.0.1",),
            limits=Limits(judging=PATIENCE),
        )
        self.admission = Admission(
            client,
            site,
            AdmissionRules(),
            reviewed=lambda webhook, operation, outcome, _: self.reviewed.append((webhook, operation, outcome)),
            on_expiry=lambda _: None,
        )
        feed = QueueFeed([seen, self.admission.view], seen.bad_object)
        self.kopf = KopfApp(
            client, feed, None, own_signals=seen.own_signals, bad_object=seen.bad_object, webhooks=self.admission
        )

    async def ask(
        self, webhook: str, kind: tuple[str, str, str], new: Any, old: Any = None, *, dry_run: bool = False
    ) -> dict[str, Any]:
        """The `response` to a review of the object, in the words of admission.k8s.io/v1."""
        group, version, plural = kind
        operation = "DELETE" if new is None else "CREATE" if old is None else "UPDATE"
        body = new or old
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "review",
                "resource": {"group": group, "version": version, "resource": plural},
                "operation": operation,
                "name": body["metadata"].get("name", ""),
                "namespace": body["metadata"].get("namespace", ""),
                "userInfo": {"username": "user"},
                "object": new,
                "oldObject": old,
                "dryRun": dry_run,
            },
        }
        trust = ssl.create_default_context(cadata=base64.b64decode(self.api.secret["ca.crt"]).decode())
        address = self.admission.listening
        assert address is not None
        url = f"https://127.0.0.1:{address.port}/{webhook}"
        async with aiohttp.ClientSession() as session, session.post(url, json=review, ssl=trust) as response:
            assert response.status == 200, await response.text()
            answer: dict[str, Any] = (await response.json())["response"]
        assert answer.pop("uid") == "review"
        return answer


QUEUE_KIND = ("scheduling.volcano.sh", "v1beta1", "queues")
GROUP_KIND = ("scheduling.volcano.sh", "v1beta1", "podgroups")
HYPER_NODE_KIND = ("topology.volcano.sh", "v1alpha1", "hypernodes")
JOB_KIND = ("batch.volcano.sh", "v1alpha1", "jobs")
CRON_KIND = ("batch.volcano.sh", "v1alpha1", "cronjobs")


def raw(name: str, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "spec": spec or {}}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine may take longer than the API server waits."""
    for limit in ("_READ_WITHIN", "_PROMISED_FOR"):
        monkeypatch.setattr(admission_view, limit, PATIENCE)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    api = ClusterApi()
    await api.http.start_server()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": str(api.http.make_url("")).rstrip("/")}}],
        "users": [{"name": "test", "user": {"token": api.token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    for name in ("root", "default"):
        api.put(QUEUES, name, spec={"weight": 1})
    async with await KubernetesClient.connect(tmp_path / "kubeconfig") as client:
        door = Door(api, client)
        tasks = [asyncio.create_task(part.run()) for part in (door.kopf, door.admission)]
        await until(lambda: door.admission.problem() is None)
        yield door
        for task in reversed(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    api.end_watches()
    await api.http.close()
    await until_closed()


async def test_queues_are_judged_by_every_verb(door: Door) -> None:
    door.api.put(QUEUES, "dept", spec={"deserved": {"cpu": "4"}})
    fine = raw("team", {"parent": "dept", "deserved": {"cpu": 4}, "weight": 1})
    assert await door.ask("validate-queues", QUEUE_KIND, fine) == {"allowed": True}
    wrong = raw("team", {"parent": "dept", "deserved": {"cpu": 5}, "weight": 1})
    refused = {
        "allowed": False,
        "status": {
            "code": 422,
            "message": "queue team: spec.deserved[cpu]: 5 is more than queue dept above it has, 4; "
            "lower it, or raise spec.deserved of queue dept",
        },
    }
    assert await door.ask("validate-queues", QUEUE_KIND, wrong) == refused
    assert await door.ask("validate-queues", QUEUE_KIND, wrong, fine) == refused
    assert await door.ask("validate-queues", QUEUE_KIND, fine, wrong) == {"allowed": True}
    deletion = await door.ask("validate-queues", QUEUE_KIND, None, raw("root"))
    assert (deletion["allowed"], deletion["status"]["code"]) == (False, 422)
    assert [(operation, outcome) for _, operation, outcome in door.reviewed] == [
        ("CREATE", Outcome.ALLOWED), ("CREATE", Outcome.REFUSED), ("UPDATE", Outcome.REFUSED),
        ("UPDATE", Outcome.ALLOWED), ("DELETE", Outcome.REFUSED),
    ]  # fmt: skip


async def test_of_two_edits_at_once_that_do_not_fit_together_one_is_refused(door: Door) -> None:
    door.api.put(QUEUES, "dept", spec={"deserved": {"cpu": "4"}})
    fine = [raw(name, {"parent": "dept", "deserved": {"cpu": 3}, "weight": 1}) for name in ("one", "two")]
    answers = await asyncio.gather(*(door.ask("validate-queues", QUEUE_KIND, each) for each in fine))
    assert sorted(answer["allowed"] for answer in answers) == [False, True]


async def test_a_dry_run_promises_nothing(door: Door) -> None:
    door.api.put(QUEUES, "dept", spec={"deserved": {"cpu": "4"}})
    for name in ("one", "two"):
        new = raw(name, {"parent": "dept", "deserved": {"cpu": 3}, "weight": 1})
        assert await door.ask("validate-queues", QUEUE_KIND, new, dry_run=True) == {"allowed": True}


@pytest.mark.parametrize(("dry_run", "is_let_in"), [(True, False), (False, True)])
async def test_only_a_deletion_that_happens_makes_room_for_others(door: Door, dry_run: bool, is_let_in: bool) -> None:
    """The first queue was admitted a moment ago and is not stored yet."""
    door.api.put(QUEUES, "dept", spec={"deserved": {"cpu": "4"}})
    one, two = (raw(name, {"parent": "dept", "deserved": {"cpu": 3}, "weight": 1}) for name in ("one", "two"))
    assert (await door.ask("validate-queues", QUEUE_KIND, one))["allowed"]
    assert (await door.ask("validate-queues", QUEUE_KIND, None, one, dry_run=dry_run))["allowed"]
    assert (await door.ask("validate-queues", QUEUE_KIND, two))["allowed"] == is_let_in


async def test_defaults_come_as_a_patch(door: Door) -> None:
    answer = await door.ask("mutate-queues", QUEUE_KIND, raw("team", {"weight": 0}))
    patch = json.loads(base64.b64decode(answer["patch"]))
    assert answer["allowed"]
    assert sorted(patch, key=str) == [
        {"op": "add", "path": "/spec/reclaimable", "value": True},
        {"op": "replace", "path": "/spec/weight", "value": 1},
    ]
    namespace = Namespace(metadata=ObjectMeta(name="ns", annotations={QUEUE_NAME: "team"}))
    door.admission.view.upsert("Namespace", namespace)
    answer = await door.ask("mutate-podgroups", GROUP_KIND, raw("work", {"queue": "default"}, namespace="ns"))
    assert json.loads(base64.b64decode(answer["patch"])) == [{"op": "replace", "path": "/spec/queue", "value": "team"}]
    assert await door.ask("mutate-podgroups", GROUP_KIND, raw("work", {"queue": "x"}, namespace="ns")) == {
        "allowed": True
    }


async def test_a_queue_that_was_created_a_moment_ago_counts_for_work(door: Door) -> None:
    """The feed has not brought it yet."""
    door.api.is_mute = True
    door.api.put(QUEUES, "new", spec={})
    assert "new" not in door.admission.view.world().queues
    work = raw("work", {"queue": "new"}, namespace="ns")
    assert await door.ask("validate-podgroups", GROUP_KIND, work) == {"allowed": True}


async def test_hyper_nodes_are_judged_and_what_is_hardly_meant_is_said(door: Door) -> None:
    below = {"type": "HyperNode", "selector": {"exactMatch": {"name": "rack"}}}
    door.api.hyper_nodes = [raw("rack", {"tier": 1}), {"metadata": {"name": "odd"}, "spec": {"tier": "x"}}]
    refused = await door.ask("validate-hypernodes", HYPER_NODE_KIND, raw("spine", {"tier": 2, "members": []}))
    assert refused["status"]["message"] == (
        "hypernode spine: spec.members: at least one member is required; add a node or a HyperNode"
    )
    fine = raw("spine", {"tier": 2, "members": [below]})
    assert await door.ask("validate-hypernodes", HYPER_NODE_KIND, fine) == {"allowed": True}
    low = raw("spine", {"tier": 1, "members": [below]})
    assert await door.ask("validate-hypernodes", HYPER_NODE_KIND, low, fine) == {
        "allowed": True,
        "warnings": ["spec.tier is 1, not above 1 of its member rack, which is not put below it; write 2 or more"],
    }
    door.api.hyper_nodes = None
    assert await door.ask("validate-hypernodes", HYPER_NODE_KIND, low) == {"allowed": True}
    work = raw("work", {"queue": "default", "networkTopology": {"mode": "hard"}}, namespace="ns")
    answer = await door.ask("validate-podgroups", GROUP_KIND, work)
    assert answer["warnings"] == [
        (
            "spec.networkTopology is hard and names no tier, so it limits nothing; "
            "set highestTierAllowed or highestTierName"
        )
    ]


async def test_annotations_that_cannot_be_read_are_admitted_with_a_warning(door: Door) -> None:
    odd = {"annotations": {"volcano.sh/preemptable": "maybe"}}
    warned = ["annotation volcano.sh/preemptable is 'maybe': write true or false; until then it counts as false"]
    group = raw("work", {"queue": "default"}, namespace="ns", **odd)
    assert await door.ask("validate-podgroups", GROUP_KIND, group) == {"allowed": True, "warnings": warned}


async def test_amounts_of_resources_that_do_not_exist_are_admitted_with_a_warning(door: Door) -> None:
    meant = 'no resource has this name (did you mean "cpu"?)'
    answer = await door.ask("validate-queues", QUEUE_KIND, raw("a", {"weight": 1, "capability": {"cpus": 4}}))
    assert answer == {"allowed": True, "warnings": [f"spec.capability.cpus (4) has no effect: {meant}"]}
    group = raw("work", {"queue": "default", "minResources": {"cpus": 4}}, namespace="ns")
    (warning,) = (await door.ask("validate-podgroups", GROUP_KIND, group))["warnings"]
    assert warning.startswith("spec.minResources.cpus is '4': correct the name, which no resource has")


async def test_what_cannot_be_read_is_refused_and_what_is_being_deleted_is_let_go(door: Door) -> None:
    bad = raw("work", {"queue": 3}, namespace="ns")
    answer = await door.ask("validate-podgroups", GROUP_KIND, bad)
    assert answer["status"]["message"].startswith("the podgroup cannot be read: ")
    going = raw("team", {"parent": "nowhere"}, deletionTimestamp="2026-01-01T00:00:00Z")
    assert await door.ask("validate-queues", QUEUE_KIND, going, raw("team")) == {"allowed": True}


async def test_when_the_queues_cannot_be_read_nothing_is_admitted(door: Door) -> None:
    await until(lambda: door.api.watching(QUEUES) > 0)  # or kopf, too, would be kept from its work
    del door.api.objects[QUEUES]
    answer = await door.ask("validate-queues", QUEUE_KIND, raw("team", {"weight": 1}))
    assert (answer["allowed"], answer["status"]["code"]) == (False, 503)
    assert answer["status"]["message"].startswith("the request cannot be checked: the API server did not answer")
    assert door.reviewed[-1][2] is Outcome.FAILED


async def test_kinds_may_come_while_it_runs(door: Door) -> None:
    """Job CRDs that are installed later: kopf is started again, and the review waits for that."""
    door.api.serves_jobs = True
    job = raw("train", {"queue": "default", "tasks": []}, namespace="ns")
    answer = await door.ask("validate-jobs", JOB_KIND, job)
    assert answer["status"]["message"] == (
        "job train: spec.tasks: at least one task is required; add one with a pod template"
    )


async def test_a_job_that_is_applied_again_is_filled_in_again(door: Door) -> None:
    """As kubectl does it: the list of tasks comes as it is in the manifest."""
    door.api.serves_jobs = True
    task = {
        "name": "worker",
        "replicas": 2,
        "template": {"spec": {"containers": [{"name": "main", "image": "busybox"}]}},
    }
    applied = {"queue": "default", "tasks": [task]}
    first = await door.ask("mutate-jobs", JOB_KIND, raw("train", applied, namespace="ns"))
    filled = {**applied, "schedulerName": "volcano", "maxRetry": 3, "minAvailable": 2}
    filled["tasks"] = [{**task, "minAvailable": 2, "maxRetry": 3}]
    again = {**filled, "tasks": [task]}
    patch = await door.ask(
        "mutate-jobs", JOB_KIND, raw("train", again, namespace="ns"), raw("train", filled, namespace="ns")
    )
    assert {each["path"] for each in json.loads(base64.b64decode(first["patch"]))} >= {"/spec/maxRetry"}
    assert sorted(json.loads(base64.b64decode(patch["patch"])), key=str) == [
        {"op": "add", "path": "/spec/tasks/0/maxRetry", "value": 3},
        {"op": "add", "path": "/spec/tasks/0/minAvailable", "value": 2},
    ]


async def test_a_job_older_than_the_webhooks_can_be_scaled(door: Door) -> None:
    """The API server asks the one that fills in first; what it answers is applied before the other is asked."""
    door.api.serves_jobs = True
    task = {
        "name": "worker",
        "replicas": 2,
        "template": {"spec": {"containers": [{"name": "main", "image": "busybox"}]}},
    }
    old = raw("train", {"queue": "default", "tasks": [task]}, namespace="ns")
    new = raw("train", {"queue": "default", "tasks": [{**task, "replicas": 3}]}, namespace="ns")
    patch = json.loads(base64.b64decode((await door.ask("mutate-jobs", JOB_KIND, new, old))["patch"]))
    assert {"op": "add", "path": "/spec/schedulerName", "value": "volcano"} in patch
    new["spec"] |= {"schedulerName": "volcano", "maxRetry": 3, "minAvailable": 3}
    new["spec"]["tasks"][0] |= {"minAvailable": 3, "maxRetry": 3}
    assert await door.ask("validate-jobs", JOB_KIND, new, old) == {"allowed": True}


async def test_what_was_stored_and_cannot_be_read_can_be_corrected(door: Door) -> None:
    door.api.serves_jobs = True
    job = {
        "queue": "default",
        "tasks": [{"replicas": 1, "template": {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}}],
    }
    cron = raw("nightly", {"schedule": "@daily", "jobTemplate": {"spec": job}}, namespace="ns")
    odd = raw("nightly", {"schedule": "@daily", "jobTemplate": {"spec": {**job, "maxRetry": "two"}}}, namespace="ns")
    refused = await door.ask("validate-cronjobs", CRON_KIND, odd)
    assert refused["status"]["message"] == (
        "the cronjob cannot be read: Expected `int`, got `str` - at `$.jobTemplate.spec.maxRetry`; correct this field"
    )
    assert await door.ask("validate-cronjobs", CRON_KIND, cron, odd) == {"allowed": True}


async def test_a_field_that_is_null_counts_as_left_out(door: Door) -> None:
    """CRDs that are looser than ours store it."""
    team = raw("team", {"capability": None, "weight": 1})
    assert await door.ask("validate-queues", QUEUE_KIND, team) == {"allowed": True}
    assert await door.ask("validate-queues", QUEUE_KIND, {**team, "spec": {**team["spec"], "weight": 2}}, team) == {
        "allowed": True
    }


async def test_refusals_are_no_errors_in_the_log(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    await door.ask("validate-queues", QUEUE_KIND, raw("q", {"parent": "nowhere"}))
    assert [record for record in caplog.records if record.name.startswith("kopf") and record.levelno > 30] == []
