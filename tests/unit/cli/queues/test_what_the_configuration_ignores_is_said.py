"""`queue create`, `get`, `tree`, `simulate` and `config check --live` say which fields of queues have no effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from tests.unit.cli.cluster import SCHEDULING, UserOfCluster, found, queue
from tests.unit.cluster.fakes import Reply, page, refusal
from volcano_py.cli.main import main

QUEUES = f"{SCHEDULING}/queues"
CONFIG_MAP = "/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap"
FLAT = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: proportion}]
"""
IN_A_TREE = FLAT.replace("name: proportion", "name: proportion, enableHierarchy: true")
PARENT = (
    "spec.parent (dept) has no effect on shares and limits: "
    "proportion treats all queues as siblings; set enableHierarchy: true for "
    "proportion"
)
DESERVED = (
    "spec.deserved (cpu 4) has no effect: proportion divides by spec.weight; configure capacity in its place, or "
    "remove the field"
)


def configured(user: UserOfCluster, text: str) -> None:
    data = {"volcano-scheduler.conf": text}
    user.api.on("GET", CONFIG_MAP, found({"metadata": {"name": "volcano-scheduler-configmap"}, "data": data}))


def with_condition(status: str, message: str) -> dict[str, Any]:
    return queue(
        "a",
        parent="dept",
        status={"conditions": [{"type": "FieldsIgnored", "status": status, "reason": "r", "message": message}]},
    )


# -- create ---------------------------------------------------------------------------------------------------------


async def create(user: UserOfCluster, *arguments: str) -> str:
    """What it says beside the output."""
    user.api.on("GET", f"{QUEUES}/dept", found(queue("dept")))
    user.api.on("POST", QUEUES, Reply(201))
    result = await user.run("queue", "create", "--name", "a", *arguments)
    assert (result.exit_code, result.stdout) == (0, "queue a created\n"), result.output
    return result.stderr


async def test_create_says_what_has_no_effect(user: UserOfCluster) -> None:
    configured(user, FLAT)
    said = await create(user, "--parent", "dept", "--deserved", "cpu=4")
    assert said == f"queue a: {PARENT}\nqueue a: {DESERVED}\n"


async def test_create_says_nothing_where_it_has(user: UserOfCluster) -> None:
    configured(user, IN_A_TREE)
    assert await create(user, "--parent", "dept") == ""


async def test_create_says_where_devices_are_not_limited(user: UserOfCluster) -> None:
    configured(user, FLAT)
    assert await create(user, "--capability", "deviceclass/gpu=4") == (
        "queue a: spec.capability.deviceclass/… (deviceclass/gpu 4) has no effect: proportion limits no devices; "
        "configure capacity in its place, or remove the limit\n"
    )


async def test_create_reads_no_configuration_for_a_queue_that_no_plugin_could_ignore(user: UserOfCluster) -> None:
    assert await create(user, "--weight", "3", "--capability", "cpu=4") == ""
    assert not user.api.sent("GET", CONFIG_MAP)


MISNAMED = 'spec.capability.cpus (4) has no effect: no resource has this name (did you mean "cpu"?)'


async def test_create_says_without_any_configuration_which_resources_do_not_exist(user: UserOfCluster) -> None:
    assert await create(user, "--capability", "cpus=4") == f"queue a: {MISNAMED}\n"
    assert not user.api.sent("GET", CONFIG_MAP)
    user.api.on("GET", CONFIG_MAP, refusal(403, "Forbidden", "no"))
    assert await create(user, "--parent", "dept", "--capability", "cpus=4") == f"queue a: {MISNAMED}\n"


async def test_create_says_nothing_to_whoever_may_not_read_the_configuration(user: UserOfCluster) -> None:
    user.api.on("GET", CONFIG_MAP, refusal(403, "Forbidden", "no"))
    assert await create(user, "--parent", "dept") == ""


# -- get ------------------------------------------------------------------------------------------------------------


async def test_get_shows_what_the_scheduler_has_written(user: UserOfCluster) -> None:
    user.api.on("GET", f"{QUEUES}/a", found(with_condition("True", PARENT)))
    assert (await user.prints("queue", "get", "--name", "a")).endswith(f"\n\n{PARENT}\n")
    assert not user.api.sent("GET", CONFIG_MAP)


async def test_get_shows_nothing_of_what_is_over(user: UserOfCluster) -> None:
    user.api.on("GET", f"{QUEUES}/a", found(with_condition("False", "")))
    assert "no effect" not in await user.prints("queue", "get", "--name", "a")


async def test_get_works_it_out_where_the_queue_has_no_conditions(user: UserOfCluster) -> None:
    configured(user, FLAT)
    user.api.on("GET", f"{QUEUES}/a", found(queue("a", parent="dept")))
    assert (await user.prints("queue", "get", "--name", "a")).endswith(f"\n\n{PARENT}\n")


# -- tree -----------------------------------------------------------------------------------------------------------

