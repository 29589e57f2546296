"""`volcano-py simulate` as other tools use it: what goes in, what comes out, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from volcano_py import simulation
from volcano_py.cli.main import main

MANIFESTS = """
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
kind: Node
metadata: {name: n2}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
kind: Queue
metadata: {name: team}
spec: {weight: 2}
---
kind: PodGroup
metadata: {name: fits, namespace: ml}
spec: {minMember: 2, queue: team}
---
kind: Pod
metadata: {name: fits-0, namespace: ml, annotations: {scheduling.k8s.io/group-name: fits}}
spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}
---
kind: Pod
metadata: {name: fits-1, namespace: ml, annotations: {scheduling.k8s.io/group-name: fits}}
spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}
---
kind: Pod
metadata: {name: large, namespace: ml}
spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: 5}}}]}
"""
POD = """
kind: Pod
metadata: {{name: {name}}}
spec: {{schedulerName: {scheduler}, containers: [{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}]}}
"""
NODE = 'kind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}\n'


def simulate(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["simulate", *arguments], input=stdin)


def outcome(*arguments: str, stdin: str | None = None) -> dict[str, Any]:
    """What the verb prints as JSON; it must succeed."""
    result = simulate(*arguments, "--output", "json", stdin=stdin)
    assert result.exit_code == 0, result.output
    reported: dict[str, Any] = json.loads(result.stdout)
    return reported


def refused(*arguments: str, stdin: str | None = None, code: int = 1) -> str:
    """What the verb says when it fails; nothing is printed that could be taken for an outcome."""
    result = simulate(*arguments, "--output", "json", stdin=stdin)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "cluster.yaml"
    found.write_text(MANIFESTS)
    return found


# -- what comes out ----------------------------------------------------------------------------------------------


def test_the_keys_are_those_that_were_promised(file: Path) -> None:
    reported = outcome("--filename", str(file))
    promised = ["binds", "evictions", "pipelined", "podGroups", "queues", "unschedulable", "refusedJobs"]
    assert list(reported) == promised
    assert reported["binds"] == {"ml/fits-0": "n1", "ml/fits-1": "n2"}
    assert reported["evictions"] == []
    assert reported["pipelined"] == {}
    assert set(reported["queues"]) == {"default", "root", "team"}
    assert {key for queue in reported["queues"].values() for key in queue} == {"allocated", "deserved", "share"}
    assert {key for group in reported["podGroups"].values() for key in group} == {"phase", "conditions", "owner"}
    assert reported["refusedJobs"] == {}


def test_pod_groups_show_their_phase_and_conditions_as_the_api_has_them(file: Path) -> None:
    groups = outcome("-f", str(file))["podGroups"]
    assert set(groups) == {"ml/fits", "ml/podgroup-pod-ml-large"}
    assert groups["ml/fits"]["phase"] == "Running"
    (condition,) = groups["ml/fits"]["conditions"]
    assert condition == {
        "type": "Scheduled",
        "status": "True",
        "reason": "tasks in gang are ready to be scheduled",
        "lastTransitionTime": condition["lastTransitionTime"],
        "transitionID": condition["transitionID"],
    }
    assert condition["lastTransitionTime"].startswith("2026-01-01T00:00:0")
    assert "owner" not in groups["ml/fits"], "a user has written it"
    assert groups["ml/podgroup-pod-ml-large"]["owner"] == "Pod/large"
    (stuck,) = groups["ml/podgroup-pod-ml-large"]["conditions"]
    assert (stuck["type"], stuck["status"], stuck["reason"]) == ("Unschedulable", "True", "NotEnoughResources")


def test_amounts_are_canonical_quantities_and_shares_numbers(file: Path) -> None:
    queue = outcome("-f", str(file))["queues"]["team"]
    assert queue["allocated"] == {"cpu": "1", "memory": "2Gi", "pods": "2"}
    assert queue["deserved"]["cpu"] == "1"
    assert isinstance(queue["share"], float)


def test_waiting_pods_get_a_reason(file: Path) -> None:
    message = (
        "NeverFits: 0/2 nodes are unavailable: 2 Insufficient cpu. The pod asks for 5 cpu; the largest node, n1, has "
        "4 cpu"
        " even when empty: ask for less or add a larger node."
    )
    assert outcome("-f", str(file))["unschedulable"] == {"ml/large": message}


def test_a_gated_pod_names_its_gates() -> None:
    gated = POD.format(name="p", scheduler="volcano", cpu=1).replace(
        "spec: {", "spec: {schedulingGates: [{name: x/y}],"
    )
    reported = "SchedulingGated: the pod has the scheduling gate x/y: the controller or user that set it must remove it"
    assert outcome("-f", "-", stdin=NODE + "---" + gated)["unschedulable"] == {"default/p": reported}


def test_what_waits_for_a_pod_to_end_is_pipelined() -> None:
    leaving = """
