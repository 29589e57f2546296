"""What the configuration, the CRDs and the webhooks of the cluster mean for a move."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.registries import checked_registry
from tests.unit.docs.pages import PROJECT, anchors
from tests.unit.migrate.stock import QUEUES, Stock, blocking, program
from volcano_py.migrate.configuration import DIFFERENT
from volcano_py.migrate.model import Level, Unread


def test_what_is_unknown_here_blocks_with_its_line() -> None:
    text = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: homemade\n"
    (message,) = blocking(lambda stock: stock.configure(text))
    assert message.startswith("ConfigMap volcano-system/volcano-scheduler-configmap: line 5: ")
    assert "homemade" in message


def test_what_decides_otherwise_is_named_with_the_page() -> None:
    stock = Stock()
    stock.configure('actions: "allocate, reclaim"\ntiers:\n- plugins:\n  - name: capacity\n  - name: gang\n')
    found = {each.page: each.message for each in stock.findings(Level.NOTE, "volcano-scheduler-configmap")}
    assert found == {
        "docs/differences-from-volcano.md#victims": "reclaim: the page says what volcano-py decides differently",
        "docs/differences-from-volcano.md#queues": "capacity: the page says what volcano-py decides differently",
    }


def test_the_names_that_differ_are_plugins_and_actions() -> None:
    catalogue = checked_registry().catalogue()
    assert set(DIFFERENT) <= set(catalogue.plugins) | set(catalogue.actions)


def test_a_file_of_another_name_in_the_config_map_counts() -> None:
    stock = Stock()
    config_map = stock.named("ConfigMap", "volcano-scheduler-configmap")
    config_map["data"] = {"tuned.conf": config_map["data"]["volcano-scheduler.conf"]}
    stock.arguments[1] = "--scheduler-conf=/volcano.scheduler/tuned.conf"
    assert not stock.findings(Level.BLOCKS, "ConfigMap")


def crd(stock: Stock) -> dict[str, Any]:
    """The version of the CRD of queues."""
    version: dict[str, Any] = stock.named("CustomResourceDefinition", QUEUES)["spec"]["versions"][0]
    return version


def test_crds_of_our_own_leave_nothing_to_say() -> None:
    assert not [each for each in Stock().check().findings if "CustomResourceDefinition" in each.about]


def test_a_crd_that_is_missing_or_serves_another_version_blocks_if_scheduling_needs_it() -> None:
    about = f"CustomResourceDefinition {QUEUES}"
    assert blocking(lambda stock: stock.remove("CustomResourceDefinition", QUEUES)) == [f"{about}: it is not installed"]
    assert blocking(lambda stock: crd(stock).update(name="v1alpha2")) == [
        f"{about}: it serves v1alpha2; volcano-py reads v1beta1"
    ]
    assert blocking(lambda stock: stock.remove("CustomResourceDefinition", "jobflows.flow.volcano.sh")) == []


def test_fields_that_the_api_server_drops_are_named_once() -> None:
    stock = Stock()
    spec = crd(stock)["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["deserved"]
    del spec["properties"]["guarantee"]
    (finding,) = stock.findings(Level.NOTE, QUEUES)
    assert finding.message == (
        "the API server drops these fields, which volcano-py knows: spec.deserved, spec.guarantee"
    )
    del spec["properties"]
    spec["x-kubernetes-preserve-unknown-fields"] = True
    assert not stock.findings(Level.NOTE, QUEUES)


def test_crds_that_may_not_be_read_are_not_reported_as_missing() -> None:
    stock = Stock()
    stock.remove("CustomResourceDefinition", QUEUES)
    unread = Unread("CustomResourceDefinition", "forbidden")
    verdict = stock.check(unread=[unread])
    assert not [each for each in verdict.findings if "CustomResourceDefinition" in each.about]
    assert verdict.unread == (unread,)


def test_webhooks_say_what_waits_for_them() -> None:
    messages = {each.about: each.message for each in Stock().findings(Level.NOTE, "WebhookConfiguration")}
    assert messages == {
        "MutatingWebhookConfiguration volcano-admission-service-pods-mutate": (
            "every new pod waits for it; volcano-py does not need it, and has no webhook for pods"
        ),
        "ValidatingWebhookConfiguration volcano-admission-service-queues-validate": (
            "it checks queues by Volcano's rules, whichever scheduler runs"
        ),
    }


def test_strict_webhooks_that_nothing_answers_block() -> None:
    def stop(stock: Stock) -> None:
        stock.named("Deployment", "volcano-admission")["spec"]["replicas"] = 0

    pods, queues = blocking(stop)
    assert pods.endswith(
        "nothing answers for volcano-system/volcano-admission-service, and with failurePolicy Fail the API server "
        "refuses pods"
    )
    assert queues.endswith("refuses queues")


def test_webhooks_of_others_and_of_ours_are_left_out() -> None:
    stock = Stock()
    before = len(stock.check().findings)
    for name, service in (("a.example.com", "other"), ("queues.scheduling.volcano.sh", "volcano-py-admission")):
        webhook = {"name": name, "clientConfig": {"service": {"name": service, "namespace": "x"}}}
        stock.add("ValidatingWebhookConfiguration", name, webhooks=[webhook])
    assert len(stock.check().findings) == before


@pytest.mark.parametrize(
    "page", sorted({each.page for each in Stock().check().findings} | set(DIFFERENT.values()) - {""})
)
def test_pages_exist(page: str) -> None:
    path, _, anchor = page.partition("#")
    assert (PROJECT / path).is_file()
    assert not anchor or anchor in anchors(PROJECT / path)


def test_all_pages_that_the_code_names_exist() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (PROJECT / "volcano_py" / "migrate").glob("*.py"))
    pages = set(re.findall(r'"((?:docs|manifests)/[\w./-]+\.md)(?:#[\w-]+)?"', sources))
    assert len(pages) > 8
    assert not [page for page in pages if not (PROJECT / page).is_file()]
    assert program().crds
