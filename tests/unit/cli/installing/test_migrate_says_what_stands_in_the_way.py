"""`volcano-py migrate` as a user runs it: on files, and on an API server that allows some things and not others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click.testing
import pytest

from tests.unit.cli.cluster import user_of_cluster
from tests.unit.cluster.fakes import Reply, refusal
from tests.unit.migrate.stock import STOCK, Stock
from volcano_py.cli.installing.migrate import BLOCKED
from volcano_py.cli.main import main
from volcano_py.migrate.model import Raw

LISTS = {
    "/apis/apps/v1/deployments": "Deployment",
    "/api/v1/namespaces/volcano-system/configmaps": "ConfigMap",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def run(*arguments: str) -> click.testing.Result:
    return click.testing.CliRunner().invoke(main, ["migrate", *arguments])


def items(objects: list[Raw]) -> Reply:
    """A list as the API server writes it: its items do not say what they are."""
    return Reply(body={"metadata": {"resourceVersion": "1"}, "items": [{**each, "kind": None} for each in objects]})


def test_what_blocks_is_in_the_exit_status() -> None:
    result = run("check", "--filename", str(STOCK))
    assert result.exit_code == BLOCKED
    assert result.output.startswith("Blocks\n")
    assert result.output.endswith("1 finding blocks the move.\n")


def test_nothing_blocks_once_the_other_is_stopped(tmp_path: Path) -> None:
    file = tmp_path / "volcano.yaml"
    file.write_text(STOCK.read_text(encoding="utf-8").replace("replicas: 1", "replicas: 0", 1), encoding="utf-8")
    result = run("check", "--filename", str(file))
    assert result.exit_code == 0, result.output
    assert result.output.endswith("Nothing blocks: volcano-py migrate plan prints the steps.\n")


@pytest.mark.parametrize("verb", ["check", "plan"])
def test_programs_get_json(verb: str) -> None:
    data: dict[str, Any] = json.loads(run(verb, "--filename", str(STOCK), "--output", "json").output)
    if verb == "check":
        assert {"level", "about", "message", "fix", "page"} == set(data["findings"][0])
        assert data["findings"][0]["level"] == "blocks"
        assert {"what": "Queue", "why": "there is none in the files"} in data["unread"]
    else:
        assert data.keys() == {"there", "back"}
        assert "kubectl -n volcano-system scale deployment volcano-py --replicas=2" in data["there"][-1]["commands"]


def test_kubernetes_own_jobs_are_not_taken_for_volcanos(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {completions: 3}\n", encoding="utf-8")
    assert "Job" in {each["what"] for each in json.loads(run("check", "-f", str(file), "-o", "json").output)["unread"]}


def test_a_file_or_a_cluster() -> None:
    result = run("check", "--filename", str(STOCK), "--context", "prod")
    assert result.exit_code == 2
    assert "leave them out with --filename" in result.output


async def test_a_cluster_is_read_with_what_the_user_may_see(tmp_path: Path) -> None:
    stock = Stock()
    async with user_of_cluster(tmp_path) as user:
        for path, kind in LISTS.items():
            user.api.on("GET", path, items([each for each in stock.objects if each["kind"] == kind]))
        user.api.on("GET", "/api/v1/configmaps", items([]))
        for each in stock.objects:
            if each["kind"] == "CustomResourceDefinition":
                user.api.on("GET", f"{CRDS}/{each['metadata']['name']}", Reply(body=each))
        forbidden = refusal(403, "Forbidden", "podgroups is forbidden")
        user.api.on("GET", "/apis/scheduling.volcano.sh/v1beta1/podgroups", forbidden)
        result = await user.run("migrate", "check", "--no-jobs", "--output", "json")
        assert result.exit_code == BLOCKED, result.output
        assert not [request for request in user.api.requests if request.method != "GET"], "nothing is written"
    data = json.loads(result.stdout)
    assert [each["about"] for each in data["findings"] if each["level"] == "blocks"] == [
        "Deployment volcano-system/volcano-scheduler"
    ]
    assert data["unread"] == [{"what": "PodGroup", "why": "podgroups is forbidden"}]