kind: Pod
metadata: {name: old, deletionTimestamp: "2026-01-01T00:00:00Z"}
spec: {schedulerName: volcano, nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 2500m}}}]}
status: {phase: Running}
"""
    reported = outcome("-f", "-", stdin=f"{NODE}---{leaving}---{POD.format(name='p', scheduler='volcano', cpu=2)}")
    assert reported["pipelined"] == {"default/p": "n1"}
    assert reported["binds"] == {}
    assert reported["unschedulable"]["default/p"].startswith("WaitingForRelease: a place on node n1 ")


def test_yaml_says_the_same_as_json(file: Path) -> None:
    printed = simulate("-f", str(file), "-o", "yaml")
    assert printed.exit_code == 0
    assert yaml.safe_load(printed.stdout) == outcome("-f", str(file))


def test_people_get_tables(file: Path) -> None:
    printed = simulate("-f", str(file)).stdout
    for word in ("Queues", "PodGroups", "Pods", "ml/fits-0", "n1", "NeverFits", "2 bindings, 1 waiting"):
        assert word in printed


@pytest.mark.parametrize("name", ["[gpu]-team", "[/x]", "[red]a", ":smile:"])
def test_what_stands_in_manifests_is_printed_as_it_stands_there(name: str) -> None:
    astray = POD.format(
        name=f'p, annotations: {{scheduling.volcano.sh/queue-name: "{name}"}}', scheduler="volcano", cpu=1
    )
    printed = simulate("-f", "-", stdin=f"{NODE}---{astray}")
    assert printed.exit_code == 0, repr(printed.exception)
    assert f"queue {name} does not exist" in printed.stdout


def test_the_same_manifests_come_to_the_same_end(file: Path) -> None:
    assert simulate("-f", str(file), "-o", "json").stdout == simulate("-f", str(file), "-o", "json").stdout


# -- what goes in ------------------------------------------------------------------------------------------------


def test_manifests_come_from_standard_input_and_from_several_files(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD.format(name="p", scheduler="volcano", cpu=1))
    assert outcome("-f", "-", "-f", str(tmp_path / "pod.yaml"), stdin=NODE)["binds"] == {"default/p": "n1"}


def test_folders_are_read_with_all_below_them(tmp_path: Path) -> None:
    (tmp_path / "nodes" / "here").mkdir(parents=True)
    (tmp_path / "nodes" / "here" / "n.yml").write_text(NODE)
    (tmp_path / "pod.json").write_text(json.dumps(yaml.safe_load(POD.format(name="p", scheduler="volcano", cpu=1))))
    (tmp_path / "README.md").write_text("not a manifest: [")
    assert outcome("-f", str(tmp_path))["binds"] == {"default/p": "n1"}


def test_what_kubectl_lists_can_be_read() -> None:
    items = [yaml.safe_load(NODE), yaml.safe_load(POD.format(name="p", scheduler="volcano", cpu=1))]
    listed = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items})
    assert outcome("-f", "-", stdin=listed)["binds"] == {"default/p": "n1"}


def test_kinds_that_scheduling_does_not_read_are_ignored() -> None:
    other = "kind: Service\nmetadata: {name: s}\nspec: {ports: nonsense}\n---\n\n---\n"
    assert outcome("-f", "-", stdin=other + NODE)["binds"] == {}


def test_ignored_kinds_are_listed() -> None:
    web, other = "kind: Deployment\nmetadata: {name: web}\n", "kind: ConfigMap\nmetadata: {name: a}\n"
    manifests = "---\n".join([NODE, web, "nodes: {n1: {}}\n", other, web])
    printed = simulate("-f", "-", stdin=manifests).stdout
    assert printed.endswith("\nNot simulated: 1 ConfigMap, 2 Deployment, 1 object without a kind\n")
    assert outcome("-f", "-", stdin=manifests)["binds"] == {}


APART = """
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: db}}
spec:
  schedulerName: volcano
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}
  containers: [{name: c, image: pause}]
