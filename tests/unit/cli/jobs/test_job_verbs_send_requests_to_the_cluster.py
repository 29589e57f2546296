"""`volcano-py job …` against an API server: what is asked of it, and what people read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
import yaml
from click.testing import Result

from tests.unit.cli.cluster import UserOfCluster, pod_group
from tests.unit.cluster.fakes import FakeApi, Reply, Request, page, refusal
from volcano_py.cli.jobs.commands import RESUME, SUSPEND, Ask, objection
from volcano_py.jobs.model import JobPhase, VolcanoJob
from volcano_py.jobs.phases import asked_for

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
ALL_JOBS = "/apis/batch.volcano.sh/v1alpha1/jobs"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
EVENTS = "/api/v1/namespaces/default/events"

Run = Callable[..., Coroutine[Any, Any, Result]]

WHY = "NoNodeFits: 0/3 nodes are available: 3 insufficient cpu"
TABLE = f"""\
NAMESPACE  NAME    PHASE       QUEUE     REPLICAS  MIN  PENDING  RUNNING  SUCCEEDED  FAILED  UNKNOWN  RETRIES  AGE  \
WHY IT WAITS
default    eval    Running     research         4    2        1        3          0       0        0        1  -    -
default    serve   Pending     default          4    2        1        3          0       0        0        1  -    \
{WHY}
default    train   Running     research         4    2        1        3          0       0        0        1  -    -
default    zombie  Unreadable  -                -    -        -        -          -       -        -        -  -    -
"""


@pytest.fixture
def api(user: UserOfCluster) -> FakeApi:
    return user.api


@pytest.fixture
def run(user: UserOfCluster) -> Run:
    """Run `volcano-py job` with these arguments on the server."""
    return partial(user.run, "job")


def job(name: str, phase: str = "Running", *, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A job as the API sends it."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "managedFields": [{"manager": "x"}]},
        "spec": {
            "queue": "research",
            "schedulerName": "volcano",
            "minAvailable": 2,
            "maxRetry": 3,
            "tasks": [{"name": "worker", "replicas": 4, "minAvailable": 2}],
            **spec,
        },
        "status": {
            "state": {"phase": phase, "reason": "", "message": ""},
            "pending": 1,
            "running": 3,
            "retryCount": 1,
            "taskStatusCount": {"worker": {"phase": {"Running": 3, "Pending": 1}}},
        },
    }


def no_job(name: str) -> Reply:
    details = {"name": name, "group": "batch.volcano.sh", "kind": "jobs"}
    return refusal(404, "NotFound", f'jobs.batch.volcano.sh "{name}" not found', details=details)


def stored(request: Request) -> Reply:
    return Reply(201, {**request.body, "metadata": {**request.body["metadata"], "uid": "uid-1"}})


async def test_a_job_is_made_of_options(api: FakeApi, run: Run) -> None:
    api.on("POST", JOBS, stored)

    result = await run(
        "run", "-N", "train", "-i", "pause", "-m", "2", "-r", "4", "-R", "cpu=2", "-L", "cpu=4", "-q", "research"
    )

    assert (result.exit_code, result.output) == (0, "job default/train created\n")
    (asked,) = api.sent("POST")
    container = {
        "name": "main",
        "image": "pause",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}},
    }
    assert asked.body == {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {
            "schedulerName": "volcano",
            "queue": "research",
            "minAvailable": 2,
            "tasks": [
                {
                    "name": "default0",
                    "replicas": 4,
                    "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
                }
            ],
        },
    }


async def test_jobs_of_a_manifest_are_created_in_their_namespaces(api: FakeApi, run: Run, tmp_path: Path) -> None:
    other = JOBS.replace("/default/", "/other/")
    api.on("POST", JOBS, stored)
    api.on("POST", other, stored)
    file = tmp_path / "jobs.yaml"
    head = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n"
    file.write_text(f"{head}metadata: {{name: a}}\n---\n{head}metadata: {{name: b, namespace: other}}\n")

    result = await run("run", "-f", str(file))

    assert (result.exit_code, result.output) == (0, "job default/a created\njob other/b created\n")
    assert [(each.path, each.body["metadata"]["name"]) for each in api.sent("POST")] == [(JOBS, "a"), (other, "b")]

    result = await run("run", "-f", str(file), "-o", "yaml")
    assert [each["metadata"]["name"] for each in yaml.safe_load(result.stdout)["items"]] == ["a", "b"]


async def test_jobs_are_listed_in_columns(api: FakeApi, run: Run) -> None:
    unreadable = job("zombie")
    unreadable["spec"]["tasks"] = "none"
    jobs = [unreadable, job("train"), job("serve", "Pending", queue="default"), job("eval", schedulerName="other")]
    api.on("GET", JOBS, page(7, *jobs))
    waits, runs = (pod_group(f"{name}-uid-{name}", "default", why=WHY) for name in ("serve", "train"))
    api.on("GET", GROUPS, page(7, waits, runs))

    result = await run("list")

    assert result.exit_code == 0, result.output
    assert [line.rstrip() for line in result.stdout.splitlines()] == TABLE.splitlines()


@pytest.mark.parametrize(("options", "queues"), [([], ["team", "research"]), (["-q", "team"], ["team"])])
async def test_a_job_that_names_no_queue_is_listed_in_that_of_its_pod_group(
    api: FakeApi, run: Run, options: list[str], queues: list[str]
) -> None:
    """Its namespace has named the queue. The queue that a job names is its own, whatever the PodGroup has."""
    api.on("GET", JOBS, page(7, job("serve", queue="default"), job("train")))
    api.on(
        "GET",
        GROUPS,
        page(7, *(pod_group(f"{name}-uid-{name}", "default", queue="team") for name in ("serve", "train"))),
    )
    assert [line.split()[3] for line in (await run("list", *options)).stdout.splitlines()[1:]] == queues


async def test_jobs_are_listed_without_reasons_where_podgroups_may_not_be_read(api: FakeApi, run: Run) -> None:
    api.on("GET", JOBS, page(7, job("serve", "Pending")))
    api.on("GET", GROUPS, refusal(403, "Forbidden"))
    assert (await run("list")).stdout.splitlines()[1].split()[-1] == "-"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        pytest.param(["--queue", "default"], ["serve"], id="of a queue"),
        pytest.param(["--scheduler", "other"], ["eval"], id="for a scheduler"),
        pytest.param(["--selector", "rv"], ["serve"], id="by a part of the name"),
        pytest.param(["-q", "research", "-S", "volcano"], ["train"], id="by both"),
    ],
)
async def test_some_jobs_of_all_namespaces_as_json(
    api: FakeApi, run: Run, options: list[str], names: list[str]
) -> None:
    jobs = [job("train"), job("serve", queue="default", namespace="web"), job("eval", schedulerName="other")]
    api.on("GET", ALL_JOBS, page(7, *jobs))

    result = await run("list", "--all-namespaces", "-o", "json", *options)

    found = orjson.loads(result.stdout)
    assert (found["kind"], [each["metadata"]["name"] for each in found["items"]]) == ("List", names)
    assert all("managedFields" not in each["metadata"] for each in found["items"])


async def test_a_watch_goes_on_with_what_changes(api: FakeApi, run: Run) -> None:
    """A row of a job that says nothing new is not repeated. The server ends it by refusing the next watch."""
    api.on("GET", JOBS, page(7, job("train", "Pending")))
    listing = asyncio.create_task(run("list", "--watch"))
    watch = await api.watch()
    assert watch.resource_version == "7"
    await watch.send("MODIFIED", job("train", "Pending"))
    await watch.send("MODIFIED", job("train", "Running"))
    await watch.send("DELETED", job("train", "Running"))
    api.refuse_watch(refusal(403, "Forbidden", "no more"))
    watch.end()

    result = await listing

    assert result.exit_code == 1
    assert [line.split()[:3] for line in result.stdout.splitlines()] == [
        ["NAMESPACE", "NAME", "PHASE"],
        ["default", "train", "Pending"],
        ["default", "train", "Running"],
        ["default", "train", "Deleted"],
    ]


async def test_a_job_is_described_with_its_tasks_and_events(api: FakeApi, run: Run) -> None:
    found = job("train", "Aborted", plugins={"svc": [], "env": []})
    found["status"]["state"] |= {"reason": "CommandIssued", "message": "Command default/x"}
    found["status"]["conditions"] = [{"status": "Pending"}, {"status": "Aborted"}]
    reported = {"type": "Warning", "reason": "PodGroupPending", "message": "it\nwaits", "count": 3, "metadata": {}}
    api.on("GET", f"{JOBS}/train", Reply(body=found))
    api.on("GET", EVENTS, Reply(body={"items": [{**reported, "lastTimestamp": "2999-01-01T00:00:00Z"}]}))

    result = await run("view", "--name", "train")

    assert result.exit_code == 0, result.output
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "Name:       train",
        "Namespace:  default",
        "Queue:      research",
        "Scheduler:  volcano",
        "Plugins:    env, svc",
        "Age:        -",
        "Phase:      Aborted (CommandIssued)",
        "Message:    Command default/x",
        "Pods:       1 pending, 3 running; 4 wanted, 2 needed",
        "Retries:    1 of 3",
        "",
        "TASK    REPLICAS  MIN  PODS",
        "worker         4    2  1 Pending, 3 Running",
        "",
        "WAS      SINCE",
        "Pending  -",
        "Aborted  -",
        "",
        "EVENT    REASON           AGE  TIMES  MESSAGE",
        "Warning  PodGroupPending  0s       3  it waits",
    ]
    (asked,) = api.sent("GET", EVENTS)
    assert asked.query == {"fieldSelector": "involvedObject.kind=Job,involvedObject.uid=uid-train"}


@pytest.mark.parametrize(("phase", "reported"), [("Pending", "none yet"), ("Aborted", "none"), ("Failed", "none")])
async def test_a_job_without_pods_may_have_some_later_or_not(api: FakeApi, run: Run, phase: str, reported: str) -> None:
    found = job("train", phase)
    found["status"] |= {"pending": 0, "running": 0}
    api.on("GET", f"{JOBS}/train", Reply(body=found))
    api.on("GET", EVENTS, Reply(body={"items": []}))
    (line,) = [each for each in (await run("view", "--name", "train")).stdout.splitlines() if each.startswith("Pods:")]
    assert line.split(maxsplit=1)[1] == f"{reported}; 4 wanted, 2 needed"


async def test_a_job_is_described_again_when_it_has_changed(api: FakeApi, run: Run) -> None:
    """The server ends it by refusing the next watch."""
    api.on("GET", f"{JOBS}/train", Reply(body=job("train", "Pending")))
    api.on("GET", JOBS, page(7, job("train", "Pending")))
    api.on("GET", EVENTS, Reply(body={"items": []}))
    viewing = asyncio.create_task(run("view", "--name", "train", "--watch"))
    watch = await api.watch()
    assert (watch.resource_version, watch.request.query["fieldSelector"]) == ("7", "metadata.name=train")
    await watch.send("MODIFIED", job("train", "Pending"))
    await watch.send("MODIFIED", job("train", "Running"))
    await watch.send("DELETED", job("train", "Running"))
    api.refuse_watch(refusal(403, "Forbidden", "no more"))
    watch.end()

    reported = (await viewing).stdout.splitlines()

    phases = [line.split()[1] for line in reported if line.startswith("Phase:")]
    assert (phases, reported[-1]) == (["Pending", "Running"], "job default/train is deleted")


async def test_the_changes_of_a_job_for_programs_are_a_document_each(api: FakeApi, run: Run) -> None:
    api.on("GET", f"{JOBS}/train", Reply(body=job("train")))
    api.on("GET", JOBS, page(7, job("train")))
    viewing = asyncio.create_task(run("view", "--name", "train", "-o", "json", "-w"))
    watch = await api.watch()
    await watch.send("DELETED", job("train"))
    api.refuse_watch(refusal(403, "Forbidden", "no more"))
    watch.end()
    reported = [orjson.loads(line) for line in (await viewing).stdout.splitlines()]
    assert [(each["type"], each["object"]["metadata"]["name"]) for each in reported] == [
        ("ADDED", "train"),
        ("DELETED", "train"),
    ]


async def test_a_job_whose_events_may_not_be_read_is_still_described(api: FakeApi, run: Run) -> None:
    api.on("GET", f"{JOBS}/train", Reply(body=job("train")))
    api.on("GET", EVENTS, refusal(403, "Forbidden", "no"))
    result = await run("view", "--name", "train")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Events: you are not allowed to list them")

    api.on("GET", EVENTS, Reply(body={"items": []}))
    assert (await run("view", "--name", "train")).stdout.splitlines()[-1] == "Events: none"


async def test_a_job_as_yaml_is_what_the_server_has(api: FakeApi, run: Run) -> None:
    api.on("GET", f"{JOBS}/train", Reply(body=job("train")))
    result = await run("view", "--name", "train", "-o", "yaml")
    expected = job("train")
    del expected["metadata"]["managedFields"]
    assert yaml.safe_load(result.stdout) == expected
    assert not api.sent("GET", EVENTS)


@pytest.mark.parametrize(
    ("verb", "phase", "action", "said"),
    [("suspend", "Running", "AbortJob", "suspended"), ("resume", "Aborted", "ResumeJob", "resumed")],
)
async def test_a_command_asks_the_controller(
    api: FakeApi, run: Run, verb: str, phase: str, action: str, said: str
) -> None:
    api.on("GET", f"{JOBS}/train", Reply(body=job("train", phase)))
    api.on("POST", COMMANDS, stored)

    result = await run(verb, "--name", "train")

    assert (result.exit_code, result.output) == (0, f"job default/train is being {said}\n")
    target = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "train",
        "uid": "uid-train",
        "controller": True,
    }
    (asked,) = api.sent("POST")
    assert asked.body == {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"generateName": f"train-{verb}-", "namespace": "default", "ownerReferences": [target]},
        "action": action,
        "target": target,
        "reason": "CommandLine",
        "message": f"volcano-py job {verb}",
    }


@pytest.mark.parametrize(
    ("verb", "phase", "message"),
    [
        ("resume", "Running", "job default/train is Running, not suspended: there is nothing to resume"),
        ("resume", "", "job default/train is new, not suspended: there is nothing to resume"),
        (
            "suspend",
            "Completed",
            (
                "job default/train has ended (Completed): there is nothing to suspend; `volcano-py job delete` deletes"
                " it"
            ),
        ),
        ("suspend", "Aborted", "job default/train is Aborted already; `volcano-py job resume` resumes it"),
        (
            "suspend",
            "Restarting",
            (
                "job default/train is Restarting, and takes no Command until its old pods are gone; ask again when it"
                " is Pending or Running"
            ),
        ),
        (
            "suspend",
            "Completing",
            "job default/train is Completing and about to end: there is nothing to suspend",
        ),
    ],
)
async def test_a_command_without_effect_is_not_given(
    api: FakeApi, run: Run, verb: str, phase: str, message: str
) -> None:
    api.on("GET", f"{JOBS}/train", Reply(body=job("train", phase)))
    result = await run(verb, "--name", "train")
    assert (result.exit_code, result.output, api.sent("POST")) == (1, f"Error: {message}\n", [])


async def test_a_job_that_would_fail_is_not_resumed(api: FakeApi, run: Run) -> None:
    """To be resumed is a try, and the one that reaches maxRetry is not carried out."""
    suspended = job("train", "Aborted")
    suspended["status"]["retryCount"] = 2
    api.on("GET", f"{JOBS}/train", Reply(body=suspended))

    result = await run("resume", "--name", "train")

    assert result.exit_code == 1
    assert result.output == (
        "Error: job default/train would be Failed: to be resumed counts as a try, 2 have been, and spec.maxRetry is 3;"
        " delete it, and create it again with a larger spec.maxRetry\n"
    )
    assert api.sent("POST") == []


@pytest.mark.parametrize("ask", [SUSPEND, RESUME])
@pytest.mark.parametrize("phase", list(JobPhase))
def test_what_is_asked_for_has_an_effect(ask: Ask, phase: JobPhase) -> None:
    """The verb objects exactly where the controller's state machine has no step."""
    of = msgspec.convert(job("train", phase), VolcanoJob)
    assert bool(objection(ask, of)) == (asked_for(of, ask.action) is None)


