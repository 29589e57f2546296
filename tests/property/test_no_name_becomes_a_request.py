"""Whatever stands in the fields of objects: the server receives the requests that were meant, and no others.

The real writers and controllers send over real sockets. `FUZZ_EXAMPLES` is the number of examples in all (CI: few).
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final

import msgspec
import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.property.probed_pod import ProbedPod, may_be_sent, meant
from tests.property.recording_server import Kinds, NotingTransport, RecordingServer, judge
from tests.unit.cluster.fakes import RecordingOutcomes, kubeconfig
from volcano_py.api.effects import (
    Bind,
    ClaimBinding,
    Event,
    Evict,
    ObjectRef,
    PodCondition,
    PodGroupStatusUpdate,
    QueueAllocated,
)
from volcano_py.api.objects import ApiObject, Pod, PodGroup, Queue
from volcano_py.api.reasons import Reason
from volcano_py.cluster.kubernetes.backoff import RetryPolicy
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.cluster.kubernetes.writing.binder import Binder
from volcano_py.cluster.kubernetes.writing.events import EventRecorder
from volcano_py.cluster.kubernetes.writing.evictor import Evictor
from volcano_py.cluster.kubernetes.writing.status_writer import StatusWriter
from volcano_py.cluster.kubernetes.writing.volume_binder import VolumeBinder
from volcano_py.jobs.crons.plan import CronJob
from volcano_py.jobs.flows.model import JobFlow, JobTemplate
from volcano_py.jobs.model import VolcanoJob
from volcano_py.operator.jobs import flow_probes
from volcano_py.operator.jobs.controller import JobController
from volcano_py.operator.jobs.cron_jobs import CronJobController
from volcano_py.operator.jobs.flow_probes import PodProber
from volcano_py.operator.jobs.job_flows import JobFlowController
from volcano_py.operator.podgroups.controller import PodGroupController
from volcano_py.operator.podgroups.generated_group import GroupRules
from volcano_py.operator.queues.commands import Command, CommandController
from volcano_py.operator.queues.controller import QueueController
from volcano_py.operator.queues.states import QueueAction

SCENARIOS: Final = 12
EXAMPLES: Final = int(os.environ.get("FUZZ_EXAMPLES", "240")) // SCENARIOS
PATIENCE: Final = 60.0  # seconds; a scenario takes some milliseconds
ONCE: Final = RetryPolicy(give_up_after=0.0)

fuzz = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)

_PIECES: Final = (
    "\r\n", "\n", "\r", " ", "\t", "\0", "\x7f", " HTTP/1.1\r\nHost: h\r\n\r\n", "DELETE ", "GET ",
    "/api/v1/namespaces/victim/pods/v1", "?gracePeriodSeconds=0", "/", "//", "..", ".", "%2f", "%2e%2e", "%0d%0a", "%",
    "?", "#", "&", ",", "=", "\\", ":", "@", "é", "\u2028", "a", "b-1", "c.d", "A", "-", "x" * 260,
)  # fmt: skip
VALID = st.sampled_from(["a", "web-1", "0", "x.y-z", "a" * 63])
EVIL = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=5).map("".join) | st.text(max_size=20)
# Often enough as it should be: what is refused at the first field shows nothing about the next one.
NAME = VALID | VALID | EVIL
LABEL = st.sampled_from(["ns", "team-1"]) | st.sampled_from(["ns", "team-1"]) | EVIL.filter(bool)
UID = st.just("uid") | EVIL


class World:
    """A server, a client for it, a pod, and a loop that live on from example to example."""

    def __init__(
        self,
        runner: asyncio.Runner,
        server: RecordingServer,
        pod: ProbedPod,
        transport: NotingTransport,
        client: KubernetesClient,
    ) -> None:
        self._runner, self.server, self.pod, self.transport, self.client = runner, server, pod, transport, client

    def plays(self, kinds: Kinds, namespace: str, names: Iterable[str], act: Callable[[], Awaitable[None]]) -> None:
        """Let this happen, then look at what the server has received."""

        async def played() -> None:
            await patiently(act())
            judge(self.server, self.transport.intended, kinds, namespace, tuple(names))

        self.server.reset()
        self.pod.reset()
        self.transport.intended = Counter()
        self._runner.run(played())


@pytest.fixture(autouse=True)
def silence(process_wide_logging: None) -> None:
    """Each refusal is logged, which would be a gigabyte of text."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


