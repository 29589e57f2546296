"""`volcano-py jobflow …` and `jobtemplate …` against an API server: what is asked of it, and what people read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from tests.unit.cli.cluster import UserOfCluster, found, is_missing
from tests.unit.cluster.fakes import FakeApi, Reply, Request, page, refusal
from volcano_py.cli.job_flow import jobflow
from volcano_py.cli.job_template import jobtemplate

API = "/apis/flow.volcano.sh/v1alpha1"
FLOWS = f"{API}/namespaces/default/jobflows"
TEMPLATES = f"{API}/namespaces/default/jobtemplates"
EVENTS = "/api/v1/namespaces/default/events"
BOTH = pytest.mark.parametrize(("verb", "path"), [("jobflow", FLOWS), ("jobtemplate", TEMPLATES)])


@pytest.fixture
def api(user: UserOfCluster) -> FakeApi:
    return user.api


def flow(name: str = "weekly", phase: str = "Running", namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A flow as the API sends it: of three steps the first has completed, and the second runs."""
    probe = {"taskStatusList": [{"taskName": "server", "phase": "Running"}]}
    steps = [
        {"name": "prepare"},
        {"name": "train", "dependsOn": {"targets": ["prepare"]}},
        {"name": "watch", "dependsOn": {"targets": ["prepare", "train"], "probe": probe}},
    ]
    histories = [{"state": "Pending"}, {"state": "Running", "startTimestamp": "2999-01-01T00:00:00Z"}]
    jobs = [
        {"name": f"{name}-prepare", "state": "Completed"},
        {"name": f"{name}-train", "state": "Running", "restartCount": 2, "runningHistories": histories},
    ]
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "managedFields": [{"manager": "x"}]},
        "spec": {"flows": steps, **spec},
        "status": {
            "state": {"phase": phase},
            "completedJobs": [f"{name}-prepare"],
            "runningJobs": [f"{name}-train"],
            "jobStatusList": jobs,
        },
    }