"""


def test_pods_that_want_nodes_of_their_own_get_them_also_where_no_node_has_a_label() -> None:
    pods = "".join(APART.replace("NAME", name) for name in "abc")
    nodes = f"{NODE}---\n{NODE.replace('n1', 'n2')}"
    found = outcome("-f", "-", stdin=nodes + pods)
    assert sorted(found["binds"].values()) == ["n1", "n2"]
    assert len(found["unschedulable"]) == 1


OWNED = """
apiVersion: v1
kind: Pod
metadata: {name: web-0, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: web}]}
spec: {schedulerName: volcano, containers: [{name: c, image: pause}]}
"""


def test_workloads_whose_pods_are_not_created_are_listed() -> None:
    """They are read, because pods may belong to them."""
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: NAME}\nspec: {parallelism: 4}\n"
    replicas = "apiVersion: apps/v1\nkind: KIND\nmetadata: {name: web}\nspec: {replicas: 2}\n"
    kinds = ("StatefulSet", "ReplicaSet", "DaemonSet")
    manifests = [job.replace("NAME", name) for name in "ab"] + [replicas.replace("KIND", kind) for kind in kinds]
    line = "Not simulated: 1 DaemonSet, 2 Job (batch/v1), 1 ReplicaSet, 1 ReplicationController, 1 StatefulSet\n"
    manifests.append("kind: ReplicationController\nmetadata: {name: web}\n")
    assert simulate("-f", "-", stdin="---\n".join([NODE, *manifests])).stdout.endswith(f"\n{line}")
    printed = simulate("-f", "-", stdin="---\n".join([NODE, *manifests, OWNED])).stdout
    assert printed.endswith(f"\n{line.replace(', 1 StatefulSet', '')}")


@pytest.mark.parametrize("status", ["7", "{conditions: 7}", "{conditions: [7, {type: [], status: {}}]}"])
def test_a_workload_without_pods_is_listed_whatever_its_status_is(status: str) -> None:
    controller = f"kind: ReplicationController\nmetadata: {{name: web}}\nstatus: {status}\n"
    printed = simulate("-f", "-", stdin=f"{NODE}---\n{controller}").stdout
    assert printed.endswith("\nNot simulated: 1 ReplicationController\n")


def test_workloads_that_have_or_want_no_pods_are_not_listed() -> None:
    """As kubectl lists them of a cluster."""
    none = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: old}\nspec: {replicas: 0}\n"
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: NAME}\n"
    ended = job.replace("NAME", "ended") + "status: {conditions: [{type: Complete, status: 'True'}]}\n"
    suspended = job.replace("NAME", "suspended") + "spec: {suspend: true}\n"
    has_pods = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\n"
    manifests = "---\n".join([NODE, none, ended, suspended, has_pods, OWNED])
    assert "Not simulated" not in simulate("-f", "-", stdin=manifests).output


def test_without_ignored_kinds_nothing_is_listed(file: Path) -> None:
    assert "Not simulated" not in simulate("-f", str(file)).output


def test_nothing_at_all_is_an_empty_cluster() -> None:
    reported = outcome("-f", "-", stdin="")
    assert (reported["binds"], reported["podGroups"], set(reported["queues"])) == ({}, {}, {"default", "root"})


def test_scheduler_names_and_the_default_queue_can_be_chosen() -> None:
    pods = [POD.format(name=name, scheduler=name, cpu=1) for name in ("one", "two", "three")]
    queue = "kind: Queue\nmetadata: {name: batch}\n"
    reported = outcome(
        "-f",
        "-",
        "--scheduler-name",
        "one",
        "--scheduler-name",
        "two",
        "--default-queue",
        "batch",
        stdin="---".join([NODE, queue, *pods]),
    )
    assert set(reported["binds"]) == {"default/one", "default/two"}
    assert reported["queues"]["batch"]["allocated"]["cpu"] == "2"


CONF = 'actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: {name}\n'


def test_a_configuration_can_be_given_as_a_file_or_as_its_config_map(tmp_path: Path, file: Path) -> None:
    bare, wrapped = tmp_path / "conf", tmp_path / "map.yaml"
    bare.write_text(CONF.format(name="binpack"))
    wrapped.write_text(
        yaml.safe_dump({"kind": "ConfigMap", "data": {"volcano-scheduler.conf": CONF.format(name="binpack")}})
    )
    for conf in (bare, wrapped):
        reported = outcome("-f", str(file), "--scheduler-conf", str(conf))
        assert set(reported["binds"]) == {"ml/fits-0", "ml/fits-1"}
        assert reported["queues"]["team"]["deserved"] == {}, "no plugin works out what a queue deserves"


def test_remarks_on_the_configuration_do_not_disturb_the_outcome(tmp_path: Path, file: Path) -> None:
    conf = tmp_path / "conf"
    conf.write_text(CONF.format(name="gang") + "surprise: true\n")
    result = simulate("-f", str(file), "--scheduler-conf", str(conf), "-o", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["binds"]
    assert "surprise" in result.stderr


# -- how long it runs --------------------------------------------------------------------------------------------


def test_it_runs_exactly_the_requested_number_of_cycles(file: Path) -> None:
    assert outcome("-f", str(file), "--cycles", "0")["binds"] == {}
    after_one = outcome("-f", str(file), "--cycles", "1")
    assert set(after_one["binds"]) == {"ml/fits-0", "ml/fits-1"}
    assert after_one["podGroups"]["ml/fits"]["phase"] == "Inqueue", "they run from the next cycle on"


def test_until_stable_is_what_happens_anyway(file: Path) -> None:
    assert outcome("-f", str(file), "--until-stable") == outcome("-f", str(file))


def test_a_cluster_that_does_not_settle_is_an_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MOST_CYCLES", 1)
    result = simulate("-f", str(file), "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["binds"], "what came of it is printed all the same"
    assert "the cluster had not settled after 1 cycles" in result.stderr


JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 1
  PART
  tasks:
  - {name: worker, replicas: 1, template: {metadata: {annotations: {fast: FAST}}, spec: {containers: [{name: c}]}}}
"""


