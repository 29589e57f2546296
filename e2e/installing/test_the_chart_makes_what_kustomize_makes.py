"""`helm template` and `kubectl kustomize`, object by object; and what values change."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from e2e.installing.helm import CHART, KUBERNETES, Helm, HelmError, Objects, by_name
from volcano_py.local.binaries.binaries import ensure_binaries
from volcano_py.local.kubectl import Kubectl
from volcano_py.shipped import shipped

HELMS_LABELS = ("helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/instance")
OF_PART = "app.kubernetes.io/part-of"
KEEP = "helm.sh/resource-policy"
MONITORS = {"service_monitor_enable": True, "pod_monitor_enable": True}
MONITORING = {"service_monitor_enable": True, "prometheus_rule_enable": True, "dashboards_enable": True}


@pytest.fixture(scope="session")
def kubectl() -> Kubectl:
    """`kubectl kustomize` needs no cluster."""
    return Kubectl(ensure_binaries(["kubectl"])["kubectl"], CHART / "no-kubeconfig")


def without_helms_marks(objects: Objects) -> Objects:
    """Without the labels by which Helm knows its objects; each object must have them."""
    found = copy.deepcopy(objects)
    for key, each in found.items():
        for label in HELMS_LABELS:
            assert each["metadata"]["labels"].pop(label), key
        if each["kind"] == "CustomResourceDefinition":
            assert each["metadata"]["annotations"][KEEP] == "keep", "it outlives a release"
    return found


def comparable(each: dict[str, Any]) -> dict[str, Any]:
    """Kustomizations differ in whether they label CRDs, too, and CRDs in whether they ask Helm to keep them."""
    labels = {**each["metadata"].get("labels", {})}
    annotations = {**each["metadata"].get("annotations", {})}
    if each["kind"] == "CustomResourceDefinition":
        labels.pop(OF_PART, None)
        annotations.pop(KEEP, None)
    return {**each, "metadata": {**each["metadata"], "labels": labels, "annotations": annotations}}


@pytest.mark.parametrize(
    ("kustomization", "values"),
    [
        ("", {}),
        ("overlays/admission", {"custom": {"admission_enable": True}}),
        ("overlays/take-over-from-volcano", {"custom": {"take_over": True}}),
        ("overlays/ui", {"ui": {"enabled": True}}),
    ],
    ids=["default", "admission", "take over", "page"],
)
async def test_objects_are_the_same(helm: Helm, kubectl: Kubectl, kustomization: str, values: dict[str, Any]) -> None:
    """But for the namespace, which Helm creates when it is asked to."""
    theirs = by_name(await kubectl("kustomize", str(shipped("manifests") / kustomization)))
    theirs.pop(("Namespace", "volcano-system"), None)
    ours = without_helms_marks(await helm.template_of(values))
    assert ours.keys() == theirs.keys()
    for key, each in theirs.items():
        assert comparable(ours[key]) == comparable(each), key


async def test_dashboards_alerts_and_the_monitor_are_the_same(helm: Helm, kubectl: Kubectl) -> None:
    theirs = by_name(await kubectl("kustomize", str(shipped("manifests") / "monitoring")))
    plain = await helm.template()
    ours = {key: each for key, each in (await helm.template(**MONITORING)).items() if key not in plain}
    assert ours.keys() == theirs.keys()
    monitor = ("ServiceMonitor", "volcano-py")
    assert ours.pop(monitor)["spec"] == theirs.pop(monitor)["spec"]
    ours = without_helms_marks(ours)
    for key, each in theirs.items():
        assert comparable(ours[key]) == comparable(each), key


async def test_labels_and_the_namespace_reach_dashboards_and_alerts(helm: Helm) -> None:
    objects = await helm.template(
        "batch",
        **MONITORING,
        monitoring_labels={"release": "prometheus"},
        dashboards_labels={"grafana_dashboard": "yes"},
        scheduler_config_override='actions: "allocate"\n',
        take_over=True,
    )
    rule, dashboard = objects["PrometheusRule", "volcano-py"], objects["ConfigMap", "volcano-py-dashboard-queues"]
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "yes"
    assert {rule["metadata"]["namespace"], dashboard["metadata"]["namespace"]} == {"batch"}
    assert dashboard["data"].keys() == {"volcano-py-queues.json"}


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"custom": {"admission_enable": True, **MONITORS, **MONITORING}, "ui": {"enabled": True}},
        {"custom": {"take_over": True, "scheduler_replicas": 2}},
    ],
    ids=["default", "everything", "take over"],
)
async def test_lint_has_no_complaint(helm: Helm, values: dict[str, Any]) -> None:
    given = [f"--set-json={key}={json.dumps(value)}" for key, value in values.items()]
    output = await helm("lint", "--strict", str(CHART), f"--kube-version={KUBERNETES}", *given)
    assert "0 chart(s) failed" in output


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"custom": {"scheduler_replicas": -1}}, "scheduler_replicas"),
        ({"custom": {"scheduler_replica": 2}}, "scheduler_replica"),
        ({"basic": {"image_registry": "registry.example.com"}}, "image_registry"),
        ({"custom": {"controller_worker_threads": 3}}, "controller_worker_threads"),
        ({"ui": {"enabled": True, "behind_tls_proxy": True}}, "allow_from"),
    ],
)
async def test_values_that_mean_nothing_here_are_refused(helm: Helm, values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(HelmError, match=complaint):
        await helm.template_of(values)


def container(objects: Objects) -> dict[str, Any]:
    """The daemon's."""
    (found,) = objects["Deployment", "volcano-py"]["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, dict)
    return found


async def test_values_reach_the_daemon(helm: Helm) -> None:
    objects = await helm.template_of(
        {
            "basic": {
                "image_registry": "registry.example.com/team/",
                "image_tag_version": "9.9",
                "image_pull_secret": "pull",
            },
            "custom": {
                "scheduler_replicas": 1,
                "scheduler_name": "batch",
                "leader_elect_enable": False,
                "controller_enable": False,
                "scheduler_kube_api_qps": 50,
                "scheduler_kube_api_burst": 100,
                "scheduler_schedule_period": "2s",
                "scheduler_log_level": 4,
                "scheduler_extra_args": ["--per-job-metrics"],
                "scheduler_resources": {"limits": {"memory": "1Gi"}},
                "default_ns": {"pool": "system"},
                "default_tolerations": [{"key": "a", "operator": "Exists"}],
                "scheduler_tolerations": [{"key": "b", "operator": "Exists"}],
                "scheduler_podLabels": {"team": "x"},
                "scheduler_config_override": 'actions: "allocate"\n',
                "common_labels": {"owner": "us"},
            },
        }
    )
    deployment = objects["Deployment", "volcano-py"]
    pod = deployment["spec"]["template"]
    assert deployment["spec"]["replicas"] == 1
    assert container(objects)["image"] == "registry.example.com/team/volcano-py:9.9"
    assert container(objects)["args"] == [
        "run",
        "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf",
        "--listen-address=:8080",
        "--leader-elect=false",
        "--controllers=none",
        "--scheduler-name=batch",
        "--kube-api-qps=50",
        "--kube-api-burst=100",
        "--schedule-period=2s",
        "--verbosity=4",
        "--per-job-metrics",
    ]
    assert container(objects)["resources"] == {"limits": {"memory": "1Gi"}}
    assert pod["spec"]["imagePullSecrets"] == [{"name": "pull"}]
    assert pod["spec"]["nodeSelector"] == {"pool": "system"}
    assert pod["spec"]["tolerations"] == [{"key": "b", "operator": "Exists"}], "the scheduler's own counts"
    assert pod["metadata"]["labels"] == {"app.kubernetes.io/name": "volcano-py", "team": "x", "owner": "us"}
    assert objects["ConfigMap", "volcano-scheduler-configmap"]["data"] == {
        "volcano-scheduler.conf": 'actions: "allocate"\n'
    }
    lease = objects["Role", "volcano-py-leader-election"]["rules"][1]
    assert lease["resourceNames"] == ["batch"]
    unlabelled = [key for key, each in objects.items() if each["metadata"]["labels"].get("owner") != "us"]
    assert {kind for kind, _ in unlabelled} == {"CustomResourceDefinition"}


async def test_the_page_goes_behind_a_proxy_and_takes_values(helm: Helm) -> None:
    ingress = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}
    objects = await helm.template_of(
        {
            "basic": {"image_registry": "registry.example.com/", "image_pull_secret": "pull"},
            "custom": {"scheduler_name": "batch", "take_over": True, "common_labels": {"owner": "us"}},
            "ui": {
                "enabled": True,
                "behind_tls_proxy": True,
                "allow_from": [ingress],
                "extra_args": ["--default-queue=x"],
                "resources": {"limits": {"memory": "1Gi"}},
            },
        }
    )
    pod = objects["Deployment", "volcano-py-ui"]["spec"]["template"]
    (page,) = pod["spec"]["containers"]
    assert page["args"] == [
        "ui",
        "--sign-in",
        "--listen-address=:8443",
        "--behind-tls-proxy",
        "--scheduler-name=batch",
        "--default-queue=x",
    ]
    assert page["image"].startswith("registry.example.com/volcano-py:")
    assert page["resources"] == {"limits": {"memory": "1Gi"}}
    assert page["livenessProbe"]["httpGet"]["scheme"] == "HTTP"
    assert pod["spec"]["imagePullSecrets"] == [{"name": "pull"}]
    assert not {"volumes"} & pod["spec"].keys()
    assert pod["metadata"]["labels"] == {"app.kubernetes.io/name": "volcano-py-ui", "owner": "us"}
    (rule,) = objects["NetworkPolicy", "volcano-py-ui"]["spec"]["ingress"]
    assert rule["from"] == [ingress]
    assert ("ServiceAccount", "volcano-py-ui") in objects, "a take-over has none of it yet"


