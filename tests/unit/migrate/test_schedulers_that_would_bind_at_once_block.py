"""Volcano's scheduler: whether it runs, whether a Lease keeps volcano-py out, and which of its flags would be lost."""

from __future__ import annotations

import pytest

from tests.unit.migrate.stock import NOW, Stock, blocking
from volcano_py.migrate.model import Level, Part, Workload


def lease(stock: Stock, *, renewed: str = "2026-11-24T09:59:55.000000Z", holder: str = "volcano-scheduler-1") -> None:
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}
    stock.add("Lease", "volcano", "volcano-system", spec=spec)


def test_a_stock_scheduler_runs_without_a_lease() -> None:
    (finding,) = Stock().findings(Level.BLOCKS)
    assert finding.about == "Deployment volcano-system/volcano-scheduler"
    assert finding.message == (
        "it runs without a Lease: only volcano-py's own check for other schedulers keeps both from binding at the same "
        "time"
    )
    assert finding.fix.startswith("kubectl -n volcano-system scale deployment volcano-scheduler --replicas=0")


def test_one_that_is_scaled_to_zero_does_not_block() -> None:
    assert blocking(lambda stock: None) == []


def test_both_at_once_are_said() -> None:
    stock = Stock()
    stock.add_ours(2)
    (finding,) = stock.findings(Level.BLOCKS)
    assert "without a Lease, while Deployment volcano-system/volcano-py runs, too" in finding.message


@pytest.mark.parametrize("argument", ["--leader-elect=true", "--enable-metrics=true"], ids=["asked", "by default"])
def test_a_lease_that_is_held_keeps_volcano_py_out(argument: str) -> None:
    stock = Stock()
    stock.arguments[stock.arguments.index("--leader-elect=false")] = argument
    lease(stock)
    assert not stock.findings(Level.BLOCKS)
    assert "it holds a Lease" in stock.findings(Level.NOTE, "volcano-scheduler")[0].message


def test_a_lease_of_others_does_not_help_a_scheduler_that_asks_for_none() -> None:
    stock = Stock()
    lease(stock)
    assert stock.findings(Level.BLOCKS)


@pytest.mark.parametrize("state", [{"renewed": "2026-11-24T09:50:00.000000Z"}, {"holder": ""}], ids=["old", "free"])
def test_a_lease_that_nobody_holds_keeps_nothing_out(state: dict[str, str]) -> None:
    assert NOW.hour == 10
    stock = Stock()
    stock.arguments[stock.arguments.index("--leader-elect=false")] = "--leader-elect=true"
    lease(stock, **state)
    assert stock.findings(Level.BLOCKS)


def test_flags_that_the_overlay_does_not_set_are_named() -> None:
    stock = Stock()
    assert not stock.findings(Level.DIFFERS, "volcano-scheduler"), "those of a stock Volcano are defaults here, too"
    stock.arguments.extend(["--default-queue", "batch", "--schedule-period=2s", "--magic=on"])
    stock.arguments.append("--percentage-nodes-to-find=50")
    assert [each.message for each in stock.findings(Level.DIFFERS, "volcano-scheduler")] == [
        "it runs with --default-queue=batch, which the overlay does not set",
        "it runs with --magic=on, a flag that volcano-py does not have",
        "it runs with --schedule-period=2s, which the overlay does not set",
    ]


def test_other_places_and_names_block_because_the_overlay_expects_the_usual_ones() -> None:
    def elsewhere(stock: Stock) -> None:
        pod = stock.scheduler["spec"]["template"]["spec"]
        stock.scheduler["metadata"]["namespace"] = "batch"
        pod["serviceAccount"] = "vc-scheduler"
        pod["volumes"][0]["configMap"]["name"] = "vc-scheduler-configmap"

    place, config_map, account, configuration = blocking(elsewhere)
    assert "it is not in volcano-system" in place
    assert "its ConfigMap is called vc-scheduler-configmap; volcano-py uses volcano-scheduler-configmap" in config_map
    assert "its ServiceAccount is called vc-scheduler; volcano-py uses volcano-scheduler" in account
    assert configuration.startswith("ConfigMap batch/vc-scheduler-configmap: no configuration was found")


def test_a_scheduler_is_known_by_its_image_or_its_label() -> None:
    stock = Stock()
    del stock.scheduler["metadata"]["labels"]
    by_image = Workload.of(stock.scheduler)
    assert by_image is not None
    assert by_image.part is Part.SCHEDULER
    container = stock.scheduler["spec"]["template"]["spec"]["containers"][0]
    container["image"] = "registry.example.com/mirror/scheduler@sha256:00"
    assert Workload.of(stock.scheduler) is None
    stock.scheduler["metadata"]["labels"] = {"app": "volcano-scheduler"}
    by_label = Workload.of(stock.scheduler)
    assert by_label is not None
    assert by_label.part is Part.SCHEDULER


def test_a_cluster_without_volcano_says_so() -> None:
    stock = Stock()
    stock.remove("Deployment", "volcano-scheduler")
    assert stock.findings(Level.NOTE, "the cluster")[0].message == "no Deployment of a Volcano scheduler was found"