@pytest.mark.parametrize(
    ("part", "fast", "said"),
    [
        ("plugins: {mpi: [--port=0]}", "'true'", "spec.plugins.mpi: --port is '0'; give a whole number"),
        ("plugins: {ray: []}", "'true'", "spec.plugins.ray: task 'head' does not exist"),
        (
            "volumes: [{mountPath: /data, volumeClaimName: data}]",
            "'true'",
            "PersistentVolumeClaim default/data does not exist",
        ),
        ("queue: default", "true", "metadata.annotations[fast] is true, expected text: put it in quotes"),
    ],
)
def test_the_reason_of_a_job_without_pods_is_printed_next_to_the_outcome(part: str, fast: str, said: str) -> None:
    """It has no pods, so no table shows it."""
    job = JOB.replace("PART", part).replace("FAST", fast)
    result = simulate("--filename", "-", "--output", "json", stdin=f"{NODE}---{job}")
    assert json.loads(result.stdout)["binds"] == {}
    assert result.stderr.count(said) == 1, "it is printed once, though it holds in each cycle"
    assert "default/train" in result.stderr


@pytest.mark.parametrize("output", ["json", "yaml", "table"])
def test_what_is_remarked_on_the_way_does_not_stand_among_the_outcome(output: str) -> None:
    """A program reads standard output: a node or queue with an odd amount must not be in its way."""
    odd = NODE + "---\nkind: Queue\nmetadata: {name: light}\nspec: {weight: 0}\n"
    result = simulate("-f", "-", "-o", output, stdin=odd)
    assert result.exit_code == 0
    assert "spec.weight: 0 is below 1" in result.stderr
    assert "spec.weight" not in result.stdout
    if output == "json":
        assert "light" in json.loads(result.stdout)["queues"]