async def test_everything_is_in_the_namespace_of_the_release(helm: Helm) -> None:
    objects = await helm.template_of({"custom": {"admission_enable": True}, "ui": {"enabled": True}}, "batch")
    assert "volcano-system" not in json.dumps([each for (kind, _), each in objects.items() if "Definition" not in kind])
    assert container(objects)["args"][-3:] == [
        "--config-namespace=batch",
        "--leader-elect-resource-namespace=batch",
        "--admission-service=batch/volcano-py-admission",
    ]


async def test_a_take_over_keeps_what_is_there_and_starts_when_it_is_scaled_up(helm: Helm) -> None:
    started = await helm.template(take_over=True, scheduler_replicas=2)
    assert started["Deployment", "volcano-py"]["spec"]["replicas"] == 2
    kept = {"CustomResourceDefinition", "ConfigMap", "ServiceAccount", "Namespace"}
    assert not kept & {kind for kind, _ in started}


async def test_switches_add_monitors_policies_and_conditions(helm: Helm) -> None:
    plain = await helm.template(crds_enable=False)
    with_all = await helm.template(
        crds_enable=False, network_policy_enable=True, monitoring_labels={"release": "prometheus"}, **MONITORS
    )
    assert with_all.keys() - plain.keys() == {
        ("NetworkPolicy", "volcano-py"),
        ("ServiceMonitor", "volcano-py"),
        ("PodMonitor", "volcano-py"),
    }
    ports = [each["name"] for each in plain["Service", "volcano-py-metrics"]["spec"]["ports"]]
    assert [each["port"] for each in with_all["ServiceMonitor", "volcano-py"]["spec"]["endpoints"]] == ports
    assert with_all["PodMonitor", "volcano-py"]["spec"]["podMetricsEndpoints"][0]["port"] in {
        each["name"] for each in container(plain)["ports"]
    }
    assert with_all["PodMonitor", "volcano-py"]["metadata"]["labels"]["release"] == "prometheus"