async def test_a_job_is_deleted(api: FakeApi, run: Run) -> None:
    api.on("DELETE", f"{JOBS}/train", Reply())
    result = await run("delete", "--name", "train")
    assert (result.exit_code, result.output) == (0, "job default/train deleted\n")


@pytest.mark.parametrize("verb", ["view", "suspend", "resume", "delete"])
async def test_a_job_that_does_not_exist(api: FakeApi, run: Run, verb: str) -> None:
    for method in ("GET", "DELETE"):
        api.on(method, f"{JOBS}/nothing", no_job("nothing"))
    result = await run(verb, "--name", "nothing")
    assert (result.exit_code, result.output) == (
        1,
        "Error: job default/nothing does not exist: `volcano-py job list --namespace default` shows those that do\n",
    )


async def test_a_name_that_is_taken_and_a_namespace_that_does_not_exist(api: FakeApi, run: Run) -> None:
    api.on("POST", JOBS, refusal(409, "AlreadyExists", "exists", details={"name": "train", "kind": "jobs"}))
    assert (await run("run", "--name", "train")).output == (
        "Error: job default/train exists already: choose another name, or `volcano-py job delete` that one first\n"
    )
    nowhere = JOBS.replace("/default/", "/nowhere/")
    api.on("POST", nowhere, refusal(404, "NotFound", "no", details={"name": "nowhere", "kind": "namespaces"}))
    assert (await run("run", "--name", "train", "-n", "nowhere")).output == (
        "Error: namespace nowhere does not exist: create it, or choose another with --namespace\n"
    )


