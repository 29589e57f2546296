"""The definitions of CronJobs, JobFlows and JobTemplates: every field users of Volcano know, typed and explained.

What an API server makes of them is seen in e2e/.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.manifests.crds import refresh
from tests.unit.manifests.crds.schemas import Find, Node, nodes, rules_of, schema, version

CRON, FLOW, TEMPLATE = "cronjobs.batch.volcano.sh", "jobflows.flow.volcano.sh", "jobtemplates.flow.volcano.sh"
EACH = pytest.mark.parametrize("name", [CRON, FLOW, TEMPLATE])

# Dotted path → type; `[]` steps into a list's items, `{}` into a map's values. The spec of a Job is left out.
FIELDS = {
    CRON: {
        "spec.schedule": "string",
        "spec.timeZone": "string",
        "spec.startingDeadlineSeconds": "integer",
        "spec.concurrencyPolicy": "string",
        "spec.suspend": "boolean",
        "spec.jobTemplate.metadata.labels{}": "string",
        "spec.jobTemplate.metadata.annotations{}": "string",
        "spec.successfulJobsHistoryLimit": "integer",
        "spec.failedJobsHistoryLimit": "integer",
        **{f"status.active[].{field}": "string" for field in (
            "apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"
        )},
        "status.lastScheduleTime": "string",
        "status.lastSuccessfulTime": "string",
    },
    FLOW: {
        "spec.jobRetainPolicy": "string",
        "spec.flows[].name": "string",
        "spec.flows[].dependsOn.targets[]": "string",
        "spec.flows[].dependsOn.probe.httpGetList[].taskName": "string",
        "spec.flows[].dependsOn.probe.httpGetList[].path": "string",
        "spec.flows[].dependsOn.probe.httpGetList[].port": "integer",
        "spec.flows[].dependsOn.probe.httpGetList[].httpHeader.name": "string",
        "spec.flows[].dependsOn.probe.httpGetList[].httpHeader.value": "string",
        "spec.flows[].dependsOn.probe.tcpSocketList[].taskName": "string",
        "spec.flows[].dependsOn.probe.tcpSocketList[].port": "integer",
        "spec.flows[].dependsOn.probe.taskStatusList[].taskName": "string",
        "spec.flows[].dependsOn.probe.taskStatusList[].phase": "string",
        "spec.flows[].patch.jobSpec": "object",
        **{f"status.{field}[]": "string" for field in (
            "pendingJobs", "runningJobs", "failedJobs", "completedJobs", "terminatedJobs", "unKnowJobs"
        )},
        "status.jobStatusList[].name": "string",
        "status.jobStatusList[].state": "string",
        "status.jobStatusList[].startTimestamp": "string",
        "status.jobStatusList[].endTimestamp": "string",
        "status.jobStatusList[].restartCount": "integer",
        "status.jobStatusList[].runningHistories[].startTimestamp": "string",
        "status.jobStatusList[].runningHistories[].endTimestamp": "string",
        "status.jobStatusList[].runningHistories[].state": "string",
        "status.conditions{}.phase": "string",
        "status.conditions{}.createTime": "string",
        "status.conditions{}.runningDuration": "string",
        "status.conditions{}.taskStatusCount{}.phase{}": "integer",
        "status.state.phase": "string",
    },
    TEMPLATE: {"status.jobDependsOnList[]": "string"},
}  # fmt: skip
JOB_SPEC = {CRON: "spec.jobTemplate.spec", TEMPLATE: "spec"}


@pytest.fixture(scope="session")
def definition(named: Find) -> Callable[[str], Node]:
    return lambda name: named("CustomResourceDefinition", name)


@EACH
def test_every_field_is_declared_with_its_type_and_no_other(definition: Callable[[str], Node], name: str) -> None:
    found = {
        path: node["type"]
        for path, node in nodes(schema(definition(name)), without=JOB_SPEC.get(name, ""))
        if not {"properties", "items", "additionalProperties"} & set(node) and path not in ("apiVersion", "kind")
    }
    assert found == FIELDS[name]


@EACH
def test_every_node_has_a_type_and_an_explanation(definition: Callable[[str], Node], name: str) -> None:
    for path, node in nodes(schema(definition(name))):
        assert node["type"] in {"object", "array", "string", "integer", "boolean"}, path
        assert node["description"].endswith("."), path
        assert not {"anyOf", "oneOf", "not", "$ref"} & set(node), path
        is_open = node.get("x-kubernetes-preserve-unknown-fields", False)
        inner = bool({"properties", "additionalProperties"} & set(node))
        assert (node["type"] == "object") == (inner or is_open), path
        assert (node["type"] == "array") == ("items" in node), path


@EACH
def test_every_rule_says_in_words_what_to_do(definition: Callable[[str], Node], name: str) -> None:
    root = schema(definition(name))
    rules = [rule for node in (root, *(each for _, each in nodes(root))) for rule in rules_of(node)]
    assert rules
    for rule in rules:
        assert len(rule["message"]) > 30
        assert "\n" not in rule["message"]


@pytest.mark.parametrize("name", JOB_SPEC)
def test_what_describes_jobs_is_the_same_as_for_jobs(definition: Callable[[str], Node], name: str) -> None:
    node = schema(definition(name))
    for part in JOB_SPEC[name].split("."):
        node = node["properties"][part]
    job = schema(definition("jobs.batch.volcano.sh"))["properties"]["spec"]
    fix = "run .venv/bin/python -m tests.unit.manifests.crds.refresh"
    assert node["properties"] == job["properties"], fix


@pytest.mark.parametrize("name", refresh.EMBEDDING)
def test_the_copies_are_created_by_the_tool(name: str) -> None:
    text = (refresh.CRDS / name).read_text()
    assert refresh.refreshed(text) == text
    outdated = text.replace("One argument.", "Outdated.", 1)
    assert outdated != text
    assert refresh.refreshed(outdated) == text


def test_names_are_those_users_type(definition: Callable[[str], Node]) -> None:
    shorts = {CRON: ["cronvcjob", "cronvj"], FLOW: ["jf"], TEMPLATE: ["jt"]}
    kinds = {CRON: "CronJob", FLOW: "JobFlow", TEMPLATE: "JobTemplate"}
    for name, short in shorts.items():
        spec = definition(name)["spec"]
        plural, _, group = name.partition(".")
        assert (spec["group"], spec["scope"], version(definition(name))["name"]) == (group, "Namespaced", "v1alpha1")
        assert spec["names"] == {
            "kind": kinds[name], "listKind": f"{kinds[name]}List", "plural": plural, "singular": kinds[name].lower(),
            "shortNames": short,
        }  # fmt: skip
        assert version(definition(name))["subresources"] == {"status": {}}


def test_columns_show_fields_that_exist(definition: Callable[[str], Node]) -> None:
    for name in (CRON, FLOW, TEMPLATE):
        known = dict(nodes(schema(definition(name))))
        for column in version(definition(name))["additionalPrinterColumns"]:
            path = column["jsonPath"].removeprefix(".")
            if path != "metadata.creationTimestamp":
                is_list = known[path]["type"] == "array"
                expected = "date" if known[path].get("format") == "date-time" else known[path]["type"]
                assert column["type"] == ("string" if is_list else expected), column["name"]
    flow = version(definition(FLOW))["additionalPrinterColumns"]
    assert [each["name"] for each in flow[:2]] == ["Status", "Age"]


@pytest.mark.parametrize(
    ("name", "path", "constraints"),
    [
        (CRON, "spec.concurrencyPolicy", {"enum": ["Allow", "Forbid", "Replace"], "default": "Allow"}),
        (CRON, "spec.suspend", {"default": False}),
        (CRON, "spec.successfulJobsHistoryLimit", {"default": 3, "minimum": 0}),
        (CRON, "spec.failedJobsHistoryLimit", {"default": 1, "minimum": 0}),
        (CRON, "spec.startingDeadlineSeconds", {"minimum": 0, "format": "int64"}),
        (FLOW, "spec.jobRetainPolicy", {"enum": ["retain", "delete"]}),
        # With keys, the API server would refuse a flow that names a step twice; in Volcano it runs.
        (FLOW, "spec.flows", {"type": "array", "x-kubernetes-list-type": None, "x-kubernetes-list-map-keys": None}),
        (FLOW, "spec.flows[].dependsOn.probe.tcpSocketList[].port", {"minimum": 0, "maximum": 65535}),
        (FLOW, "status.state.phase", {"enum": ["Succeed", "Terminating", "Failed", "Running", "Pending"]}),
    ],
)
def test_limits_and_defaults_are_volcanos(
    definition: Callable[[str], Node], name: str, path: str, constraints: dict[str, object]
) -> None:
    node = dict(nodes(schema(definition(name))))[path]
    assert {key: node.get(key) for key in constraints} == constraints
