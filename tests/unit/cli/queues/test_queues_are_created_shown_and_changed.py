"""`volcano-py queue create|list|get|open|close|delete` on a small API server."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
import yaml
from click.testing import CliRunner

from tests.unit.cli.cluster import SCHEDULING, UserOfCluster, found, is_missing, pod_group, queue
from tests.unit.cluster.fakes import Reply, page, refusal
from volcano_py.cli.main import main
from volcano_py.cli.queues.operations import decoded
from volcano_py.cli.queues.rows import facts, queue_row

QUEUES = f"{SCHEDULING}/queues"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"


# -- create ---------------------------------------------------------------------------------------------------------


async def test_a_queue_is_created_as_it_is_described(user: UserOfCluster) -> None:
    user.api.on("GET", f"{QUEUES}/dept", found(queue("dept")))
    user.api.on("POST", QUEUES, Reply(201))
    reported = await user.prints(
        *("queue", "create", "--name", "team-a", "--weight", "4", "--parent", "dept", "--not-reclaimable"),
        *("--capability", "cpu=8, memory=32Gi", "--deserved", "cpu=4,nvidia.com/gpu=2", "--guarantee", "cpu=500m"),
    )
    assert reported == "queue team-a created\n"
    (request,) = user.api.sent("POST", QUEUES)
    assert request.body == {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "team-a"},
        "spec": {
            "weight": 4,
            "reclaimable": False,
            "parent": "dept",
            "capability": {"cpu": "8", "memory": "32Gi"},
            "deserved": {"cpu": "4", "nvidia.com/gpu": "2"},
            "guarantee": {"resource": {"cpu": "500m"}},
        },
    }


async def test_what_is_not_said_is_left_out(user: UserOfCluster) -> None:
    user.api.on("POST", QUEUES, Reply(201))
    await user.prints("queue", "create", "-n", "team-a")
    assert user.api.requests[0].body["spec"] == {"weight": 1, "reclaimable": True, "parent": "root"}


async def test_a_queue_needs_the_one_above_it(user: UserOfCluster) -> None:
    user.api.on("GET", f"{QUEUES}/dept", is_missing("queues", "dept"))
    reported = await user.is_refused("queue", "create", "--name", "team-a", "--parent", "dept")
    assert reported == "queue team-a: --parent dept does not exist; create that first"
    assert not user.api.sent("POST")


async def test_a_name_that_is_taken_is_reported(user: UserOfCluster) -> None:
    user.api.on("POST", QUEUES, refusal(409, "AlreadyExists"))
    reported = await user.is_refused("queue", "create", "--name", "a")
    assert reported == "queue a exists already; choose another --name, or change it with kubectl edit queue a"


async def test_the_servers_own_words_are_reported(user: UserOfCluster) -> None:
    user.api.on("POST", QUEUES, refusal(422, "Invalid", 'Queue "a" is invalid: spec.deserved: too large'))
    assert await user.is_refused("queue", "create", "-n", "a") == 'Queue "a" is invalid: spec.deserved: too large'


@pytest.mark.parametrize(
    ("amounts", "why"),
    [
        ("cpu", "'cpu' is not resource=amount; write for example cpu=4,memory=16Gi"),
        ("cpu=1,cpu=2", "cpu is given twice; give it once"),
        ("cpu=4,memory=8X", "memory: '8X' is not a quantity (examples: 2, 500m, 1.5Gi, 1e3)"),
        ("cpu=-1", "cpu: -1 is negative; write 0 or more"),
    ],
)
def test_amounts_that_cannot_be_read_are_reported(amounts: str, why: str) -> None:
    result = CliRunner().invoke(main, ["queue", "create", "--name", "a", "--capability", amounts])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: Invalid value for '--capability': {why}"


@pytest.mark.parametrize("name", ["", "a/status", "a?b", "Team", "-a", "a..b", "x" * 254])
@pytest.mark.parametrize("verb", ["create", "get", "open", "close", "delete"])
def test_what_is_no_name_never_stands_in_a_path(verb: str, name: str) -> None:
    result = CliRunner().invoke(main, ["queue", verb, f"--name={name}"])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        f"Error: Invalid value for '--name' / '-n': {name!r} is not a valid name: use lower-case letters, "
        "digits, '-' and '.',"
        " at most 253 characters, a letter or digit first and last"
    )


# -- list and get ---------------------------------------------------------------------------------------------------


async def test_queues_are_listed_with_their_podgroups_by_phase(user: UserOfCluster) -> None:
    counted = {"pending": 2, "inqueue": 1, "running": 12, "unknown": 3, "completed": 4}
    queues = [queue("team-a", weight=4, parent="dept", status=counted), queue("dept", state="Closing"), queue("root")]
    user.api.on("GET", QUEUES, page(7, *queues))
    assert (await user.prints("queue", "list")).splitlines() == [
        "NAME    PARENT  STATE    WEIGHT  PENDING  INQUEUE  RUNNING  UNKNOWN  COMPLETED  AGE",
        "dept    root    Closing       1        0        0        0        0          0  -",
        "root    -       Open          1        0        0        0        0          0  -",
        "team-a  dept    Open          4        2        1       12        3          4  -",
    ]


async def test_lists_for_programs_are_the_objects_themselves(user: UserOfCluster) -> None:
    user.api.on("GET", QUEUES, page(7, queue("b"), queue("a")))
    as_json = orjson.loads(await user.prints("queue", "list", "-o", "json"))
    as_yaml = yaml.safe_load(await user.prints("queue", "list", "-o", "yaml"))
    bare = [queue("a"), queue("b")]
    for each in bare:
        del each["metadata"]["managedFields"]
    assert as_json == as_yaml == {"apiVersion": "v1", "kind": "List", "items": bare}


async def test_no_queues_are_reported_next_to_the_output(user: UserOfCluster) -> None:
    user.api.on("GET", QUEUES, page(7))
    result = await user.run("queue", "list")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "There is no Queue to show.\n")


async def test_a_watched_list_goes_on_with_what_changes(user: UserOfCluster) -> None:
    """What a row does not show is no change. Columns grow with their widest cell."""
    user.api.on("GET", QUEUES, page(7, queue("team-a"), queue("b")))
    running = asyncio.create_task(user.run("queue", "list", "--watch"))
    watch = await user.api.watch()
    assert watch.resource_version == "7"
    await watch.send("MODIFIED", queue("team-a", version="8"))
    await watch.send("MODIFIED", queue("team-a", version="9", state="Closed"))
    await watch.send("ADDED", queue("c", version="10"))
    await watch.send("DELETED", queue("b", version="11"))
    user.api.refuse_watch(refusal(403, "Forbidden", "queues is forbidden"))
    watch.end()
    result = await running
    assert result.stdout.splitlines() == [
        "NAME    PARENT  STATE  WEIGHT  PENDING  INQUEUE  RUNNING  UNKNOWN  COMPLETED  AGE",
        "b       root    Open        1        0        0        0        0          0  -",
        "team-a  root    Open        1        0        0        0        0          0  -",
        "team-a  root    Closed       1        0        0        0        0          0  -",
        "c       root    Open         1        0        0        0        0          0  -",
        "b       root    Deleted       1        0        0        0        0          0  -",
    ]
    fix = "ask the cluster's administrator for the right, or use another --context"
    assert (result.exit_code, result.stderr) == (1, f"Error: queues is forbidden; {fix}\n")


async def test_a_watched_list_for_programs_is_a_document_for_each_change(user: UserOfCluster) -> None:
    user.api.on("GET", QUEUES, page(7, queue("a")))
    running = asyncio.create_task(user.run("queue", "list", "--watch", "-o", "json"))
    watch = await user.api.watch()
    await watch.send("MODIFIED", queue("a", version="8", state="Closed"))
    await watch.send("DELETED", queue("a", version="9", state="Closed"))
    user.api.refuse_watch(refusal(403, "Forbidden"))
    watch.end()
    documents = [orjson.loads(line) for line in (await running).stdout.splitlines()]
    assert [(each["type"], each["object"]["status"]["state"]) for each in documents] == [
        ("ADDED", "Open"),
        ("MODIFIED", "Closed"),
        ("DELETED", "Closed"),
    ]


async def test_one_queue_is_reported_with_its_amounts(user: UserOfCluster) -> None:
    one = queue(
        "team-a",
        parent="dept",
        weight=4,
        reclaimable=False,
        capability={"memory": "64Gi", "cpu": 16},
        deserved={"cpu": "8", "nvidia.com/gpu": "2"},
        guarantee={"resource": {"nvidia.com/gpu": "1"}},
        status={"running": 2, "allocated": {"cpu": "6", "memory": "12Gi"}},
        state="Closed",
        annotations={"volcano.sh/closed-by-parent": "true"},
    )
    user.api.on("GET", f"{QUEUES}/team-a", found(one))
    assert await user.prints("queue", "get", "--name", "team-a") == (
        "Name:         team-a\n"
        "Parent:       dept\n"
        "State:        Closed (with its parent, and opens with it)\n"
        "Weight:       4\n"
        "Priority:     0\n"
        "Reclaimable:  no\n"
        "Age:          -\n"
        "PodGroups:    2 running\n"
        "\n"
        "RESOURCE        ALLOCATED  GUARANTEE  DESERVED  CAPABILITY\n"
        "cpu                     6          -         8          16\n"
        "memory               12Gi          -         -        64Gi\n"
        "nvidia.com/gpu          -          1         2           -\n"
    )
    del one["metadata"]["managedFields"]
    assert orjson.loads(await user.prints("queue", "get", "--name", "team-a", "-o", "json")) == one


async def test_a_queue_that_does_not_exist_is_reported(user: UserOfCluster) -> None:
    user.api.on("GET", f"{QUEUES}/nowhere", is_missing("queues", "nowhere"))
    for verb in ("get", "open", "close", "delete"):
        reported = await user.is_refused("queue", verb, "--name", "nowhere")
        assert reported == "queue nowhere does not exist; volcano-py queue list shows those that do"


async def test_a_cluster_without_the_queue_api_is_reported(user: UserOfCluster) -> None:
    fix = "install the CustomResourceDefinitions: kubectl apply -k crds"
    assert await user.is_refused("queue", "list") == f"the cluster does not serve {QUEUES}; {fix}"
    assert await user.is_refused("queue", "get", "-n", "a") == f"the cluster does not serve {QUEUES}/a; {fix}"


async def test_a_queue_that_cannot_be_read_is_a_row_and_keeps_no_other_from_the_list(user: UserOfCluster) -> None:
    zombie = queue("zombie", weight="many")
    user.api.on("GET", QUEUES, page(7, queue("a"), zombie))
    assert (await user.prints("queue", "list")).splitlines()[1:] == [
        "a       root    Open             1        0        0        0        0          0  -",
        "zombie  -       Unreadable       -        -        -        -        -          -  -",
    ]
    user.api.on("GET", f"{QUEUES}/zombie", found(zombie))
    for verb in ("get", "open", "close", "delete"):
        assert await user.is_refused("queue", verb, "--name", "zombie") == (
            "queue zombie cannot be read: Expected `int`, got `str` - at `$.spec.weight`; `volcano-py queue get --name"
            " zombie --output yaml` shows it as it is"
        )
    assert yaml.safe_load(await user.prints("queue", "get", "--name", "zombie", "-o", "yaml"))


def test_the_age_is_reported_at_a_moment() -> None:
    old = queue("a")
    old["metadata"]["creationTimestamp"] = "2026-11-20T10:00:00Z"
    now = datetime(2026, 11, 20, 13, 5, tzinfo=UTC).timestamp()
    assert queue_row(old, now)[-1] == "3h"
    assert dict(facts(decoded(old), now))["Age"] == "3h"


def test_a_queue_without_a_state_counts_as_open() -> None:
    reported = dict(facts(decoded(queue("a", state="")), 0.0))
    assert (reported["State"], reported["PodGroups"], reported["Reclaimable"]) == ("Open", "none", "yes")


def test_control_characters_of_a_cluster_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in str(queue_row(queue("a", state="\x1b[31mOpen"), 0.0))


# -- open and close -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "state", "action"), [("close", "Open", "CloseQueue"), ("open", "Closing", "OpenQueue")]
)
async def test_a_queue_is_opened_and_closed_by_a_command(
    user: UserOfCluster, verb: str, state: str, action: str
) -> None:
    user.api.on("GET", f"{QUEUES}/team-a", found(queue("team-a", state=state)))
    user.api.on("POST", COMMANDS, Reply(201, {"metadata": {"name": f"team-a-{verb}-x7k2p"}}))
    reported = await user.prints("queue", verb, "--name", "team-a")
    assert reported == f"Command default/team-a-{verb}-x7k2p created: {verb} queue team-a\n"
    (request,) = user.api.sent("POST")
    assert request.body == {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"generateName": f"team-a-{verb}-", "namespace": "default"},
        "action": action,
        "target": {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "name": "team-a",
            "uid": "uid-team-a",
        },
    }


@pytest.mark.parametrize(
    ("verb", "state", "action"), [("close", "Open", "CloseQueue"), ("open", "Closing", "OpenQueue")]
)
async def test_vcctls_verb_for_it_does_the_same(user: UserOfCluster, verb: str, state: str, action: str) -> None:
    user.api.on("GET", f"{QUEUES}/team-a", found(queue("team-a", state=state)))
    user.api.on("POST", COMMANDS, Reply(201, {"metadata": {"name": "c"}}))
    reported = await user.prints("queue", "operate", "-n", "team-a", "-a", verb)
    assert reported == f"Command default/c created: {verb} queue team-a\n"
    assert user.api.sent("POST")[0].body["action"] == action


async def test_the_weight_of_a_queue_is_changed_and_no_namesakes(user: UserOfCluster) -> None:
    user.api.on("GET", f"{QUEUES}/a", found(queue("a", weight=1)))
    user.api.on("PATCH", f"{QUEUES}/a", Reply(200, queue("a", weight=4)))
    for arguments in (["--action", "update", "--weight", "4"], ["-w", "4"]):
        assert await user.prints("queue", "operate", "--name", "a", *arguments) == "queue a has weight 4 (it had 1)\n"
    for request in user.api.sent("PATCH"):
        assert request.body == {"metadata": {"uid": "uid-a"}, "spec": {"weight": 4}}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "choose what to do: --action open, --action close, or --weight"),
        (["--action", "update"], "--action update changes the weight: give it with --weight"),
        (["--action", "close", "--weight", "2"], "--weight goes with --action update, not with close"),
        (["--weight", "0"], "Invalid value for '--weight'"),
        (["--action", "drain"], "Invalid value for '--action'"),
    ],
)
def test_an_invalid_operation_is_refused_before_any_request(arguments: list[str], why: str) -> None:
    result = CliRunner().invoke(main, ["queue", "operate", "--name", "a", *arguments])
    assert result.exit_code == 2
    assert why in " ".join(result.stderr.replace("│", " ").split())


async def test_a_queue_can_be_created_closed(user: UserOfCluster) -> None:
    user.api.on("POST", QUEUES, Reply(201))
    user.api.on("GET", f"{QUEUES}/a", found(queue("a")))
    user.api.on("POST", COMMANDS, Reply(201, {"metadata": {"name": "c"}}))
    reported = await user.prints("queue", "create", "-n", "a", "-S", "Closed")
    assert reported == "queue a created\nCommand default/c created: close queue a\n"
    assert user.api.sent("POST", QUEUES)[0].body["spec"] == {"weight": 1, "reclaimable": True, "parent": "root"}


@pytest.mark.parametrize(("verb", "state"), [("close", "Closed"), ("open", "Open")])
async def test_nothing_is_asked_of_a_queue_that_is_so_already(user: UserOfCluster, verb: str, state: str) -> None:
    user.api.on("GET", f"{QUEUES}/a", found(queue("a", state=state)))
    assert await user.prints("queue", verb, "-n", "a") == f"queue a is {state} already\n"
    assert not user.api.sent("POST")


async def test_without_the_command_api_the_way_around_it_is_reported(user: UserOfCluster) -> None:
    user.api.on("GET", f"{QUEUES}/a", found(queue("a")))
    assert await user.is_refused("queue", "close", "-n", "a") == (
        "queue a cannot be asked to close: the cluster has no Commands (bus.volcano.sh/v1alpha1); install their"
        " CustomResourceDefinition (kubectl apply -k crds), or write the state yourself:\n"
        """kubectl patch queue a --subresource=status --type=merge --patch '{"status": {"state": "Closed"}}'"""
    )


async def test_what_the_controller_would_refuse_is_reported_at_once(user: UserOfCluster) -> None:
    user.api.on("GET", f"{QUEUES}/root", found(queue("root")))
    user.api.on("GET", f"{QUEUES}/a", found(queue("a", parent="dept", state="Closed")))
    user.api.on("GET", f"{QUEUES}/dept", found(queue("dept", state="Closed")))
    assert await user.is_refused("queue", "close", "-n", "root") == (
        "queue root cannot be closed: every queue is below it; close the queues you mean"
    )
    assert await user.is_refused("queue", "open", "-n", "a") == (
        "queue a cannot be opened while its parent dept is Closed; open the parent first"
    )
    assert not user.api.sent("POST")


async def test_a_forbidden_request_is_reported(user: UserOfCluster) -> None:
    user.api.on("GET", f"{QUEUES}/a", found(queue("a")))
    user.api.on("POST", COMMANDS, refusal(403, "Forbidden", "commands is forbidden"))
    assert await user.is_refused("queue", "close", "-n", "a") == (
        "no Command to close queue a was created: commands is forbidden;"
        " ask the cluster's administrator for the right, or use another --context"
    )


# -- delete ---------------------------------------------------------------------------------------------------------


def on_delete(user: UserOfCluster, queues: list[dict[str, Any]], *groups: dict[str, Any]) -> None:
    for each in queues:
        user.api.on("GET", f"{QUEUES}/{each['metadata']['name']}", found(each))
    user.api.on("GET", QUEUES, page(7, *queues))
    user.api.on("GET", f"{SCHEDULING}/podgroups", page(7, *groups))
    user.api.on("DELETE", f"{QUEUES}/a", Reply())


async def test_an_empty_queue_is_deleted_and_no_namesake(user: UserOfCluster) -> None:
    on_delete(user, [queue("a")], pod_group("done", queue="a", phase="Completed"), pod_group("other", queue="b"))
    assert await user.prints("queue", "delete", "-n", "a") == "queue a deleted\n"
    (request,) = user.api.sent("DELETE")
    assert request.body["preconditions"] == {"uid": "uid-a"}


async def test_a_queue_with_work_or_queues_below_it_stays(user: UserOfCluster) -> None:
    on_delete(user, [queue("a"), queue("below", parent="a")], pod_group("train", queue="a", phase="Running"))
    reported = await user.is_refused("queue", "delete", "-n", "a")
    assert reported.splitlines()[0] == "queue a breaks 2 rules:"
    assert "has queues below it (below); delete or move those first" in reported
    assert "has 1 unfinished PodGroup; close the queue, and delete it when no work is left" in reported
    assert not user.api.sent("DELETE")


async def test_what_cannot_be_read_elsewhere_is_no_reason_to_keep_a_queue(user: UserOfCluster) -> None:
    odd = queue("odd", capability={"cpu": None}, parent="b", weight="heavy")
    on_delete(user, [queue("a"), odd], pod_group("train", queue="b", minMember="three"))
    assert await user.prints("queue", "delete", "-n", "a") == "queue a deleted\n"


async def test_it_still_belongs_to_a_queue(user: UserOfCluster) -> None:
    odd = queue("odd", parent="a", weight="heavy")
    on_delete(user, [queue("a"), odd], pod_group("train", queue="a", minMember="three"))
    reported = await user.is_refused("queue", "delete", "-n", "a")
    assert "has queues below it (odd)" in reported
    assert "has 1 unfinished PodGroup" in reported


async def test_the_queues_that_must_be_there_stay(user: UserOfCluster) -> None:
    on_delete(user, [queue("root"), queue("default")])
    assert "is the root queue and cannot be deleted" in await user.is_refused("queue", "delete", "-n", "root")
    assert "is the default queue and cannot be deleted" in await user.is_refused("queue", "delete", "-n", "default")