async def test_the_right_to_read_the_credentials_of_ufm_is_for_the_secret_that_is_named(
    helm: Helm, kubectl: Kubectl
) -> None:
    theirs = by_name(await kubectl("kustomize", str(shipped("manifests") / "ufm")))
    plain = await helm.template(crds_enable=False)
    granted = without_helms_marks(await helm.template(crds_enable=False, ufm_credentials_secret="ufm-credentials"))
    assert granted.keys() - plain.keys() == theirs.keys()
    for key, each in theirs.items():
        assert comparable(granted[key]) == comparable(each), key
    named = await helm.template("batch", crds_enable=False, ufm_credentials_secret="fabric")
    role, binding = (named[kind, "volcano-py-ufm-credentials"] for kind in ("Role", "RoleBinding"))
    assert [rule["resourceNames"] for rule in role["rules"]] == [["fabric"]]
    assert binding["subjects"][0]["namespace"] == role["metadata"]["namespace"] == "batch"


@pytest.mark.parametrize(
    ("source", "folder"), [("metrics-server", "node-load"), ("prometheus_adaptor", "node-load-custom-metrics")]
)
async def test_the_right_to_read_the_load_of_nodes_is_that_of_the_source(
    helm: Helm, kubectl: Kubectl, source: str, folder: str
) -> None:
    theirs = by_name(await kubectl("kustomize", str(shipped("manifests") / folder)))
    plain = await helm.template(crds_enable=False)
    granted = without_helms_marks(await helm.template(crds_enable=False, node_load_from=source))
    assert granted.keys() - plain.keys() == theirs.keys()
    for key, each in theirs.items():
        assert comparable(granted[key]) == comparable(each), key
    binding = (await helm.template("batch", node_load_from=source))["ClusterRoleBinding", f"volcano-py-{folder}"]
    assert binding["subjects"][0]["namespace"] == "batch"


