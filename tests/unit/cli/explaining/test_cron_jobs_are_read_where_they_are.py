"""`explain cronjob` reads the CronJob itself from the API server or from manifests; captures have none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.unit.capture.clusters import serve
from tests.unit.cli.cluster import UserOfCluster, found, is_missing
from tests.unit.cluster.fakes import page, refusal
from volcano_py.capture.file import written
from volcano_py.capture.manifests import of_manifests
from volcano_py.cli.main import main
from volcano_py.cluster.manifests import read_text

MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: CronJob
metadata: {name: nightly, uid: c1}
spec: {schedule: "0 3 * * *"}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: sweep}
spec: {schedule: "0 4 * * *", suspend: true}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: nightly-1
  ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: CronJob, name: nightly, uid: c1, controller: true}]
spec:
  minAvailable: 1
  tasks: [{name: main, replicas: 1, template: {spec: {containers: [{name: main, image: pause}]}}}]
"""
OF_VOLCANO = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/cronjobs/nightly"
OF_KUBERNETES = "/apis/batch/v1/namespaces/default/cronjobs/nightly"


def explained(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments, "--from", str(path)])


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(MANIFESTS, encoding="utf-8")
    return path


@pytest.mark.parametrize("spelling", ["cronjob", "cronjobs", "cj", "cronvcjob", "cronvj", "CronJob"])
def test_it_is_found_among_manifests_in_any_spelling_of_kubectl(spelling: str, manifests: Path) -> None:
    result = explained(manifests, f"{spelling}/nightly")
    assert result.exit_code == 0, result.output
    first, _, blank, job, *_ = result.output.splitlines()
    assert first == "default/nightly: Active, next run in 3h, at 2026-01-01T03:00:00Z"
    assert (blank, job) == ("", "default/nightly-1: Starting, 1 of 1 pod placed")


def test_that_of_kubernetes_is_found_too(manifests: Path) -> None:
    assert json.loads(explained(manifests, "cronjob", "sweep", "-o", "json").stdout) == {
        "name": "default/sweep",
        "state": "Suspended",
        "schedule": "0 4 * * *",
    }


@pytest.mark.parametrize("spelling", ["cronjob.batch", "cronjobs.batch", "cj.batch"])
def test_that_of_kubernetes_can_be_asked_for_where_both_have_the_name(spelling: str, manifests: Path) -> None:
    manifests.write_text(MANIFESTS.replace("name: sweep", "name: nightly"), encoding="utf-8")
    schedules = [explained(manifests, kind, "nightly").output.splitlines()[1] for kind in ("cronjob", spelling)]
    assert schedules == ["  Schedule 0 3 * * *", "  Schedule 0 4 * * *"]


def test_one_that_is_not_valid_is_an_error(manifests: Path) -> None:
    manifests.write_text(MANIFESTS.replace('schedule: "0 3 * * *"', "schedule: 3"), encoding="utf-8")
    result = explained(manifests, "cronjob", "nightly")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: CronJob default/nightly cannot be read: Expected `str`, got `int`")


def test_of_a_capture_its_jobs_are_known(tmp_path: Path) -> None:
    path = tmp_path / "cluster.capture"
    path.write_bytes(written(of_manifests(read_text(MANIFESTS, "cluster"))))
    lines = explained(path, "cronjob", "nightly").output.splitlines()
    assert lines[0] == "default/nightly: when it runs next is not known"
    assert "default/nightly-1: Starting, 1 of 1 pod placed" in lines
    assert (
        "  CronJob default/nightly not read: captures have no CronJobs; its Jobs are known, but not when the" in lines
    )


def served(user: UserOfCluster) -> None:
    """A cluster without anything that concerns the CronJob."""
    serve(user.api)
    user.api.on("GET", "/api/v1/namespaces/default/events", page(8))


def answer(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "nightly", "namespace": "default"}, "spec": {"schedule": "0 3 * * *", **spec}}


@pytest.mark.real_time
async def test_on_a_cluster_volcanos_comes_first(user: UserOfCluster) -> None:
    served(user)
    user.api.on("GET", OF_VOLCANO, found(answer(suspend=True)))
    user.api.on("GET", OF_KUBERNETES, found(answer()))
    (first, *_) = (await user.prints("explain", "cronjob", "nightly", "-n", "default")).splitlines()
    assert first == "default/nightly: Suspended, no next run: spec.suspend is true"


@pytest.mark.real_time
async def test_on_a_cluster_that_of_kubernetes_is_found_where_volcano_has_none(user: UserOfCluster) -> None:
    served(user)
    user.api.on("GET", OF_VOLCANO, is_missing("cronjobs", "nightly"))
    user.api.on("GET", OF_KUBERNETES, found(answer()))
    (first, *_) = (await user.prints("explain", "cronjob", "nightly", "-n", "default")).splitlines()
    assert first.startswith("default/nightly: Active, next run in ")


@pytest.mark.real_time
async def test_one_that_may_not_be_read_and_has_no_jobs_is_not_there(user: UserOfCluster) -> None:
    served(user)
    user.api.on("GET", OF_VOLCANO, refusal(403, "Forbidden", 'cronjobs is forbidden: User "dev" cannot get them'))
    user.api.on("GET", OF_KUBERNETES, is_missing("cronjobs", "nightly"))
    unread, error = (await user.is_refused("explain", "cronjob", "nightly", "-n", "default")).splitlines()
    assert unread.startswith('CronJob default/nightly not read: cronjobs is forbidden: User "dev" cannot get them')
    assert error.startswith("Error: cronjob default/nightly does not exist, or you may not read it")