# -- what is wrong with the input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        pytest.param("a: 1\nb: ]", "standard input: not YAML: line 2, column 4: did not find", id="no YAML"),
        pytest.param("- a\n- b", "standard input, document 1: found list, expected an object", id="a list"),
        pytest.param("just words", "standard input, document 1: found str, expected an object", id="text"),
        pytest.param(
            "kind: Pod\nmetadata: {}", "standard input, document 1 (Pod ?): metadata.name is missing", id="no name"
        ),
        pytest.param(
            "kind: Node\nmetadata: {name: 7}",
            "standard input, document 1 (Node 7): metadata.name is 7, expected text: put it in quotes",
            id="a number as name",
        ),
        pytest.param("kind: Pod\nmetadata: nonsense", "metadata.name is missing", id="metadata is text"),
        pytest.param(
            f"{NODE}---\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: 7}}",
            "standard input, document 2 (Pod p): Expected `array`, got `int` - at `$.spec.containers`",
            id="a field of the wrong type",
        ),
        pytest.param(
            "kind: PodGroup\nmetadata: {name: g}\nspec: {minMember: many}",
            "(PodGroup g): Expected `int`, got `str` - at `$.spec.minMember`",
            id="no number",
        ),
        pytest.param(
            "kind: Pod\nmetadata: {name: p, creationTimestamp: yesterday}",
            "(Pod p): Invalid RFC3339 encoded datetime - at `$.metadata.creationTimestamp`",
            id="no time",
        ),
    ],
)
def test_a_manifest_that_cannot_be_read_is_named_with_its_place(manifest: str, said: str) -> None:
    assert said in refused("-f", "-", stdin=manifest)


def test_standard_input_that_is_no_text_is_named() -> None:
    result = CliRunner().invoke(main, ["simulate", "-f", "-"], input=b"a: \xff\xfe")
    assert (result.exit_code, result.stderr) == (1, "Error: standard input: not text in UTF-8\n")


def test_files_that_are_missing_empty_or_no_text_are_named(tmp_path: Path) -> None:
    assert f"{tmp_path / 'nowhere'}: no such file or folder" in refused("-f", str(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    assert f"{tmp_path / 'empty'}: no .yaml, .yml or .json file in it" in refused("-f", str(tmp_path / "empty"))
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    assert f"{binary}: not a text file in UTF-8" in refused("-f", str(binary))


def test_an_invalid_configuration_is_reported_with_line_and_column(tmp_path: Path, file: Path) -> None:
    conf = tmp_path / "conf"
    conf.write_text(CONF.format(name="gnag"))
    said = refused("-f", str(file), "--scheduler-conf", str(conf))
    assert "the scheduler configuration is invalid:" in said
    assert f"{conf}:4:" in said
    assert "gnag" in said


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="no manifests"),
        pytest.param(("-f", "-", "--cycles", "1", "--until-stable"), id="two ways to end"),
        pytest.param(("-f", "-", "--cycles", "-1"), id="less than no cycles"),
        pytest.param(("-f", "-", "--output", "xml"), id="an unknown format"),
        pytest.param(("-f", "-", "--scheduler-conf", "/no/such/file"), id="no such configuration"),
        pytest.param(("-f", "-", "--surprise"), id="an unknown option"),
    ],
)
def test_a_wrong_command_line_ends_with_2(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["simulate", *arguments], input="")
    assert result.exit_code == 2
    assert result.stdout == ""


def test_the_help_shows_how_it_is_used() -> None:
    reported = CliRunner().invoke(main, ["simulate", "--help"]).stdout
    for word in ("--filename", "--scheduler-conf", "--cycles", "--until-stable", "--output", "Examples:"):
        assert word in reported