async def test_queue_gates_bring_their_policy_where_the_cluster_knows_such_and_the_right_everywhere(
    helm: Helm, kubectl: Kubectl
) -> None:
    theirs = by_name(await kubectl("kustomize", str(shipped("manifests") / "overlays" / "queue-gates")))
    plain = await helm.template(crds_enable=False)
    added = without_helms_marks(await helm.template(crds_enable=False, queue_gates_enable=True))
    assert added.keys() - plain.keys() == theirs.keys()
    for key, each in theirs.items():
        assert comparable(added[key]) == comparable(each), key
    wanted = {"crds_enable": False, "queue_gates_enable": True}
    older = await helm.template_of({"custom": wanted}, "batch", kubernetes="1.35.0")
    assert {kind for kind, _ in older.keys() - plain.keys()} == {"ClusterRole", "ClusterRoleBinding"}
    assert older["ClusterRoleBinding", "volcano-py-queue-gates"]["subjects"][0]["namespace"] == "batch"
    named = await helm.template(scheduler_name="batch", **wanted)
    conditions = named["MutatingAdmissionPolicy", "volcano-py-queue-gates"]["spec"]["matchConditions"]
    assert conditions[0]["expression"] == "object.spec.schedulerName == 'batch'"


async def test_webhooks_leave_out_further_namespaces(helm: Helm) -> None:
    more = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["excluded"]}
    objects = await helm.template(admission_enable=True, webhooks_namespace_selector_expressions=[more])
    for (kind, _), each in objects.items():
        for webhook in each.get("webhooks", ()) if kind.endswith("WebhookConfiguration") else ():
            if "namespaceSelector" in webhook:
                assert webhook["namespaceSelector"]["matchExpressions"][-1] == more
