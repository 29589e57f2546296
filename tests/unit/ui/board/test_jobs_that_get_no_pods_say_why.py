"""The status of a Volcano Job says what the API server refuses, or what is wrong with the Job: so does the page."""

from __future__ import annotations

from typing import Final

import pytest

from tests.unit.ui.cluster import OBJECTS, board, board_of, cluster
from volcano_py.cluster.manifests import VOLCANO_JOB
from volcano_py.jobs.model import VolcanoJob
from volcano_py.ui.answers import Answers
from volcano_py.ui.board.model import JobRow, QueueRow, Tables
from volcano_py.ui.rights.sight import EVENTS, EVERYTHING, JOBS, POD_GROUPS, PODS, Sight
from volcano_py.ui.rights.tables import shown

TEMPLATE: Final = "{spec: {containers: [{name: c, image: pause, resources: {requests: {cpu: '1'}}}]}}"
INVALID: Final = f"""
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: invalid, namespace: team, uid: u1}}
spec: {{queue: vision, minAvailable: 5, tasks: [{{name: w, replicas: 3, template: {TEMPLATE}}}]}}
status: {{state: {{phase: Pending, reason: InvalidJob, message: "spec.minAvailable: 5 is more than 3"}}}}
"""
REFUSED: Final = f"""
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: refused, namespace: team, uid: u2}}
spec: {{queue: vision, minAvailable: 1, tasks: [{{name: w, replicas: 1, template: {TEMPLATE}}}]}}
status: {{state: {{phase: Pending, reason: FailedCreate, message: "403 Forbidden: exceeded quota"}}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: refused-u2
  namespace: team
  ownerReferences: [{{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: refused, uid: u2, controller: true}}]
spec: {{minMember: 1, queue: vision}}
status: {{phase: Inqueue}}
"""
POD: Final = """
---
apiVersion: v1
kind: Pod
metadata: {name: refused-w-0, namespace: team, annotations: {scheduling.k8s.io/group-name: refused-u2}}
spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: "64"}}}]}
status: {phase: Pending}
"""


def job_row(tables: Tables, key: str) -> JobRow:
    row = tables["jobs"][key]
    assert isinstance(row, JobRow)
    return row


def test_a_job_without_a_pod_group_is_listed_with_its_reason() -> None:
    tables = board(OBJECTS + INVALID)
    row = job_row(tables, "team/invalid-u1")
    assert (row.owner, row.state, row.reason) == ("Job invalid", "Waiting", "InvalidJob")
    assert (row.message, row.minimum, row.has_group) == ("spec.minAvailable: 5 is more than 3", 5, False)
    vision, before = tables["queues"]["vision"], board()["queues"]["vision"]
    assert isinstance(vision, QueueRow)
    assert isinstance(before, QueueRow)
    assert vision.waiting == before.waiting + 1


OF_AN_OPERATOR: Final = """
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: serve-0
  namespace: team
  ownerReferences: [{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: serve, controller: true}]
spec: {minMember: 1, queue: vision}
"""


def test_only_a_pod_group_with_a_uid_in_its_name_has_that_of_its_owner() -> None:
    """An operator may have several PodGroups for one owner: these keep their names, as in the tables of verbs."""
    tables = board(OBJECTS + REFUSED + OF_AN_OPERATOR)
    assert job_row(tables, "team/refused-u2").owner == "Job refused"
    assert job_row(tables, "team/serve-0").owner == ""


def test_a_pod_group_whose_pods_are_refused_says_what_the_api_server_says() -> None:
    row = job_row(board(OBJECTS + REFUSED), "team/refused-u2")
    assert (row.reason, row.message, row.has_group) == ("FailedCreate", "403 Forbidden: exceeded quota", True)


def test_a_pod_group_that_has_its_pods_says_why_these_wait() -> None:
    assert job_row(board(OBJECTS + REFUSED + POD), "team/refused-u2").reason == "NeverFits"


def test_a_job_that_is_corrected_or_deleted_is_gone() -> None:
    seen = cluster(OBJECTS + INVALID + REFUSED)
    invalid, refused = sorted(seen.objects(VOLCANO_JOB, VolcanoJob), key=lambda job: job.metadata.name)
    seen.delete(VOLCANO_JOB, invalid)
    assert "team/invalid-u1" not in board_of(seen)["jobs"]
    seen.replace(VOLCANO_JOB, [])
    assert job_row(board_of(seen), "team/refused-u2").reason == "NotEnoughTasks"
    seen.upsert(VOLCANO_JOB, refused)
    assert job_row(board_of(seen), "team/refused-u2").reason == "FailedCreate"


@pytest.mark.parametrize("rights", [(POD_GROUPS, PODS, EVENTS), (POD_GROUPS, PODS, JOBS)])
def test_one_without_a_pod_group_takes_the_right_to_list_jobs(rights: tuple[str, ...]) -> None:
    found = shown(board(OBJECTS + INVALID), Sight(inside=dict.fromkeys(rights, frozenset({"team"}))), frozenset())
    assert ("team/invalid-u1" in found["jobs"]) == (JOBS in rights)


@pytest.mark.real_time  # answers are worked out in a thread
async def test_it_is_explained_by_the_name_that_its_pod_group_would_have() -> None:
    answer = await Answers(cluster(OBJECTS + INVALID)).explain("podgroup", "team/invalid-u1", EVERYTHING)
    assert answer["now"]["reason"] == "InvalidJob"
