"""What the processes are started with, and how simulated nodes look."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from volcano_py.local import components
from volcano_py.local.components import STAGES, Component
from volcano_py.local.controlplane import clean_environment
from volcano_py.local.nodes import simulated_node
from volcano_py.local.workdir.layout import DEFAULT_CONTROLLERS, Layout, Settings

_BINARY = Path("/bin/program")


def _flags(component: Component) -> dict[str, str]:
    pairs = (str(part).partition("=") for part in component.command[1:])
    return {name: value for name, _, value in pairs}


def test_every_file_on_a_command_line_is_there(tmp_path: Path) -> None:
    layout = Layout(tmp_path, Settings(audit_log=True))
    for component in (
        components.etcd(layout, _BINARY),
        components.kube_apiserver(layout, _BINARY),
        components.kube_controller_manager(layout, _BINARY),
        components.kube_scheduler(layout, _BINARY),
        components.kwok(layout.root, layout.ports["kwok"], layout.kubeconfig, _BINARY),
    ):
        for name, value in _flags(component).items():
            if value.startswith("/") and name not in ("--data-dir", "--audit-log-path", _OPEN_PATHS):
                assert Path(value).is_file(), f"{component.name} {name}={value}"


_OPEN_PATHS = "--authorization-always-allow-paths"


def test_everything_listens_on_the_loopback_interface_only(tmp_path: Path) -> None:
    layout = Layout(tmp_path, Settings())
    assert _flags(components.kube_apiserver(layout, _BINARY))["--bind-address"] == "127.0.0.1"
    assert _flags(components.kube_controller_manager(layout, _BINARY))["--bind-address"] == "127.0.0.1"
    assert _flags(components.kube_scheduler(layout, _BINARY))["--bind-address"] == "127.0.0.1"
    kwok = components.kwok(layout.root, 12345, layout.kubeconfig, _BINARY)
    assert _flags(kwok)["--server-address"] == "127.0.0.1:12345"
    for name in ("--listen-client-urls", "--listen-peer-urls"):
        assert _flags(components.etcd(layout, _BINARY))[name].startswith("https://127.0.0.1:")


def test_access_is_decided_by_rbac(tmp_path: Path) -> None:
    assert _flags(components.kube_apiserver(Layout(tmp_path, Settings()), _BINARY))["--authorization-mode"] == "RBAC"


def test_pods_need_a_service_account_only_where_a_controller_creates_it(tmp_path: Path) -> None:
    def disabled(name: str, controllers: tuple[str, ...]) -> str:
        layout = Layout(tmp_path / name, Settings(controllers=controllers))
        return _flags(components.kube_apiserver(layout, _BINARY))["--disable-admission-plugins"]

    assert disabled("with", DEFAULT_CONTROLLERS) == "TaintNodesByCondition"
    assert disabled("without", ()) == "TaintNodesByCondition,ServiceAccount"


def test_flags_of_the_user_come_last_and_so_win(tmp_path: Path) -> None:
    layout = Layout(tmp_path, Settings(apiserver_flags=("--profiling=true",)))
    assert components.kube_apiserver(layout, _BINARY).command[-1] == "--profiling=true"


def test_the_audit_log_is_written_on_request_and_records_pods_and_jobs(tmp_path: Path) -> None:
    assert "--audit-log-path" not in _flags(components.kube_apiserver(Layout(tmp_path / "off", Settings()), _BINARY))
    layout = Layout(tmp_path / "on", Settings(audit_log=True))
    flags = _flags(components.kube_apiserver(layout, _BINARY))
    assert flags["--audit-log-path"] == str(layout.audit_log)
    pods, jobs, rest = yaml.safe_load(Path(flags["--audit-policy-file"]).read_text())["rules"]
    assert pods["level"] == "Metadata"
    assert {"pods", "pods/binding"} <= set(pods["resources"][0]["resources"])
    assert (jobs["level"], jobs["verbs"]) == ("Metadata", ["create"])
    assert jobs["resources"] == [{"group": "batch.volcano.sh", "resources": ["jobs"]}]
    assert rest == {"level": "None"}


def test_every_request_of_an_audited_user_is_logged(tmp_path: Path) -> None:
    layout = Layout(tmp_path, Settings(audit_log=True, audited_users=("someone",)))
    policy = yaml.safe_load(layout.file("audit-policy.yaml").read_text())
    assert policy["rules"][0] == {"level": "Metadata", "users": ["someone"]}


def test_kwok_renews_leases_only_where_they_are_watched(tmp_path: Path) -> None:
    def options(lease_seconds: int) -> dict[str, Any]:
        components.kwok(tmp_path, 1, tmp_path / "kubeconfig", _BINARY, lease_seconds=lease_seconds)
        document: dict[str, Any] = yaml.safe_load((tmp_path / "kwok.yaml").read_text())
        return dict(document["options"])

    assert "nodeLeaseDurationSeconds" not in options(0)
    assert options(40)["nodeLeaseDurationSeconds"] == 40


def test_the_stages_of_simulated_nodes_and_pods_are_well_formed() -> None:
    documents = [d for path in sorted(STAGES.glob("*.yaml")) for d in yaml.safe_load_all(path.read_text()) if d]
    assert {(stage["spec"]["resourceRef"]["kind"], stage["metadata"]["name"]) for stage in documents} == {
        ("Node", "node-ready"),
        ("Node", "node-heartbeat"),
        ("Node", "node-not-ready"),
        ("Pod", "pod-ready"),
        ("Pod", "pod-complete"),
        ("Pod", "pod-fail"),
        ("Pod", "pod-delete"),
        ("Pod", "pod-delete-again"),
    }
    for stage in documents:
        assert stage["kind"] == "Stage"
        assert stage["spec"]["selector"]["matchExpressions"]
        assert stage["spec"]["steps"]


def test_what_is_done_about_a_pod_after_its_end_names_the_pod_by_its_uid() -> None:
    """By then another pod may have its name."""
    stages = [d for d in yaml.safe_load_all((STAGES / "pods.yaml").read_text()) if d]
    (again,) = [stage for stage in stages if stage["metadata"]["name"] == "pod-delete-again"]
    (step,) = again["spec"]["steps"]
    assert step["patch"]["root"] == "metadata"
    assert "uid: {{ .metadata.uid | Quote }}" in step["patch"]["template"]


def test_a_simulated_node_is_ready_and_managed_by_kwok() -> None:
    node = simulated_node("n1", allocatable={"cpu": "8"}, labels={"zone": "a"})
    assert node["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "n1"
    assert node["metadata"]["labels"]["zone"] == "a"
    assert node["status"]["allocatable"] == node["status"]["capacity"] == {"cpu": "8", "pods": "110"}
    assert {c["type"]: c["status"] for c in node["status"]["conditions"]} == {
        "Ready": "True",
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
    }


def test_a_simulated_node_can_say_how_many_pods_it_takes_and_which_taints_it_has() -> None:
    taint = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}
    node = simulated_node("n1", allocatable={"pods": "3"}, taints=[taint])
    assert node["status"]["allocatable"]["pods"] == "3"
    assert node["spec"]["taints"] == [taint]


def test_the_processes_do_not_see_what_our_environment_says_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """etcd would take ETCD_NAME for a flag."""
    monkeypatch.setenv("ETCD_NAME", "other")
    monkeypatch.setenv("GOMAXPROCS", "1")
    environment = clean_environment(tmp_path)
    assert "ETCD_NAME" not in environment
    assert environment["GOMAXPROCS"] == "1"
    assert environment["HOME"] == str(tmp_path)


def test_garbage_is_collected_less_often_while_there_is_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOGC", "GOMEMLIMIT"):
        monkeypatch.delenv(name, raising=False)
    environment = clean_environment(tmp_path)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert environment["GOGC"] == "400"
    assert 0 < int(environment["GOMEMLIMIT"]) < total / 3
    monkeypatch.setenv("GOGC", "100")
    assert clean_environment(tmp_path)["GOGC"] == "100", "what our environment says goes first"