@pytest.fixture(autouse=True)
def patient_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine may take longer than a pod is given."""
    monkeypatch.setattr(flow_probes, "_ANSWER_WITHIN", PATIENCE)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    server, pod = RecordingServer(), ProbedPod()
    with asyncio.Runner() as runner:
        address = runner.run(server.start())
        runner.run(pod.start())
        path = kubeconfig(tmp_path_factory.mktemp("fuzz") / "kubeconfig", address)

        async def connect() -> World:
            credentials = await Credentials.load(path)
            transport = NotingTransport(credentials, 16)
            client = KubernetesClient(credentials, transport, qps=10**6, burst=10**6)
            return World(runner, server, pod, transport, client)

        connected = runner.run(connect())
        yield connected
        runner.run(connected.client.aclose())
        runner.run(server.stop())
        runner.run(pod.stop())


async def patiently(work: Awaitable[None]) -> None:
    """Wait for the work, second by second: on a machine that stands still for minutes it has not taken too long."""
    task = asyncio.ensure_future(work)
    for _ in range(int(PATIENCE)):
        await asyncio.wait({task}, timeout=1.0)
        if task.done():
            return await task
    left = "\n".join(map(repr, asyncio.all_tasks()))
    task.cancel()
    raise AssertionError(f"not done after {PATIENCE:g} s; what still runs:\n{left}")


async def until_quiet(controller: Any) -> None:
    """Let it work until it waits for time to pass, or for nothing."""
    task, work = (
        asyncio.ensure_future(controller.run()),
        controller._work if hasattr(controller, "_work") else controller._queue,
    )
    await asyncio.sleep(0)
    try:
        while work._waiting or work._active or work._again:  # noqa: ASYNC110 - sockets have no event
            await asyncio.sleep(0.0005)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


_SERVED: Final = {
    "Pod": "/api/v1/namespaces/{}/pods/{}",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims/{}",
    "PodGroup": "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups/{}",
    "Queue": "/apis/scheduling.volcano.sh/v1beta1/queues/{1}",
    "VolcanoJob": "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs/{}",
    "VolcanoCronJob": "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/cronjobs/{}",
    "JobFlow": "/apis/flow.volcano.sh/v1alpha1/namespaces/{}/jobflows/{}",
    "JobTemplate": "/apis/flow.volcano.sh/v1alpha1/namespaces/{}/jobtemplates/{}",
    "Command": "/apis/bus.volcano.sh/v1alpha1/namespaces/{}/commands/{}",
}
_MODELS: Final[dict[str, type[ApiObject]]] = {
    "Pod": Pod,
    "PodGroup": PodGroup,
    "Queue": Queue,
    "VolcanoJob": VolcanoJob,
    "VolcanoCronJob": CronJob,
    "JobFlow": JobFlow,
    "JobTemplate": JobTemplate,
    "Command": Command,
}
Objects = list[tuple[str, dict[str, Any]]]
"""Kind and manifest of each."""


def stored(world: World, kind: str, manifest: dict[str, Any]) -> ApiObject:
    """The object as the daemon reads it, once the server has it."""
    metadata = manifest["metadata"]
    found = world.server.api.put(_SERVED[kind].format(metadata.get("namespace", ""), metadata["name"]), manifest)
    return msgspec.convert(found, _MODELS[kind], strict=False)


async def controls(world: World, controller: Any, objects: Objects) -> None:
    """Let a controller see these objects, and work until it has nothing to do at once."""
    for kind, manifest in objects:
        controller.upsert(kind, stored(world, kind, manifest))
    await until_quiet(controller)


def kinds(*allowed: str) -> Kinds:
    """From texts such as `GET,PATCH pods/status`."""
    return frozenset(
        (verb, plural, subresource)
        for verbs, where in map(str.split, allowed)
        for verb in verbs.split(",")
        for plural, _, subresource in [where.partition("/")]
    )


META = st.builds(lambda name, namespace, uid: {"name": name, "namespace": namespace, "uid": uid}, NAME, LABEL, UID)
REF = st.builds(ObjectRef, st.sampled_from(["Pod", "PodGroup", "Job", "Queue"]), LABEL, NAME, UID)
_ALWAYS: Final[dict[str, Any]] = {"active": lambda: True, "record": lambda event: None}


# -- controllers -----------------------------------------------------------------------------------------------------

OWNER = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(["apps/v1", "batch/v1", "v1"]) | EVIL.map("apps/{}".format),
        "kind": st.sampled_from(["ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Pod"]) | EVIL,
        "name": NAME,
        "uid": UID,
        "controller": st.just(True),
    }
)
OTHER_OWNERS = st.lists(st.builds(lambda owner: {**owner, "controller": False}, OWNER), max_size=2)
ANNOTATIONS = st.dictionaries(
    st.sampled_from(["scheduling.k8s.io/group-name", "scheduling.volcano.sh/queue-name", "volcano.sh/preemptable"]),
    NAME,
)
OF_PODS = kinds(
    "GET replicasets", "GET statefulsets", "GET daemonsets", "GET jobs", "GET,POST,PATCH podgroups", "GET,PATCH pods"
)


@fuzz
@given(META, OTHER_OWNERS, st.none() | OWNER, OTHER_OWNERS, ANNOTATIONS, NAME)
def test_of_pods(
    world: World, meta: Any, before: Any, owner: Any, behind: Any, annotations: dict[str, str], text: str
) -> None:
    """Of several owners, only the controller is asked for."""
    meta = {**meta, "annotations": annotations, "labels": {"volcano.sh/preemptable": text}}
    meta["ownerReferences"] = [*before, *([owner] if owner else []), *behind]
    spec = {"schedulerName": "volcano", "nodeName": "", "priorityClassName": text, "containers": []}

    async def act() -> None:
        controller = PodGroupController(world.client, GroupRules(), **_ALWAYS)
        await controls(world, controller, [("Pod", {"metadata": meta, "spec": spec})])

    names = (meta["name"], owner["name"] if owner else "", f"podgroup-{owner['uid'] if owner else meta['uid']}")
    world.plays(OF_PODS, meta["namespace"], names, act)


TASK = st.fixed_dictionaries(
    {
        "name": NAME,
        "replicas": st.integers(0, 2),
        "template": st.builds(lambda text: {"metadata": {"annotations": {text: text}}, "spec": {"a": text}}, NAME),
    }
)
JOB_SPEC = st.fixed_dictionaries(
    {
        "queue": NAME,
        "schedulerName": st.just("volcano") | EVIL,
        "priorityClassName": NAME,
        "tasks": st.lists(TASK, max_size=2),
        "volumes": st.lists(
            st.builds(lambda path, name: {"mountPath": path, "volumeClaimName": name}, NAME, NAME)
            | st.builds(lambda path: {"mountPath": path, "volumeClaim": {"storageClassName": path}}, NAME),
            max_size=2,
        ),
        "plugins": st.dictionaries(
            st.sampled_from(["svc", "ssh", "env"]) | EVIL, st.lists(EVIL, max_size=1), max_size=3
        ),
    }
)
OF_JOBS = kinds(
    "GET jobs", "PATCH jobs/status", "DELETE jobs", "GET,POST,PATCH,DELETE podgroups", "GET,POST,DELETE pods",
    "GET,POST,PATCH persistentvolumeclaims", "GET,POST,PATCH services", "GET,POST,PATCH configmaps", "POST secrets",
    "GET,POST,PATCH networkpolicies",
)  # fmt: skip


@fuzz
@given(META, JOB_SPEC)
def test_of_jobs(world: World, meta: Any, spec: dict[str, Any]) -> None:
    job = {"metadata": {**meta, "generation": 1}, "spec": spec}

    async def act() -> None:
        controller = JobController(world.client, **_ALWAYS)
        await controls(world, controller, [("VolcanoJob", job)])
        let_in = [
            ("PodGroup", {**group, "status": {"phase": "Inqueue"}})
            for path, group in world.server.api.objects.items()
            if "/podgroups/" in path
        ]
        await controls(world, controller, let_in)

    names = (meta["name"], *(volume.get("volumeClaimName", "") for volume in spec["volumes"]))
    world.plays(OF_JOBS, meta["namespace"], names, act)


OF_COMMANDS = kinds("DELETE commands", "GET commands", "GET jobs", "GET,POST,PATCH queues", "PATCH queues/status")


@fuzz
@given(
    META,
    st.sampled_from(["AbortJob", "OpenQueue", "CloseQueue"]) | EVIL,
    st.fixed_dictionaries(
        {
            "apiVersion": st.sampled_from(["batch.volcano.sh/v1alpha1", "scheduling.volcano.sh/v1beta1"]) | EVIL,
            "kind": st.sampled_from(["Job", "Queue"]),
            "name": NAME,
            "uid": UID,
        }
    ),
)
def test_of_commands(world: World, meta: Any, action: str, target: dict[str, str]) -> None:
    async def act() -> None:
        jobs, queues = JobController(world.client, **_ALWAYS), QueueController(world.client, **_ALWAYS)
        controller = CommandController(world.client, queues, jobs, active=lambda: True)
        command = stored(world, "Command", {"metadata": meta, "action": action, "target": target})
        assert isinstance(command, Command)
        controller.upsert(command)
        for kind, manifest in INITIAL:
            queues.upsert(kind, stored(world, kind, manifest))
        for each in (controller, jobs, queues):
            await until_quiet(each)

    world.plays(OF_COMMANDS, meta["namespace"], (meta["name"], target["name"], "root", "default"), act)


INITIAL: Final[Objects] = [
    ("Queue", {"metadata": {"name": name}, "status": {"state": "Open"}}) for name in ("root", "default")
]
OF_QUEUES = kinds("GET,POST,PATCH queues", "PATCH queues/status")


@fuzz
@given(NAME, NAME, META, st.sampled_from(["OpenQueue", "CloseQueue"]), st.sampled_from(["", "Open"]) | EVIL)
def test_of_queues_and_podgroups(world: World, name: str, parent: str, group: Any, action: str, state: str) -> None:
    queue = {"metadata": {"name": name, "uid": "q"}, "spec": {"parent": parent}, "status": {"state": state}}

    async def act() -> None:
        controller = QueueController(world.client, **_ALWAYS)
        controller.request(name, QueueAction(action), "c")
        controller.request(parent, QueueAction(action), "c")
        await controls(
            world, controller, [*INITIAL, ("Queue", queue), ("PodGroup", {"metadata": group, "spec": {"queue": name}})]
        )

    world.plays(OF_QUEUES, "", (name, parent, "root", "default"), act)


PROBE = st.builds(
    lambda text, path: {
        "taskStatusList": [{"taskName": text, "phase": text}],
        "httpGetList": [{"taskName": text, "path": path, "port": 1, "httpHeader": {"name": path, "value": path}}],
    },
    NAME,
    EVIL,
)
OF_FLOWS = kinds(
    "GET,POST,DELETE jobs", "GET jobflows", "PATCH jobflows/status", "GET jobtemplates", "PATCH jobtemplates/status",
    "GET pods",
)  # fmt: skip


@fuzz
@given(META, NAME, NAME, st.none() | PROBE, JOB_SPEC)
def test_of_flows(world: World, meta: Any, first: str, second: str, probe: Any, spec: dict[str, Any]) -> None:
    depends = {"targets": [first], **({"probe": probe} if probe else {})}
    flow = {"metadata": meta, "spec": {"flows": [{"name": first}, {"name": second, "dependsOn": depends}]}}
    templates = [{"metadata": {**meta, "name": name, "uid": name}, "spec": spec} for name in (first, second)]

    async def act() -> None:
        controller = JobFlowController(world.client, PodProber(world.client), **_ALWAYS)
        await controls(world, controller, [*(("JobTemplate", template) for template in templates), ("JobFlow", flow)])

    world.plays(OF_FLOWS, meta["namespace"], (meta["name"], first, second), act)


HEADER = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["X-Probe", "host", "Connection", "Authorization", "Content-Length", "Expect"])
        | st.builds("{}{}".format, st.sampled_from(["X", "Host", "Transfer-Encoding", "X: y\r\nHost"]), EVIL)
        | EVIL,
        "value": VALID | EVIL | st.sampled_from(["close", "chunked", "100-continue", "ok\r\nAuthorization: Bearer x"]),
    }
)
PATH = st.lists(VALID | st.sampled_from(["..", "%2e", "?", "\r\n", "//victim/"]), max_size=6).map("/".join) | EVIL
NO_PORT = st.sampled_from([-1, 0, 65536, 2**31])


@fuzz
@given(NAME, PATH, st.none() | HEADER | HEADER, st.none() | st.none() | st.none() | NO_PORT, EVIL)
def test_of_probes(world: World, task: str, path: str, header: Any, port: int | None, text: str) -> None:
    """A pod's server receives the one GET that the flow asks for, or an event says why not."""
    meta, events = {"namespace": "ns", "uid": "uid"}, list[Event]()
    pod = {"metadata": {"name": "p", "namespace": "ns"}, "status": {"phase": "Running", "podIP": "127.0.0.1"}}
    get = {"taskName": task, "path": path, "scheme": text, "host": text, "httpHeader": header}
    get["port"] = world.pod.port if port is None else port
    depends = {"targets": ["a"], "probe": {"httpGetList": [get]}}
    flow = {"metadata": {**meta, "name": "f"}, "spec": {"flows": [{"name": "a"}, {"name": "b", "dependsOn": depends}]}}
    spec = {"tasks": [{"name": task, "replicas": 1}]}
    templates = [("JobTemplate", {"metadata": {**meta, "name": name}, "spec": spec}) for name in ("a", "b")]

    async def act() -> None:
        stored(world, "Pod", pod)
        controller = JobFlowController(world.client, PodProber(world.client), active=lambda: True, record=events.append)
        await controls(world, controller, [*templates, ("JobFlow", flow)])

    world.plays(OF_FLOWS, "ns", ("f", "a", "b"), act)
    is_good = may_be_sent(header) and re.fullmatch(r"[\w./-]*", task, re.ASCII) is not None
    is_sent = is_good and port is None
    named = header["name"] if header else ""
    assert world.pod.broken == []
    assert world.pod.received(named) == ([meant(path or "/", header)] if is_sent else [])
    assert any(key.endswith("/jobs/f-b") for key in world.server.api.objects) is is_sent
    assert is_good or any(event.type == "Warning" for event in events)


