"""`svc`: names, the ConfigMap that lists them, the Service that serves them and the policy that keeps others out."""

from __future__ import annotations

import pytest

from tests.unit.jobs.plugins.working import env_of, job_of, kept, pod_of
from volcano_py.jobs.plugins.svc import SvcPlugin


def test_a_pod_has_its_name_in_dns_below_the_jobs() -> None:
    spec = pod_of(job_of(worker=2), SvcPlugin(), task="worker", index=1)["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("train-worker-1", "train")


def test_a_name_that_the_template_sets_stays() -> None:
    spec = pod_of(job_of(worker=2), SvcPlugin(), task="worker", hostname="boss", subdomain="office")["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("boss", "office")


def test_the_config_map_lists_the_hosts_of_every_task() -> None:
    data = kept(job_of(ps=1, big_worker=2), SvcPlugin())["ConfigMap"]["data"]
    assert data == {
        "ps.host": "train-ps-0.train",
        "VC_PS_HOSTS": "train-ps-0.train",
        "VC_PS_NUM": "1",
        "big_worker.host": "train-big-worker-0.train\ntrain-big-worker-1.train",
        "VC_BIG_WORKER_HOSTS": "train-big-worker-0.train,train-big-worker-1.train",
        "VC_BIG_WORKER_NUM": "2",
    }


def test_a_task_with_its_own_hostname_is_one_host() -> None:
    job = job_of(worker=3, templates={"worker": {"hostname": "boss", "subdomain": "office"}})
    data = kept(job, SvcPlugin())["ConfigMap"]["data"]
    assert (data["VC_WORKER_HOSTS"], data["VC_WORKER_NUM"]) == ("boss.office", "1")


def test_a_task_without_pods_has_no_hosts() -> None:
    data = kept(job_of(worker=0), SvcPlugin())["ConfigMap"]["data"]
    assert (data["worker.host"], data["VC_WORKER_HOSTS"], data["VC_WORKER_NUM"]) == ("", "", "0")


def test_only_the_list_of_hosts_follows_the_job() -> None:
    following = {each.kind for each in SvcPlugin().objects(job_of(worker=1)) if each.follows_job}
    assert following == {"ConfigMap"}


@pytest.mark.parametrize("init", [False, True])
def test_every_container_gets_the_lists_as_variables(init: bool) -> None:
    env = env_of(pod_of(job_of(ps=1, big_worker=2), SvcPlugin(), task="ps"), init=init)
    assert list(env) == ["VC_PS_HOSTS", "VC_PS_NUM", "VC_BIG_WORKER_HOSTS", "VC_BIG_WORKER_NUM"]
    assert env["VC_BIG_WORKER_NUM"] == {"configMapKeyRef": {"name": "train-svc", "key": "VC_BIG_WORKER_NUM"}}


def test_the_variables_can_be_left_out_and_the_files_stay() -> None:
    pod = pod_of(job_of(ps=1), SvcPlugin(["--inject-hosts-env=false"]), task="ps")
    assert env_of(pod) == {}
    assert pod["spec"]["volumes"] == [{"name": "train-svc", "configMap": {"name": "train-svc"}}]
    for container in (*pod["spec"]["containers"], *pod["spec"]["initContainers"]):
        assert container["volumeMounts"] == [{"name": "train-svc", "mountPath": "/etc/volcano"}]


def test_the_service_has_no_address_of_its_own_and_selects_the_jobs_pods() -> None:
    service = kept(job_of(worker=1), SvcPlugin())["Service"]
    assert service["metadata"]["name"] == "train"
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": {"volcano.sh/job-name": "train", "volcano.sh/job-namespace": "ns"},
    }


def test_names_of_pods_that_are_not_ready_can_be_published() -> None:
    service = kept(job_of(worker=1), SvcPlugin(["--publish-not-ready-addresses"]))["Service"]
    assert service["spec"]["publishNotReadyAddresses"] is True


def test_only_the_jobs_own_pods_reach_them() -> None:
    spec = kept(job_of(worker=1), SvcPlugin())["NetworkPolicy"]["spec"]
    own = {"matchLabels": {"volcano.sh/job-name": "train", "volcano.sh/job-namespace": "ns"}}
    assert spec == {"podSelector": own, "ingress": [{"from": [{"podSelector": own}]}], "policyTypes": ["Ingress"]}


def test_the_policy_can_be_left_out() -> None:
    assert set(kept(job_of(worker=1), SvcPlugin(["--disable-network-policy=true"]))) == {"ConfigMap", "Service"}


def test_a_long_name_still_makes_a_valid_volume() -> None:
    """A volume's name has at most 63 characters, and no dots; a job's name may have both."""
    for name in ("j" * 60, "team.train"):
        pod = pod_of(job_of(name, worker=1), SvcPlugin(), task="worker")
        assert pod["spec"]["volumes"] == [{"name": "volcano-svc", "configMap": {"name": f"{name}-svc"}}]
        assert pod["spec"]["containers"][0]["volumeMounts"][0]["name"] == "volcano-svc"


def test_what_the_user_mounts_there_stays() -> None:
    own = [{"name": "mine", "mountPath": "/etc/volcano"}]
    pod = pod_of(job_of(w=1), SvcPlugin(), task="w", containers=[{"name": "w", "volumeMounts": own}])
    assert pod["spec"]["containers"][0]["volumeMounts"] == own