@pytest.mark.parametrize(
    ("verb", "method", "path"),
    [
        ("run", "POST", JOBS),
        ("list", "GET", JOBS),
        ("view", "GET", f"{JOBS}/train"),
        ("suspend", "GET", f"{JOBS}/train"),
        ("delete", "DELETE", f"{JOBS}/train"),
    ],
)
async def test_a_cluster_without_the_crd_and_one_that_forbids_it(
    api: FakeApi, run: Run, verb: str, method: str, path: str
) -> None:
    name = [] if verb == "list" else ["--name", "train"]
    api.on(method, path, refusal(404, "NotFound", "the server could not find the requested resource"))
    result = await run(verb, *name)
    assert result.exit_code == 1
    assert "kubectl apply -k crds" in result.output

    message = 'jobs.batch.volcano.sh is forbidden: User "me" cannot do it in the namespace "default"'
    api.on(method, path, refusal(403, "Forbidden", message))
    result = await run(verb, *name)
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {message}; ")


@pytest.mark.parametrize("verb", ["view", "suspend", "resume"])
async def test_a_job_that_cannot_be_read_is_reported_with_the_field(api: FakeApi, run: Run, verb: str) -> None:
    found = job("zombie")
    found["spec"]["tasks"] = "none"
    api.on("GET", f"{JOBS}/zombie", Reply(body=found))
    api.on("GET", EVENTS, Reply(body={"items": []}))
    result = await run(verb, "--name", "zombie")
    assert (result.exit_code, result.output) == (
        1,
        (
            "Error: job default/zombie cannot be read: Expected `array`, got `str` - at `$.spec.tasks`;"
            " `volcano-py job view --name zombie --namespace default --output yaml` shows it as it is\n"
        ),
    )
    assert (await run("view", "--name", "zombie", "-o", "yaml")).exit_code == 0
