"""`volcano-py queue tree` over manifests, and what it takes from a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
import yaml
from click.testing import CliRunner, Result
from rich.console import Console

from tests.support.registries import checked_registry
from tests.unit.cli.cluster import SCHEDULING, UserOfCluster, pod_group, queue
from tests.unit.cluster.fakes import page
from volcano_py.api.names import CHARGED_QUEUE
from volcano_py.api.report import QueueReport
from volcano_py.cli.main import main
from volcano_py.cli.queues import sources
from volcano_py.cli.queues.drawing import drawing
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching.kinds import ConfigMap
from volcano_py.config import parse_configuration
from volcano_py.operator.podgroups.generated_group import GroupRules
from volcano_py.standing import Standing, standings

CAPACITY = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: capacity, enableHierarchy: true}]
"""
PROPORTION = """
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: proportion}]
"""
OBJECTS = """
{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 16, memory: 64Gi, pods: 110, example.com/chip: 4}}}
---
{kind: Queue, metadata: {name: b}, spec: {weight: 3, deserved: {cpu: 8}, guarantee: {resource: {cpu: 4}}}}
---
{kind: Queue, metadata: {name: a}, spec: {deserved: {cpu: 8}, capability: {cpu: 10}}}
---
{kind: Queue, metadata: {name: a2}, spec: {parent: a}, status: {state: Closed}}
---
{kind: Queue, metadata: {name: a1}, spec: {parent: a, deserved: {cpu: 2, example.com/chip: 1}}}
---
{kind: Queue, metadata: {name: lost}, spec: {parent: nowhere}}
---
{kind: PodGroup, metadata: {name: j}, spec: {minMember: 1, queue: a1}}
""" + "".join(
    f"""---
{{kind: Pod, metadata: {{name: j-{number}, annotations: {{scheduling.k8s.io/group-name: j}}}},
 spec: {{schedulerName: volcano, containers: [{{name: c, resources: {{requests: {{cpu: 4, memory: 1Gi}}}}}}]}}}}
"""
    for number in range(3)
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("objects.yaml", OBJECTS), ("capacity.conf", CAPACITY), ("proportion.conf", PROPORTION)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(files: Path, *arguments: str, conf: str = "capacity.conf") -> Result:
    return CliRunner().invoke(
        main, ["queue", "tree", "-f", str(files / "objects.yaml"), "--scheduler-conf", str(files / conf), *arguments]
    )


def shown(files: Path, **more: Any) -> dict[str, dict[str, Any]]:
    """Queue → what the JSON says of it."""
    result = run(files, "-o", "json", **more)
    assert result.exit_code == 0, result.output
    return {each["name"]: each for each in orjson.loads(result.stdout)["queues"]}


def test_the_tree_with_a_line_for_each_resource_and_bars(files: Path) -> None:
    """a1 holds 8 of the 10 cpus that it may have, 6 of them beyond what it deserves."""
    lines = run(files).stdout.splitlines()
    columns = [[line[:17].rstrip(), *line[17:].split()] for line in lines[:8]]
    assert columns == [
        ["Queue", "Weight", "Share", "Allocated", "Pending", "Guarantee", "Deserved", "Capability"],
        ["root", "1", "0.50", "cpu", "██████████░░░░░░░░░░", "8", "4", "4", "16", "16"],
        ["", "memory", "█░░░░░░░░░░░░░░░░░░░", "2Gi", "1Gi", "-", "-", "64Gi"],
        ["", "example.com/chip", "░░░░░░░░░░░░░░░░░░░░", "0", "-", "-", "-", "4"],
        ["├── a", "1", "1.00", "cpu", "████████████████░░░░", "8", "4", "-", "8", "10"],
        ["│", "memory", "█░░░░░░░░░░░░░░░░░░░", "2Gi", "1Gi", "-", "-", "64Gi"],
        ["│", "example.com/chip", "░░░░░░░░░░░░░░░░░░░░", "0", "-", "-", "-", "4"],
        ["│   ├── a1", "1", "4.00", "cpu", "████▓▓▓▓▓▓▓▓▓▓▓▓░░░░", "8", "4", "-", "2", "10"],
    ]
    assert len({len(line) for line in lines[:8]}) == 1, "the columns are one below the other"
    assert lines[-1] == "█ allocated  ▓ beyond deserved  ░ left of what the queue may have"
    assert [line.lstrip("│├└─ ").split(" ")[0] for line in lines[1:] if "  cpu  " in line] == [
        "root", "a", "a1", "a2", "b", "default", "lost",
    ]  # fmt: skip
    assert any(line.startswith("│   └── a2 Closed ") for line in lines)


def test_weights_and_guarantees_without_information_are_left_out_and_bars_fit_the_console() -> None:
    parsed = parse_configuration(CAPACITY, checked_registry().catalogue()).config
    assert parsed is not None
    report = QueueReport("a", allocated={"cpu": 3000}, deserved={"cpu": 2000}, real_capability={"cpu": 4000})
    found = standings({"a": report}, parsed)
    for width, bar in ((69, "████▓▓░░"), (100, "██████████▓▓▓▓▓░░░░░"), (67, "███▓░░")):
        console = Console(file=StringIO(), width=200)
        console.print(drawing(found, width))
        assert isinstance(console.file, StringIO)
        lines = console.file.getvalue().splitlines()
        assert lines[0].split() == ["Queue", "Share", "Allocated", "Pending", "Deserved", "Capability"]
        assert lines[2].split() == ["└──", "a", "0.00", "cpu", bar, "3", "-", "2", "-"]


def test_long_names_leave_room_for_the_message() -> None:
    """Cut in the middle, as names of one house begin alike; then columns go, the least important one first."""
    names = [f"research-department-of-long-names-{number:02}" for number in range(2)]
    reports = {name: QueueReport(name, weight=2, parent="root") for name in names}
    parsed = parse_configuration(PROPORTION, checked_registry().catalogue()).config
    assert parsed is not None
    found = standings(reports, parsed)
    wide, narrow = (_drawn(found, width) for width in (200, 80))
    assert [line.split()[1] for line in wide[2:4]] == names
    assert max(map(len, narrow[:4])) <= 80
    assert narrow[0].split() == ["Queue", "Share", "Allocated", "Pending", "Deserved", "Capability"]
    assert [line.split()[1] for line in narrow[2:4]] == ["researc…mes-00", "researc…mes-01"]


BOUND = """---
{kind: Pod, metadata: {name: k-0, annotations: {volcano.sh/charged-queue: gone, scheduling.k8s.io/group-name: k}},
 spec: {schedulerName: volcano, nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 3, memory: 1Gi}}}]},
 status: {phase: Running}}
---
{kind: PodGroup, metadata: {name: k}, spec: {minMember: 1, queue: gone}}
"""


def test_pods_of_a_queue_that_does_not_exist_have_a_row(files: Path) -> None:
    (files / "objects.yaml").write_text(OBJECTS + BOUND.replace("volcano.sh/charged-queue", CHARGED_QUEUE))
    lines = run(files).stdout.splitlines()
    heading = lines.index("Queues that do not exist:")
    assert lines[heading + 1].split() == ["gone", "1", "0.00", "cpu", "████████████████████", "3", "-", "-", "-", "-"]
    assert lines[heading + 4] == (
        "  does not exist: running pods keep their places, and no other pod starts; create the queue"
    )
    gone = shown(files)["gone"]
    assert (gone["state"], gone["allocated"]) == ("", {"cpu": "3", "memory": "1Gi", "pods": "1"})
    assert gone["problem"].startswith("does not exist: ")
    assert shown(files)["root"]["allocated"]["cpu"] == "8"


def _drawn(found: Sequence[Standing], width: int) -> list[str]:
    console = Console(file=StringIO(), width=width)
    console.print(drawing(found, width))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("charset", ["ascii", "latin-1"])
def test_bars_have_look_alikes_where_they_cannot_be_written(files: Path, charset: str) -> None:
    arguments = ["queue", "tree", "-f", str(files / "objects.yaml"), "--scheduler-conf", str(files / "capacity.conf")]
    result = CliRunner(charset=charset).invoke(main, arguments)
    assert result.exit_code == 0, repr(result.exception)
    assert result.stdout.splitlines()[-1] == ("# allocated  + beyond deserved  . left of what the queue may have")


def test_json_has_every_queue_below_the_one_above_it(files: Path) -> None:
    queues = shown(files)
    assert list(queues) == ["root", "a", "a1", "a2", "b", "default", "lost"]
    assert [queues[name]["parent"] for name in queues] == ["", "root", "a", "a", "root", "root", ""]
    assert [queues[name]["depth"] for name in queues] == [0, 1, 2, 2, 1, 1, 0]
    assert queues["a1"] == {
        "name": "a1",
        "parent": "a",
        "depth": 2,
        "state": "Open",
        "weight": 1,
        "share": 4.0,
        "allocated": {"cpu": "8", "memory": "2Gi", "pods": "2"},
        "pending": {"cpu": "4", "memory": "1Gi", "pods": "1"},
        "inqueue": {},
        "guarantee": {},
        "deserved": {"cpu": "2", "example.com/chip": "1"},
        "capability": {"cpu": "10", "memory": "64Gi", "pods": "110", "example.com/chip": "4"},
        "realCapability": {"cpu": "10", "memory": "64Gi", "pods": "110", "example.com/chip": "4"},
        "podGroups": {"Running": 1},
    }


def test_what_a_queue_holds_and_waits_for_counts_for_all_above(files: Path) -> None:
    queues = shown(files)
    for name in ("root", "a", "a1"):
        assert queues[name]["allocated"]["cpu"] == "8"
        assert queues[name]["pending"]["cpu"] == "4"


def test_so_it_does_when_the_plugin_knows_no_tree(files: Path) -> None:
    queues = shown(files, conf="proportion.conf")
    assert {name: each["allocated"].get("cpu") for name, each in queues.items()} == {
        "root": "12", "a": "12", "a1": "12", "a2": None, "b": None, "default": None, "lost": None,
    }  # fmt: skip
    assert queues["b"]["guarantee"] == {"cpu": "4"}


def test_a_queue_without_a_place_in_the_tree_says_why(files: Path) -> None:
    rule = "spec.parent is nowhere, which does not exist; create it or name another queue"
    assert shown(files)["lost"]["problem"] == rule
    lines = run(files).stdout.splitlines()
    assert "Without a place in the tree; their jobs wait:" in lines
    assert f"  {rule}" in lines


def test_its_jobs_wait_only_where_a_plugin_knows_the_tree(files: Path) -> None:
    lines = run(files, conf="proportion.conf").stdout.splitlines()
    assert "Without a place in the tree:" in lines


def test_yaml_says_the_same_as_json(files: Path) -> None:
    assert yaml.safe_load(run(files, "-o", "yaml").stdout)["queues"] == list(shown(files).values())


def test_standard_input_is_read(files: Path) -> None:
    result = CliRunner().invoke(main, ["queue", "tree", "-f", "-", "-o", "json"], input=OBJECTS)
    assert result.exit_code == 0
    assert len(orjson.loads(result.stdout)["queues"]) == 7


def test_manifests_or_a_cluster_but_not_both(files: Path) -> None:
    result = run(files, "--context", "prod")
    assert result.exit_code == 2
    assert "use only one of them" in result.output


def test_a_cluster_that_cannot_be_found_is_reported(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["queue", "tree", "--kubeconfig", str(tmp_path / "none")])
    assert result.exit_code == 1
    assert str(tmp_path / "none") in result.output


# -- the configuration of a cluster --------------------------------------------------------------------------------


class Server:
    """Has one ConfigMap, or refuses to show it."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    async def read(self, path: ApiPath, kind: type[ConfigMap]) -> ConfigMap:
        assert str(path) == "/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap"
        if self._text is None:
            raise ForbiddenError("GET", str(path), 403, message="not allowed")
        return msgspec.convert({"metadata": {"name": "c"}, "data": {"volcano-scheduler.conf": self._text}}, kind)


async def plugins_of(server: Server) -> list[str]:
    found = await sources._configuration_of(server, "volcano-system", checked_registry())  # type: ignore[arg-type]
    return [entry.name for entry in found.plugins()]


async def test_the_clusters_own_configuration_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert await plugins_of(Server(CAPACITY)) == ["gang", "predicates", "capacity"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "ConfigMap volcano-system/volcano-scheduler-configmap cannot be read"),
        (
            'actions: "alocate"',
            "volcano-scheduler-configmap is invalid; the built-in one is used instead:\n",
        ),
    ],
)
async def test_else_the_built_in_one_with_a_warning(
    text: str | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "proportion" in await plugins_of(Server(text))
    reported = capsys.readouterr().err
    assert why in reported
    assert reported.endswith("--scheduler-conf FILE uses another configuration here.\n")


# -- odd trees ----------------------------------------------------------------------------------------------------


async def test_what_cannot_be_read_is_left_out_and_reported(user: UserOfCluster) -> None:
    """Old API servers send `names: null` for images that have none; that can be read."""
    images = [{"names": None, "sizeBytes": 5}]
    user.api.on("GET", "/api/v1/nodes", page(7, {"metadata": {"name": "n1"}, "status": {"images": images}}))
    user.api.on("GET", f"{SCHEDULING}/queues", page(7, queue("root"), queue("a"), queue("odd", weight="heavy")))
    user.api.on("GET", f"{SCHEDULING}/podgroups", page(7, pod_group("train", queue="a", minMember="three")))
    user.api.on("GET", "/api/v1/pods", page(7))
    drawn = await user.run("queue", "tree", "-o", "json")
    assert [each["name"] for each in orjson.loads(drawn.stdout)["queues"]] == ["root", "a"]
    assert [line for line in drawn.stderr.splitlines() if "left out" in line] == [
        "Queue odd cannot be read and is left out: Expected `int`, got `str` - at `$.spec.weight`",
        "PodGroup ns/train cannot be read and is left out: Expected `int`, got `str` - at `$.spec.minMember`",
    ]


def test_a_chain_of_queues_may_be_long() -> None:
    parsed = parse_configuration(CAPACITY, checked_registry().catalogue()).config
    assert parsed is not None
    reports = {
        f"q{number}": QueueReport(f"q{number}", parent=f"q{number - 1}" if number else "") for number in range(1500)
    }
    found = standings(reports, parsed)
    assert [each.depth for each in found] == list(range(1501))
    assert found[0].report == QueueReport("root"), "made up, as there is no report of it"
    console = Console(file=StringIO(), width=1_000)
    console.print(drawing(found[:200], console.width))
    assert isinstance(console.file, StringIO)
    assert "└── q198 " in console.file.getvalue()


def test_rules_say_whose_pods_and_which_queue(files: Path) -> None:
    rules = GroupRules(scheduler_names=frozenset({"other"}), default_queue="default")
    found = sources.of_manifests([files / "objects.yaml"], files / "capacity.conf", rules)
    assert {each.name: dict(each.report.allocated) for each in found}["a1"] == {}


@pytest.mark.parametrize("conf", ["capacity.conf", "proportion.conf"])
def test_a_guarantee_that_is_not_kept_is_marked(files: Path, conf: str) -> None:
    path = files / "objects.yaml"
    bad = "{kind: Queue, metadata: {name: bad}, spec: {guarantee: {resource: {cpu: 9E, memory: 1Gi}}}}"
    path.write_text(f"{OBJECTS}---\n{bad}\n", encoding="utf-8")
    queues = shown(files, conf=conf)
    assert queues["bad"]["guarantee"] == {"memory": "1Gi"}
    assert queues["bad"]["guaranteeNotKept"].keys() == {"cpu"}
    assert "guaranteeNotKept" not in queues["b"]
    assert queues["a"]["realCapability"]["cpu"] == "10", "of 16, beside the 4 that b is guaranteed"
    lines = run(files, conf=conf).stdout.splitlines()
    line = next(line for line in lines if "── bad " in line)
    assert [each for each in line.split() if each.endswith("!")] == ["0!"]
    assert [line for line in lines if line.startswith("! less is kept than spec.guarantee says: ")]


def test_a_resource_with_only_an_unkept_guarantee_is_shown(files: Path) -> None:
    path = files / "objects.yaml"
    bad = "{kind: Queue, metadata: {name: bad}, spec: {guarantee: {resource: {example.com/chp: 1}}}}"
    path.write_text(f"{OBJECTS}---\n{bad}\n", encoding="utf-8")
    lines = run(files).stdout.splitlines()
    first = next(at for at, line in enumerate(lines) if "── bad " in line)
    assert [line.split() for line in lines[first : first + 4] if "example.com/chp" in line and "0!" in line]
