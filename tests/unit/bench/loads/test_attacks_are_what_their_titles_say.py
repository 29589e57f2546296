"""Each attack of `--load tenants` is as large as its title says, and small enough for an API server to take."""

from __future__ import annotations

from itertools import chain, islice
from typing import Any

import msgspec
import orjson
import pytest

from volcano_py.api import names
from volcano_py.api.objects import Pod, PodGroup
from volcano_py.bench.loads.attacks import ATTACKS, Manifest
from volcano_py.bench.loads.controls import OTHER_SCHEDULER, without_scheduler
from volcano_py.jobs.model import VolcanoJob

NODES = 10
KINDS = {"Pod": Pod, "PodGroup": PodGroup, "Job": VolcanoJob}
# What etcd takes in one request by default.
LARGEST = 1.5 * 2**20


def objects(name: str) -> list[Manifest]:
    return list(ATTACKS[name].objects(NODES))


@pytest.mark.parametrize("name", ATTACKS)
def test_every_object_can_be_read_and_has_a_name_of_its_own(name: str) -> None:
    made = objects(name)
    assert len({(each["kind"], each["metadata"]["name"]) for each in made}) == len(made)
    for each in made:
        text = orjson.dumps(each)
        assert len(text) < LARGEST
        msgspec.json.decode(text, type=KINDS[each["kind"]])


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.edits is not None])
def test_edits_are_of_objects_that_exist_and_no_two_of_one_object_are_alike(name: str) -> None:
    attack = ATTACKS[name]
    made = {(each["kind"], each["metadata"]["name"]) for each in objects(name)}
    assert attack.edits is not None
    edits = list(islice(attack.edits(), 1200))
    assert {(each.kind, each.name) for each in edits} <= made
    assert len({orjson.dumps((each.name, each.patch)) for each in edits}) == len(edits)
    assert attack.edits_per_second > 0


def test_a_task_depends_on_those_before_it() -> None:
    (job,) = objects("dependencies")
    tasks = job["spec"]["tasks"]
    assert len(tasks) == 1000
    assert "dependsOn" not in tasks[0]
    assert tasks[1]["dependsOn"]["name"] == ["t0"]
    assert tasks[999]["dependsOn"]["name"] == [f"t{number}" for number in range(879, 999)]


def test_no_two_soft_terms_are_alike_and_each_matches_every_pod() -> None:
    pods = objects("soft-terms")
    path = ("spec", "affinity", "podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    terms: list[Manifest] = []
    for pod in pods:
        found: Any = pod
        for step in path:
            found = found[step]
        terms += found
    keys = {term["podAffinityTerm"]["labelSelector"]["matchExpressions"][0]["key"] for term in terms}
    assert (len(pods), len(keys)) == (50, 2500)
    assert not any(keys & pod["metadata"]["labels"].keys() for pod in pods)


def test_each_pod_has_a_spread_of_its_own_which_counts_the_pod_itself() -> None:
    _, *pods = objects("spreads")
    for pod in pods:
        (spread,) = pod["spec"]["topologySpreadConstraints"]
        assert spread["labelSelector"]["matchLabels"] == pod["metadata"]["labels"]
    assert len({pod["metadata"]["labels"]["own"] for pod in pods}) == 1000


@pytest.mark.parametrize(("name", "count"), [("misfits", 2000), ("misfits-5000", 5000)])
def test_misfits_have_a_selector_each(name: str, count: int) -> None:
    assert len({pod["spec"]["nodeSelector"]["nowhere"] for pod in objects(name)}) == count


def test_empty_groups_ask_for_more_than_the_cluster_with_each_step() -> None:
    asked = [int(each["spec"]["minResources"]["cpu"].removesuffix("m")) for each in objects("empty-groups")]
    for step in range(7):
        # What is left after the groups of one step is less than one of them: less than ten of the next.
        assert sum(asked[15 * step : 15 * step + 15]) > (NODES * 32_000 if step == 0 else asked[15 * step - 1])


def control(name: str) -> list[Manifest]:
    return list(chain.from_iterable(map(without_scheduler, objects(name))))


@pytest.mark.parametrize("name", ATTACKS)
def test_no_pod_of_a_control_is_ours_and_nothing_else_is_of_use_to_a_controller(name: str) -> None:
    made = control(name)
    assert {each["kind"] for each in made} <= {"Pod", "PodGroup"}
    assert {each["spec"]["schedulerName"] for each in made if each["kind"] == "Pod"} <= {OTHER_SCHEDULER}
    with_pods = {each["metadata"]["annotations"].get(names.GROUP_NAME) for each in made if each["kind"] == "Pod"}
    assert {each["metadata"]["name"] for each in made if each["kind"] == "PodGroup"} <= with_pods


@pytest.mark.parametrize("name", ["spreads", "misfits", "misfits-5000", "soft-terms", "status-flood"])
def test_a_control_of_pods_has_the_same_objects_but_for_the_scheduler(name: str) -> None:
    ours, others = objects(name), control(name)
    for mine, other in zip(ours, others, strict=True):
        if mine["kind"] == "Pod":
            assert other["spec"] | {"schedulerName": names.DEFAULT_SCHEDULER_NAME} == mine["spec"]
        assert other | {"spec": None} == mine | {"spec": None}


@pytest.mark.parametrize(("name", "pods", "groups"), [("small-jobs", 3000, 1500), ("dependencies", 1, 1)])
def test_a_control_of_jobs_has_what_their_controller_creates_at_first(name: str, pods: int, groups: int) -> None:
    kinds = [each["kind"] for each in control(name)]
    assert (kinds.count("Pod"), kinds.count("PodGroup")) == (pods, groups)