def template(name: str = "train", namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A template as the API sends it, of which one Job was made."""
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobTemplate",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "managedFields": [{"manager": "x"}]},
        "spec": {
            "queue": "research",
            "tasks": [{"name": "server", "replicas": 1}, {"replicas": 4, "minAvailable": 2}],
            **spec,
        },
        "status": {"jobDependsOnList": ["weekly-train"]},
    }


def stored(request: Request) -> Reply:
    return Reply(201, {**request.body, "metadata": {**request.body["metadata"], "uid": "uid-1", "managedFields": []}})


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


# -- making ----------------------------------------------------------------------------------------------------------


@BOTH
async def test_what_a_manifest_has_is_created_in_its_namespaces(
    user: UserOfCluster, api: FakeApi, tmp_path: Path, verb: str, path: str
) -> None:
    of = flow if verb == "jobflow" else template
    other = path.replace("/default/", "/other/")
    api.on("POST", path, stored)
    api.on("POST", other, stored)
    first, second = of("a"), of("b", namespace="other")
    del first["metadata"]["namespace"]
    file = tmp_path / "some.yaml"
    file.write_text(yaml.safe_dump_all([first, second]), "utf-8")

    assert await user.prints(verb, "create", "-f", str(file)) == f"{verb} default/a created\n{verb} other/b created\n"
    assert [(each.path, each.body["spec"]) for each in api.sent("POST")] == [
        (path, first["spec"]),
        (other, second["spec"]),
    ]
    made = yaml.safe_load(await user.prints(verb, "create", "--file", str(file), "-o", "yaml"))
    assert [each["metadata"] for each in made["items"]] == [
        {"name": "a", "namespace": "default", "uid": "uid-1"},
        {"name": "b", "namespace": "other", "uid": "uid-1"},
    ]


async def test_a_manifest_of_something_else_makes_nothing(user: UserOfCluster, api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "both.yaml"
    file.write_text(yaml.safe_dump_all([flow(), template()]), "utf-8")
    assert await user.is_refused("jobflow", "create", "-f", str(file)) == (
        f"{file}, document 2 (JobTemplate train): kind is JobTemplate, not JobFlow; use `kubectl apply` for anything"
        " but Volcano's JobFlows"
    )
    assert api.sent("POST") == []


async def test_a_name_that_is_taken(user: UserOfCluster, api: FakeApi, tmp_path: Path) -> None:
    api.on("POST", FLOWS, refusal(409, "AlreadyExists", "exists", details={"name": "weekly", "kind": "jobflows"}))
    file = tmp_path / "flow.yaml"
    file.write_text(yaml.safe_dump(flow()), "utf-8")
    assert await user.is_refused("jobflow", "create", "-f", str(file)) == (
        "jobflow default/weekly exists already: choose another name, or `volcano-py jobflow delete` that one first"
    )


# -- seeing ----------------------------------------------------------------------------------------------------------


async def test_flows_are_listed_in_columns(user: UserOfCluster, api: FakeApi) -> None:
    broken = flow("zombie")
    broken["spec"]["flows"] = "none"
    new = flow("new")
    del new["status"]
    failed = flow("nightly", "Failed", "web")
    failed["status"] |= {"failedJobs": ["nightly-a"], "terminatedJobs": ["nightly-b"]}
    api.on("GET", f"{API}/jobflows", page(7, broken, flow(), failed, new))
    assert lines(await user.prints("jobflow", "list", "--all-namespaces")) == [
        "NAMESPACE  NAME     PHASE       JOBS  PENDING  RUNNING  COMPLETED  FAILED  AGE",
        "default    new      -              3        0        0          0       0  -",
        "default    weekly   Running        3        0        1          1       0  -",
        "default    zombie   Unreadable     -        -        -          -       -  -",
        "web        nightly  Failed         3        0        1          1       2  -",
    ]


async def test_templates_are_listed_in_columns(user: UserOfCluster, api: FakeApi) -> None:
    broken = template("zombie")
    broken["spec"]["tasks"] = 3
    api.on("GET", TEMPLATES, page(7, template(), template("fetch", queue="", minAvailable=2), broken))
    assert lines(await user.prints("jobtemplate", "list")) == [
        "NAMESPACE  NAME    QUEUE     TASKS  REPLICAS  MIN  JOBS  AGE",
        "default    fetch   -             2         5    2     1  -",
        "default    train   research      2         5    3     1  -",
        "default    zombie  -             -         -    -     -  Unreadable",
    ]


@BOTH
async def test_one_of_them_is_a_row_or_as_the_server_has_it(
    user: UserOfCluster, api: FakeApi, verb: str, path: str
) -> None:
    obj = flow("a") if verb == "jobflow" else template("a")
    api.on("GET", f"{path}/a", found(obj))
    header, row = lines(await user.prints(verb, "get", "--name", "a"))
    assert (header.split()[:2], row.split()[:2]) == (["NAMESPACE", "NAME"], ["default", "a"])
    del obj["metadata"]["managedFields"]
    assert orjson.loads(await user.prints(verb, "get", "-N", "a", "-o", "json")) == obj
    assert yaml.safe_load(await user.prints(verb, "describe", "-N", "a", "-o", "yaml")) == obj


async def test_a_flow_is_described_with_its_steps_and_events(user: UserOfCluster, api: FakeApi) -> None:
    reported = {"type": "Normal", "reason": "Created", "message": "Job weekly-train was created", "metadata": {}}
    api.on("GET", f"{FLOWS}/weekly", found(flow(jobRetainPolicy="delete")))
    api.on("GET", EVENTS, Reply(body={"items": [{**reported, "lastTimestamp": "2999-01-01T00:00:00Z"}]}))
    assert lines(await user.prints("jobflow", "describe", "--name", "weekly")) == [
        "Name:           weekly",
        "Namespace:      default",
        "Age:            -",
        "Phase:          Running",
        "Retain policy:  delete",
        "",
        "STEP     AFTER                   JOB             PHASE      RETRIES  SINCE",
        "prepare  -                       weekly-prepare  Completed        0  -",
        "train    prepare                 weekly-train    Running          2  0s",
        "watch    prepare, train (probe)  -               -                -  -",
        "",
        "EVENT   REASON   AGE  TIMES  MESSAGE",
        "Normal  Created  0s       1  Job weekly-train was created",
    ]
    (asked,) = api.sent("GET", EVENTS)
    assert asked.query == {"fieldSelector": "involvedObject.kind=JobFlow,involvedObject.uid=uid-weekly"}


async def test_templates_are_described_one_after_the_other(user: UserOfCluster, api: FakeApi) -> None:
    plain = template("fetch", queue="", plugins={"svc": [], "env": []})
    plain["status"] = {}
    api.on("GET", TEMPLATES, page(7, template(), plain))
    api.on("GET", EVENTS, Reply(body={"items": []}))
    assert lines(await user.prints("jobtemplate", "describe")) == [
        "Name:       fetch",
        "Namespace:  default",
        "Age:        -",
        "Plugins:    env, svc",
        "Pods:       5 wanted, 3 needed",
        "Jobs:       none yet",
        "",
        "TASK      REPLICAS  MIN",
        "server           1    1",
        "default1         4    2",
        "",
        "Events: none",
        "",
        "",
        "Name:       train",
        "Namespace:  default",
        "Age:        -",
        "Queue:      research",
        "Pods:       5 wanted, 3 needed",
        "Jobs:       weekly-train",
        "",
        "TASK      REPLICAS  MIN",
        "server           1    1",
        "default1         4    2",
        "",
        "Events: none",
    ]
    several = orjson.loads(await user.prints("jobtemplate", "describe", "-o", "json"))
    assert (several["kind"], [each["metadata"]["name"] for each in several["items"]]) == ("List", ["fetch", "train"])


@BOTH
async def test_a_missing_one_is_reported(user: UserOfCluster, api: FakeApi, verb: str, path: str) -> None:
    api.on("GET", path, page(7))
    kind = "JobFlow" if verb == "jobflow" else "JobTemplate"
    for seeing in ("list", "describe"):
        result = await user.run(verb, seeing)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"There is no {kind} to show.\n")


async def test_one_that_cannot_be_read_is_reported_with_the_field(user: UserOfCluster, api: FakeApi) -> None:
    broken = flow("zombie", flows="none")
    api.on("GET", f"{FLOWS}/zombie", found(broken))
    api.on("GET", EVENTS, Reply(body={"items": []}))
    assert await user.is_refused("jobflow", "describe", "--name", "zombie") == (
        "jobflow default/zombie cannot be read: Expected `array`, got `str` - at `$.spec.flows`; --output yaml shows it"
        " as it is"
    )
    assert yaml.safe_load(await user.prints("jobflow", "describe", "--name", "zombie", "-o", "yaml"))


@BOTH
async def test_a_watch_goes_on_with_what_changes(user: UserOfCluster, api: FakeApi, verb: str, path: str) -> None:
    """The server ends it by refusing the next watch."""
    before = flow("a", "Pending") if verb == "jobflow" else template("a")
    after = flow("a", "Running") if verb == "jobflow" else template("a", queue="other")
    api.on("GET", path, page(7, before))
    listing = asyncio.create_task(user.run(verb, "list", "--watch"))
    watch = await api.watch()
    await watch.send("MODIFIED", after)
    await watch.send("DELETED", after)
    api.refuse_watch(refusal(403, "Forbidden", "no more"))
    watch.end()
    rows = lines((await listing).stdout)
    assert [row.split()[1:3] for row in rows[1:3]] == (
        [["a", "Pending"], ["a", "Running"]] if verb == "jobflow" else [["a", "research"], ["a", "other"]]
    )
    assert "Deleted" in rows[3]


# -- deleting --------------------------------------------------------------------------------------------------------


@BOTH
async def test_one_is_deleted_by_name(user: UserOfCluster, api: FakeApi, verb: str, path: str) -> None:
    api.on("DELETE", f"{path}/a", Reply())
    assert await user.prints(verb, "delete", "--name", "a") == f"{verb} default/a deleted\n"


async def test_those_of_a_manifest_are_deleted_and_the_missing_ones_reported(
    user: UserOfCluster, api: FakeApi, tmp_path: Path
) -> None:
    api.on("DELETE", f"{FLOWS}/a", is_missing("jobflows", "a"))
    api.on("DELETE", f"{FLOWS}/b", Reply())
    file = tmp_path / "flows.yaml"
    file.write_text(yaml.safe_dump_all([flow("a"), flow("b")]), "utf-8")
    result = await user.run("jobflow", "delete", "-f", str(file))
    assert (result.exit_code, result.stdout, result.stderr) == (
        1,
        "jobflow default/b deleted\n",
        (
            "Error: jobflow default/a does not exist: `volcano-py jobflow list --namespace default` shows those that"
            " do\n"
        ),
    )


@pytest.mark.parametrize("metadata", [{"name": "../x"}, {"name": 7}, {"generateName": "a-"}])
async def test_what_is_no_name_is_not_put_into_a_path(
    user: UserOfCluster, api: FakeApi, tmp_path: Path, metadata: dict[str, Any]
) -> None:
    file = tmp_path / "flows.yaml"
    file.write_text(yaml.safe_dump(flow() | {"metadata": metadata}), "utf-8")
    assert "metadata.name is" in await user.is_refused("jobflow", "delete", "-f", str(file))
    assert api.sent("DELETE") == []


@pytest.mark.parametrize("arguments", [[], ["a", "-f", "a.yaml"]])
async def test_the_target_of_delete_is_given_in_one_way(user: UserOfCluster, arguments: list[str]) -> None:
    result = await user.run("jobflow", "delete", *arguments)
    assert result.exit_code == 2
    assert result.stderr.endswith("Error: name the JobFlow, or its manifest with --filename, but not both\n")


# -- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seeing", ["get", "describe", "delete"])
@BOTH
async def test_one_that_does_not_exist(user: UserOfCluster, api: FakeApi, verb: str, path: str, seeing: str) -> None:
    for method in ("GET", "DELETE"):
        api.on(method, f"{path}/a", is_missing(f"{verb}s", "a"))
    assert await user.is_refused(verb, seeing, "--name", "a") == (
        f"{verb} default/a does not exist: `volcano-py {verb} list --namespace default` shows those that do"
    )


@BOTH
async def test_a_cluster_without_the_crd(user: UserOfCluster, api: FakeApi, verb: str, path: str) -> None:
    missing = refusal(404, "NotFound", "the server could not find the requested resource")
    for method, at in (("GET", path), ("GET", f"{path}/a"), ("DELETE", f"{path}/a")):
        api.on(method, at, missing)
    for seeing in (["list"], ["get", "-N", "a"], ["describe"], ["delete", "-N", "a"]):
        assert "kubectl apply -k crds" in await user.is_refused(verb, *seeing)


def test_the_short_flags_are_those_of_vcctl() -> None:
    """-N and -n for name and namespace, -f for a file, -o for the format."""
    for group in (jobflow, jobtemplate):
        short = {
            name: {option for param in verb.params for option in param.opts if len(option) == 2}
            for name, verb in group.commands.items()
        }
        assert {"-f", "-k"} <= short["create"]
        assert {"-n", "-k"} <= short["list"]
        assert {"-N", "-n", "-k"} <= short["get"]
        assert {"-N", "-n", "-o", "-k"} <= short["describe"]
        assert {"-N", "-n", "-f", "-k"} <= short["delete"]
