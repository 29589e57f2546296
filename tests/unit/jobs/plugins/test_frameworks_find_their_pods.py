"""`env`, `pytorch`, `tensorflow`, `mpi`, `ray` and `hcclrank`: what each framework reads, in each pod of a job."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess

import pytest

from tests.unit.jobs.plugins.working import Manifest, env_of, job_of, kept, plugins_of, pod_of, ports_of
from volcano_py.jobs.plugins import JobPlugin, PluginArgumentError
from volcano_py.jobs.plugins.env import EnvPlugin
from volcano_py.jobs.plugins.hcclrank import HcclRankPlugin
from volcano_py.jobs.plugins.mpi import MpiPlugin
from volcano_py.jobs.plugins.pytorch import PytorchPlugin
from volcano_py.jobs.plugins.ray import RayPlugin
from volcano_py.jobs.plugins.tensorflow import TensorflowPlugin


@pytest.mark.parametrize(
    ("wanted", "plugins"),
    [
        ("mpi", ["ssh", "svc", "mpi"]),
        ("pytorch", ["svc", "pytorch"]),
        ("tensorflow", ["svc", "tensorflow"]),
        ("ray", ["svc", "ray"]),
        ("env", ["env"]),
        ("ssh", ["ssh"]),
        ("hcclrank", ["hcclrank"]),
    ],
)
def test_a_plugin_brings_along_what_it_needs(wanted: str, plugins: list[str]) -> None:
    assert plugins_of({wanted: []}) == plugins


# env


@pytest.mark.parametrize("init", [False, True])
def test_every_container_knows_the_number_of_its_pod(init: bool) -> None:
    pod = pod_of(job_of(worker=8), EnvPlugin(), task="worker", index=7)
    assert env_of(pod, init=init) == {"VK_TASK_INDEX": "7", "VC_TASK_INDEX": "7"}


def test_what_a_plugin_sets_replaces_what_the_template_has() -> None:
    own = [{"name": "VC_TASK_INDEX", "value": "me"}, {"name": "MINE", "value": "1"}]
    pod = pod_of(job_of(w=1), EnvPlugin(), task="w", containers=[{"name": "w", "env": own}])
    assert pod["spec"]["containers"][0]["env"] == [
        {"name": "MINE", "value": "1"},
        {"name": "VK_TASK_INDEX", "value": "0"},
        {"name": "VC_TASK_INDEX", "value": "0"},
    ]


# pytorch

TORCH = {"MASTER_ADDR": "train-master-0.train", "MASTER_PORT": "23456", "WORLD_SIZE": "3"}


def test_ranks_count_from_the_master_over_the_workers() -> None:
    job = job_of(master=1, worker=2)
    assert env_of(pod_of(job, PytorchPlugin(), task="master")) == {**TORCH, "RANK": "0"}
    assert env_of(pod_of(job, PytorchPlugin(), task="worker", index=0)) == {**TORCH, "RANK": "1"}
    assert env_of(pod_of(job, PytorchPlugin(), task="worker", index=1)) == {**TORCH, "RANK": "2"}


def test_another_task_has_no_rank_and_is_not_counted() -> None:
    assert env_of(pod_of(job_of(master=1, worker=2, board=4), PytorchPlugin(), task="board")) == TORCH


def test_tasks_and_port_go_by_the_names_in_the_arguments() -> None:
    plugin = PytorchPlugin(["--master=boss", "--worker=hand", "--port=4000"])
    pod = pod_of(job_of(boss=1, hand=1), plugin, task="hand")
    assert env_of(pod) == {
        "MASTER_ADDR": "train-boss-0.train", "MASTER_PORT": "4000", "WORLD_SIZE": "2", "RANK": "1",
    }  # fmt: skip
    assert ports_of(pod) == {"pytorchjob-port": 4000}


def test_a_port_that_is_declared_already_is_not_declared_twice() -> None:
    own: Manifest = {"name": "master", "ports": [{"name": "mine", "containerPort": 23456}]}
    pod = pod_of(job_of(master=1), PytorchPlugin(), task="master", containers=[own])
    assert ports_of(pod) == {"mine": 23456}


def test_the_masters_own_hostname_is_its_address() -> None:
    job = job_of(master=1, worker=1, templates={"master": {"hostname": "boss", "subdomain": "office"}})
    assert env_of(pod_of(job, PytorchPlugin(), task="worker"))["MASTER_ADDR"] == "boss.office"


def test_without_a_master_nothing_is_set() -> None:
    pod = pod_of(job_of(worker=1), PytorchPlugin(), task="worker")
    assert (env_of(pod), ports_of(pod)) == ({}, {})


WAITING = ["--wait-master-enabled=true", "--wait-master-timeout=600", "--wait-master-image=alpine:3"]


def test_workers_can_wait_for_the_master() -> None:
    job = job_of(master=1, worker=1)
    _, waiting = pod_of(job, PytorchPlugin(WAITING), task="worker")["spec"]["initContainers"]
    assert (waiting["name"], waiting["image"]) == ("wait-for-master", "alpine:3")
    assert waiting["command"][:2] == ["sh", "-c"]
    assert waiting["command"][4:] == ["train-master-0.train", "23456", "600"]
    assert len(pod_of(job, PytorchPlugin(WAITING), task="master")["spec"]["initContainers"]) == 1
    assert len(pod_of(job, PytorchPlugin(), task="worker")["spec"]["initContainers"]) == 1


def test_a_container_of_that_name_is_left_alone() -> None:
    own = [{"name": "wait-for-master", "image": "mine"}]
    pod = pod_of(job_of(master=1, worker=1), PytorchPlugin(WAITING), task="worker", initContainers=own)
    assert pod["spec"]["initContainers"] == own


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash on this machine")
def test_the_script_waits_for_a_port_and_gives_up_in_time() -> None:
    command = pod_of(job_of(master=1, worker=1), PytorchPlugin(WAITING), task="worker")["spec"]["initContainers"][1]
    script = command["command"][2]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        answer = subprocess.run(
            ["bash", "-c", script, "wait", "127.0.0.1", port, "5"], capture_output=True, text=True, check=True
        )
        assert answer.stdout == f"master 127.0.0.1:{port} answers\n"
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # the port is taken, and nothing listens
        port = str(closed.getsockname()[1])
        answer = subprocess.run(
            ["bash", "-c", script, "wait", "127.0.0.1", port, "0"], capture_output=True, text=True, check=False
        )
    assert (answer.returncode, answer.stderr) == (1, f"master 127.0.0.1:{port} has not answered within 0 s\n")


# tensorflow


def test_tensorflow_reads_the_whole_cluster_and_its_own_place_in_it() -> None:
    job = job_of(ps=1, worker=2, chief=1, board=1)
    config = json.loads(env_of(pod_of(job, TensorflowPlugin(), task="worker", index=1))["TF_CONFIG"])
    assert config == {
        "cluster": {
            "ps": ["train-ps-0.train:2222"],
            "worker": ["train-worker-0.train:2222", "train-worker-1.train:2222"],
            "chief": ["train-chief-0.train:2222"],
        },
        "task": {"type": "worker", "index": 1},
    }


def test_roles_go_by_the_names_in_the_arguments() -> None:
    plugin = TensorflowPlugin(["--ps=server", "--evaluator=judge", "--port=3000"])
    config = json.loads(env_of(pod_of(job_of(server=1, judge=1), plugin, task="judge"))["TF_CONFIG"])
    assert config["cluster"] == {"ps": ["train-server-0.train:3000"], "evaluator": ["train-judge-0.train:3000"]}
    assert config["task"] == {"type": "evaluator", "index": 0}


def test_a_single_pod_is_no_cluster() -> None:
    assert env_of(pod_of(job_of(worker=1), TensorflowPlugin(), task="worker")) == {}
    assert "TF_CONFIG" in env_of(pod_of(job_of(worker=1, board=0), TensorflowPlugin(), task="worker"))


# mpi


def test_the_master_gets_the_list_of_its_workers() -> None:
    job = job_of(master=1, worker=2)
    pod = pod_of(job, MpiPlugin(), task="master")
    hosts = {"MPI_HOST": "train-worker-0.train,train-worker-1.train"}
    assert env_of(pod) == env_of(pod, init=True) == hosts
    assert env_of(pod_of(job, MpiPlugin(), task="worker")) == {}


def test_all_pods_open_the_port_of_sshd() -> None:
    job = job_of(mpimaster=1, mpiworker=2)
    plugin = MpiPlugin(["--master=mpimaster", "--worker=mpiworker", "--port=5000"])
    for task in ("mpimaster", "mpiworker"):
        assert ports_of(pod_of(job, plugin, task=task)) == {"mpijob-port": 5000}
    assert env_of(pod_of(job, plugin, task="mpimaster"))["MPI_HOST"].startswith("train-mpiworker-0.train,")


def test_a_master_without_workers_is_left_alone() -> None:
    pod = pod_of(job_of(master=1), MpiPlugin(), task="master")
    assert (env_of(pod), ports_of(pod)) == ({}, {})


# ray

HEAD = (
    "ray start --head --block --dashboard-host=0.0.0.0 --port=6379 --dashboard-port=8265 --ray-client-server-port=10001"
)


def test_the_head_starts_ray_and_workers_join_it() -> None:
    job = job_of(head=1, worker=2)
    head = pod_of(job, RayPlugin(), task="head")
    assert head["spec"]["containers"][0]["command"] == ["sh", "-c", HEAD]
    assert ports_of(head) == {"gcs": 6379, "dashboard": 8265, "client-server": 10001}
    worker = pod_of(job, RayPlugin(), task="worker")
    join = "ray start --block --address=train-head-0.train:6379"
    assert worker["spec"]["containers"][0]["command"] == ["sh", "-c", join]
    assert ports_of(worker) == {}


def test_only_the_containers_named_run_ray() -> None:
    both = [{"name": "side", "command": ["side"]}, {"name": "main"}]
    pod = pod_of(job_of(head=1), RayPlugin(["--headContainer=main"]), task="head", containers=both)
    assert pod["spec"]["containers"][0] == {"name": "side", "command": ["side"]}
    assert pod["spec"]["containers"][1]["command"] == ["sh", "-c", HEAD]


def test_a_service_stands_in_front_of_the_head() -> None:
    service = kept(job_of(head=1, worker=1), RayPlugin())["Service"]
    assert service["metadata"]["name"] == "train-head-svc"
    assert service["spec"]["selector"] == {
        "volcano.sh/job-name": "train", "volcano.sh/job-namespace": "ns", "volcano.sh/task-spec": "head",
    }  # fmt: skip
    assert [(port["name"], port["port"], port["targetPort"]) for port in service["spec"]["ports"]] == [
        ("gcs", 6379, 6379), ("dashboard", 8265, 8265), ("client-server", 10001, 10001),
    ]  # fmt: skip


@pytest.mark.parametrize("argument", ["--clientPort=7000", "--clientServerPort=7000"])
def test_the_clients_port_has_two_names(argument: str) -> None:
    assert ports_of(pod_of(job_of(head=1), RayPlugin([argument]), task="head"))["client-server"] == 7000


def test_a_cluster_without_a_head_is_refused_before_any_pod_is_created() -> None:
    with pytest.raises(PluginArgumentError, match=r"task 'head' does not exist \(tasks: boss, worker\); .* --head"):
        RayPlugin().objects(job_of(boss=1, worker=1))


def test_ports_must_differ() -> None:
    with pytest.raises(PluginArgumentError, match="three different ports"):
        RayPlugin(["--dashboardPort=6379"])


# hcclrank


def rank(pod: Manifest) -> str:
    found: str = pod["metadata"].get("annotations", {}).get("hccl/rankIndex", "")
    return found


def test_ranks_are_annotated_masters_first() -> None:
    job = job_of(master=2, worker=2, board=1)
    pods = [("master", 0), ("master", 1), ("worker", 0), ("worker", 1), ("board", 0)]
    ranks = [rank(pod_of(job, HcclRankPlugin(), task=task, index=index)) for task, index in pods]
    assert ranks == ["0", "1", "2", "3", ""]


def test_a_rank_given_otherwise_holds() -> None:
    job = job_of(master=1, worker=2)
    assert rank(pod_of(job, PytorchPlugin(), HcclRankPlugin(), task="worker", index=1)) == "2"
    pod = pod_of(job, task="worker")
    pod["metadata"]["annotations"] = {"hccl/rankIndex": "9"}
    worker = job.task("worker")
    assert worker is not None
    HcclRankPlugin().on_pod_create(pod, job, worker, 0)
    assert rank(pod) == "9"


# tasks that do not exist


def test_a_job_without_the_task_of_the_master_is_told_what_its_pods_do_not_get() -> None:
    """Its pods run all the same, as under Volcano, and each would be a cluster of its own."""
    (of_pytorch,) = PytorchPlugin(["--master=boss"]).remarks(job_of(worker=2))
    assert of_pytorch == (
        "spec.plugins.pytorch: task 'boss' does not exist (tasks: worker), so no pod gets MASTER_ADDR, MASTER_PORT, "
        "WORLD_SIZE or RANK; name the task with --master"
    )


def test_a_job_without_the_workers_of_mpi_is_told_so() -> None:
    (remark,) = MpiPlugin().remarks(job_of(master=1))
    assert remark == (
        "spec.plugins.mpi: task 'worker' does not exist (tasks: master), so no pod gets MPI_HOST; "
        "name the task with --worker"
    )
    assert MpiPlugin().remarks(job_of(worker=2)) == (), "it is refused"


@pytest.mark.parametrize("plugin", [PytorchPlugin(), MpiPlugin(), EnvPlugin()])
def test_a_job_with_all_tasks_is_told_nothing(plugin: JobPlugin) -> None:
    assert plugin.remarks(job_of(master=1, worker=2)) == ()