OF_CRON_JOBS = kinds("GET,POST,DELETE jobs", "GET cronjobs", "PATCH cronjobs/status")


@fuzz
@given(
    META,
    st.just("* * * * *") | EVIL,
    st.none() | EVIL,
    JOB_SPEC,
    NAME,
    OTHER_OWNERS,
    st.sampled_from(["Allow", "Replace"]),
)
def test_of_cron_jobs(
    world: World,
    meta: Any,
    schedule: str,
    zone: str | None,
    spec: dict[str, Any],
    running: str,
    others: list[Any],
    policy: str,
) -> None:
    made = "2026-03-02T09:00:00Z"
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "controller": True}
    owner |= {"name": meta["name"], "uid": meta["uid"]}
    job = {"metadata": {**meta, "name": running, "ownerReferences": [*others, owner]}}
    cron = {
        "metadata": {**meta, "creationTimestamp": made},
        "spec": {"schedule": schedule, "timeZone": zone, "jobTemplate": {"spec": spec}, "concurrencyPolicy": policy},
        "status": {"active": [{"name": running, "namespace": meta["namespace"], "uid": "u"}], "lastScheduleTime": made},
    }

    async def act() -> None:
        controller = CronJobController(world.client, now=lambda: 1772442300.0, **_ALWAYS)
        await controls(world, controller, [("VolcanoJob", job), ("VolcanoCronJob", cron)])

    world.plays(OF_CRON_JOBS, meta["namespace"], (meta["name"], running), act)