MANIFESTS = """
{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 16, memory: 64Gi, pods: 110}}}
---
{kind: Queue, metadata: {name: dept}, spec: {}}
---
{kind: Queue, metadata: {name: a}, spec: {parent: dept}}
---
{kind: Queue, metadata: {name: b}, spec: {parent: dept, deserved: {cpu: 4}}}
"""


def tree(folder: Path, configuration: str, *arguments: str) -> str:
    (folder / "objects.yaml").write_text(MANIFESTS, encoding="utf-8")
    (folder / "some.conf").write_text(configuration, encoding="utf-8")
    files = ["-f", str(folder / "objects.yaml"), "--scheduler-conf", str(folder / "some.conf")]
    result = CliRunner().invoke(main, ["queue", "tree", *files, *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_tree_lists_it_once_for_all_queues_that_it_holds_for(tmp_path: Path) -> None:
    drawn = " ".join(tree(tmp_path, FLAT).split())
    assert drawn.endswith(f"left of what the queue may have queues a, b: {PARENT} queue b: {DESERVED}")


def test_the_tree_of_a_configuration_that_reads_all_lists_nothing(tmp_path: Path) -> None:
    assert "spec.parent" not in tree(tmp_path, IN_A_TREE)


def test_the_tree_says_it_to_programs(tmp_path: Path) -> None:
    said = {each["name"]: each.get("ignored") for each in orjson.loads(tree(tmp_path, FLAT, "-o", "json"))["queues"]}
    assert said == {"root": None, "default": None, "dept": None, "a": [PARENT], "b": [PARENT, DESERVED]}


# -- config check ---------------------------------------------------------------------------------------------------


async def test_the_clusters_configuration_is_checked_against_its_queues(user: UserOfCluster) -> None:
    configured(user, FLAT)
    user.api.on("GET", QUEUES, page(7, queue("root"), queue("dept"), queue("a", parent="dept")))
    assert await user.prints("config", "check", "--live") == (
        f"ConfigMap volcano-system/volcano-scheduler-configmap: valid\nqueue a: {PARENT}\n"
    )
    said = orjson.loads(await user.prints("config", "check", "--live", "-o", "json"))
    assert said["valid"] is True
    assert said["queues"] == [{"name": "a", "field": "spec.parent", "message": PARENT}]


async def test_a_file_is_checked_against_the_clusters_queues_before_it_is_applied(
    user: UserOfCluster, tmp_path: Path
) -> None:
    file = tmp_path / "some.conf"
    file.write_text(IN_A_TREE, encoding="utf-8")
    user.api.on("GET", QUEUES, page(7, queue("a", parent="dept")))
    assert await user.prints("config", "check", "--live", str(file)) == (
        f"{file}: valid\nqueues: no field is ignored\n"
    )
    assert not user.api.sent("GET", CONFIG_MAP)


async def test_errors_of_the_configuration_come_first(user: UserOfCluster) -> None:
    configured(user, FLAT.replace("gang", "gnag"))
    user.api.on("GET", QUEUES, page(7, queue("a", parent="dept")))
    result = await user.run("config", "check", "--live")
    assert result.exit_code == 1
    assert "gnag" in result.stdout
    assert result.stdout.endswith("ConfigMap volcano-system/volcano-scheduler-configmap: invalid\n")


async def test_a_cluster_without_a_configuration_is_reported(user: UserOfCluster) -> None:
    user.api.on("GET", CONFIG_MAP, refusal(404, "NotFound", "not there"))
    assert await user.is_refused("config", "check", "--live") == (
        "ConfigMap volcano-system/volcano-scheduler-configmap cannot be read: "
        f"GET {CONFIG_MAP}: 404 NotFound: not there; name the file with the scheduler's configuration"
    )


def test_without_live_a_file_has_to_be_named() -> None:
    result = CliRunner().invoke(main, ["config", "check"])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        "Error: name a FILE to check, or check the cluster's configuration with --live"
    )


def test_a_cluster_goes_with_live_only(tmp_path: Path) -> None:
    file = tmp_path / "some.conf"
    file.write_text(FLAT, encoding="utf-8")
    result = CliRunner().invoke(main, ["config", "check", str(file), "--context", "c"])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == "Error: --kubeconfig and --context name a cluster: they go with --live"


# -- simulate -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("play", [[], ["--play", "1m"]], ids=["until stable", "played"])
def test_simulate_says_what_has_no_effect(tmp_path: Path, play: list[str]) -> None:
    manifests, flat, in_a_tree = tmp_path / "queues.yaml", tmp_path / "flat.conf", tmp_path / "tree.conf"
    manifests.write_text(
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: dept}, spec: {}}\n"
        "---\n"
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: a}, spec: {parent: dept}}\n",
        encoding="utf-8",
    )
    flat.write_text(FLAT, encoding="utf-8")
    in_a_tree.write_text(IN_A_TREE, encoding="utf-8")
    arguments = ["simulate", "-f", str(manifests), *play, "--scheduler-conf"]
    said = " ".join(CliRunner().invoke(main, [*arguments, str(flat)]).stdout.split())
    assert f"queue a: {PARENT}" in said
    assert "no effect" not in CliRunner().invoke(main, [*arguments, str(in_a_tree)]).stdout
