"""The steps that move one cluster over, and the way back."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from volcano_py.api.names import SYSTEM_NAMESPACE
from volcano_py.migrate.check import Verdict
from volcano_py.migrate.model import OURS, Installation, Level, Workload
from volcano_py.migrate.schedulers import TAKE_OVER

_REPLICAS = 2


class Step(msgspec.Struct, frozen=True):
    """`text` says what is done and why; `commands` do it."""

    text: str
    commands: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """`there` moves the cluster over, `back` gives it back."""

    there: tuple[Step, ...]
    back: tuple[Step, ...]


def plan_of(installation: Installation, verdict: Verdict) -> Plan:
    """For this cluster, by the names that its objects have."""
    return Plan(tuple(_there(installation, verdict)), tuple(_back(installation)))


def _there(installation: Installation, verdict: Verdict) -> Iterator[Step]:
    theirs = installation.scheduler()
    if blocking := [each for each in verdict.of_level(Level.BLOCKS) if each.page != TAKE_OVER]:
        yield Step(
            "Fix what blocks: " + "; ".join(f"{each.about}: {each.message}" for each in blocking),
            tuple(dict.fromkeys(each.fix for each in blocking if each.fix.startswith(("kubectl ", "volcano-py ")))),
        )
    yield Step(
        "Look at what volcano-py would decide on a copy of the cluster.",
        ("volcano-py capture before.capture", "volcano-py simulate --from before.capture"),
    )
    if any(each.replicas for each in installation.workloads(None)):
        yield Step("Stop volcano-py for now.", (_scale(_ours(installation), OURS, 0),))
    yield from _install(theirs)
    if theirs is not None and theirs.replicas:
        yield Step(
            "Stop Volcano's scheduler, and wait until its pods are gone. Running pods stay; new pods wait.",
            (
                _scale(theirs.namespace, theirs.name, 0),
                _wait(theirs.namespace, f"app={theirs.labels.get('app', theirs.name)}"),
            ),
        )
        yield from _keepers(theirs)
    namespace = theirs.namespace if theirs is not None else SYSTEM_NAMESPACE
    yield Step(
        "Start volcano-py.",
        (
            _scale(namespace, OURS, _REPLICAS),
            f"kubectl -n {namespace} rollout status deployment {OURS}",
            "volcano-py migrate check",
        ),
    )


def _install(theirs: Workload | None) -> Iterator[Step]:
    if theirs is not None and theirs.namespace != SYSTEM_NAMESPACE:
        yield Step(
            "Install volcano-py without replicas, with your image.",
            (
                "volcano-py manifests --directory volcano-py",
                _helm_install(theirs.namespace),
            ),
        )
        return
    yield Step(
        "Name your image in a kustomization of your own, and install volcano-py without replicas.",
        (
            "volcano-py manifests --directory volcano-py",
            "kubectl apply -k volcano-py/manifests/overlays/take-over-from-volcano",
        ),
    )


def _keepers(theirs: Workload) -> Iterator[Step]:
    """What would scale it up again."""
    release = theirs.annotations.get("meta.helm.sh/release-name")
    if release:
        yield Step(
            f"Set custom.scheduler_replicas=0 in the Helm release {release}: its next upgrade would start it again."
        )
    marks = {**theirs.labels, **theirs.annotations}
    for mark, tool in (("argocd.argoproj.io/", "Argo CD"), ("toolkit.fluxcd.io/", "Flux")):
        if any(mark in name for name in marks):
            yield Step(f"{tool} manages {theirs.about}: set its replicas to 0 there, or it starts again.")


def _back(installation: Installation) -> Iterator[Step]:
    theirs = installation.scheduler()
    namespace = theirs.namespace if theirs is not None else _ours(installation)
    yield Step(
        "Stop volcano-py, and wait until its pods are gone.",
        (_scale(namespace, OURS, 0), _wait(namespace, f"app.kubernetes.io/name={OURS}")),
    )
    if theirs is not None:
        yield Step(
            "Start Volcano's scheduler again. It continues with the existing queues, PodGroups and pods.",
            (_scale(theirs.namespace, theirs.name, max(1, theirs.replicas)),),
        )
    yield Step(
        "Remove volcano-py, if you want to. Namespace, CRDs, ServiceAccount and ConfigMap stay.",
        ("kubectl delete -k volcano-py/manifests/overlays/take-over-from-volcano",)
        if namespace == SYSTEM_NAMESPACE
        else (f"helm uninstall {OURS} --namespace {namespace}",),
    )


def _ours(installation: Installation) -> str:
    """The namespace of volcano-py."""
    return next((each.namespace for each in installation.workloads(None)), SYSTEM_NAMESPACE)


def _helm_install(namespace: str) -> str:
    chart = "volcano-py/charts/volcano-py"
    return (
        f"helm install {OURS} {chart} --namespace {namespace} --set custom.take_over=true "
        "--set basic.image_registry=registry.example.com/"
    )


def _scale(namespace: str, name: str, replicas: int) -> str:
    return f"kubectl -n {namespace} scale deployment {name} --replicas={replicas}"


def _wait(namespace: str, selector: str) -> str:
    return f"kubectl -n {namespace} wait --for=delete pod --selector={selector} --timeout=120s"
