"""The steps, with the names of this cluster, and the way back."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.migrate.stock import Stock
from volcano_py.migrate.plan import Plan, plan_of


def plan(change: Callable[[Stock], object] = lambda stock: None) -> Plan:
    stock = Stock()
    change(stock)
    return plan_of(stock.installation(), stock.check())


def commands(plan: Plan) -> list[str]:
    return [command for step in plan.there for command in step.commands]


def test_of_a_stock_cluster_the_other_stops_before_ours_starts() -> None:
    found = commands(plan())
    stop = found.index("kubectl -n volcano-system scale deployment volcano-scheduler --replicas=0")
    gone = found.index(
        "kubectl -n volcano-system wait --for=delete pod --selector=app=volcano-scheduler --timeout=120s"
    )
    start = found.index("kubectl -n volcano-system scale deployment volcano-py --replicas=2")
    apply = found.index("kubectl apply -k volcano-py/manifests/overlays/take-over-from-volcano")
    assert apply < stop < gone < start


def test_the_way_back_is_in_the_other_order_with_as_many_replicas() -> None:
    back = plan(lambda stock: stock.scheduler["spec"].update(replicas=3)).back
    assert [step.commands[0] for step in back] == [
        "kubectl -n volcano-system scale deployment volcano-py --replicas=0",
        "kubectl -n volcano-system scale deployment volcano-scheduler --replicas=3",
        "kubectl delete -k volcano-py/manifests/overlays/take-over-from-volcano",
    ]


def test_what_blocks_is_fixed_first() -> None:
    def break_it(stock: Stock) -> None:
        stock.remove("CustomResourceDefinition", "queues.scheduling.volcano.sh")

    first = plan(break_it).there[0]
    assert first.text == ("Fix what blocks: CustomResourceDefinition queues.scheduling.volcano.sh: it is not installed")
    assert first.commands == ("volcano-py manifests crds | kubectl apply --server-side -f -",)


def test_ours_is_stopped_first_if_both_run() -> None:
    texts = [step.text for step in plan(lambda stock: stock.add_ours(2)).there]
    assert texts.index("Stop volcano-py for now.") < texts.index(
        "Stop Volcano's scheduler, and wait until its pods are gone. Running pods stay; new pods wait."
    )


def test_what_would_start_it_again_is_named() -> None:
    def managed(stock: Stock) -> None:
        metadata = stock.scheduler["metadata"]
        metadata["annotations"] = {
            "meta.helm.sh/release-name": "volcano",
            "argocd.argoproj.io/tracking-id": "volcano:apps/Deployment:volcano-system/volcano-scheduler",
        }
        metadata["labels"]["kustomize.toolkit.fluxcd.io/name"] = "volcano"

    texts = " ".join(step.text for step in plan(managed).there)
    assert "Set custom.scheduler_replicas=0 in the Helm release volcano" in texts
    assert "Argo CD manages Deployment volcano-system/volcano-scheduler" in texts
    assert "Flux manages" in texts


def test_in_another_namespace_the_chart_is_used() -> None:
    moved = plan(lambda stock: stock.scheduler["metadata"].update(namespace="batch"))
    assert any(
        command.startswith("helm install volcano-py") and "--namespace batch" in command for command in commands(moved)
    )
    assert "kubectl -n batch scale deployment volcano-py --replicas=2" in commands(moved)
    assert moved.back[-1].commands == ("helm uninstall volcano-py --namespace batch",)


def test_one_that_is_stopped_already_is_not_stopped_again() -> None:
    stopped = plan(lambda stock: stock.scheduler["spec"].update(replicas=0))
    assert not any("volcano-scheduler --replicas=0" in command for command in commands(stopped))
    assert stopped.back[1].commands == ("kubectl -n volcano-system scale deployment volcano-scheduler --replicas=1",)