# -- writers ---------------------------------------------------------------------------------------------------------


@fuzz
@given(REF, NAME, NAME, st.sampled_from([201, 404, 409]))
def test_of_bindings(world: World, pod: ObjectRef, node: str, job: str, status: int) -> None:
    async def act() -> None:
        world.server.binding_status = status
        binder = Binder(world.client, RecordingOutcomes(), in_flight=2, retries=ONCE)
        binder.submit([Bind(pod, node, job)])
        await binder.drain(PATIENCE)

    world.plays(kinds("POST pods/binding", "GET pods"), pod.namespace, (pod.name,), act)


@fuzz
@given(REF, REF, EVIL)
def test_of_evictions(world: World, pod: ObjectRef, group: ObjectRef, text: str) -> None:
    async def act() -> None:
        stored(world, "Pod", {"metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}})
        evictor = Evictor(world.client, RecordingOutcomes(), lambda event: None, retries=ONCE)
        evictor.submit([Evict(pod, group, text, text)])
        await evictor.drain(PATIENCE)

    world.plays(kinds("PATCH pods/status", "DELETE pods", "GET pods"), pod.namespace, (pod.name,), act)


OF_STATUSES = kinds("PATCH pods/status", "PATCH podgroups/status", "GET queues", "PATCH queues/status")


@fuzz
@given(REF, NAME, NAME, NAME, st.booleans())
def test_of_statuses(world: World, about: ObjectRef, group: str, queue: str, text: str, served: bool) -> None:
    async def act() -> None:
        if served:
            resources = [{"name": "podgroups/status"}, {"name": "queues/status"}]
            world.server.api.put("/apis/scheduling.volcano.sh/v1beta1", {"resources": resources})
        stored(world, "Queue", {"metadata": {"name": queue}})
        writer = StatusWriter(world.client, retries=ONCE)
        of_group = ObjectRef("PodGroup", about.namespace, group, "g")
        writer.submit([PodCondition(about, text, text, Reason.INVALID_POD, text)])
        writer.submit([PodGroupStatusUpdate(of_group, text, (), 0, 0, 0), QueueAllocated(queue, {text: "1"})])
        await writer.drain(PATIENCE)

    world.plays(OF_STATUSES, about.namespace, (about.name, group, queue), act)


@fuzz
@given(REF, EVIL, st.booleans())
def test_of_events(world: World, about: ObjectRef, text: str, is_cluster_scoped: bool) -> None:
    if is_cluster_scoped:
        about = msgspec.structs.replace(about, namespace="")

    async def act() -> None:
        recorder = EventRecorder(world.client, "volcano", retries=ONCE)
        recorder.emit(Event(about, "Warning", text, text))
        await recorder.drain(PATIENCE)

    world.plays(kinds("POST events"), about.namespace or "default", (about.name,), act)


@fuzz
@given(REF, NAME, NAME, NAME, st.booleans())
def test_of_claims(world: World, pod: ObjectRef, claim: str, chosen: str, bound: str, is_bound: bool) -> None:
    about = ObjectRef("PersistentVolumeClaim", pod.namespace, claim, "c")
    marks = {"pv.kubernetes.io/bind-completed": "yes"} if is_bound else {}
    manifest = {
        "metadata": {"name": claim, "namespace": pod.namespace, "uid": "c", "annotations": marks},
        "spec": {"volumeName": bound if is_bound else ""},
        "status": {"phase": "Bound" if is_bound else "Pending"},
    }

    async def act() -> None:
        world.server.api.put(_SERVED["PersistentVolumeClaim"].format(pod.namespace, claim), manifest)
        for name in (chosen, bound):
            world.server.api.put(f"/api/v1/persistentvolumes/{name}", {"metadata": {"name": name}})
        binder = VolumeBinder(world.client, RecordingOutcomes(), lambda binds: None, retries=ONCE)
        for volume in (chosen, "", bound):
            binder.submit([Bind(pod, "n", "j", claims=(ClaimBinding(about, volume),), claims_within=0.0)])
        while binder.waiting:  # noqa: ASYNC110 - sockets have no event
            await asyncio.sleep(0.0005)

    allowed = kinds("GET,PATCH persistentvolumeclaims", "GET,PATCH persistentvolumes")
    world.plays(allowed, pod.namespace, (claim, chosen, bound), act)
