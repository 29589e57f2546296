"""The CRDs of the cluster, and Volcano's webhooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from volcano_py.migrate.model import Finding, Installation, Level, Part, Raw

_INSTALL: Final = "volcano-py manifests crds | kubectl apply --server-side -f -"
_CRDS_PAGE: Final = "manifests/README.md"
_ADMISSION_PAGE: Final = "docs/guide/admission.md"
_NEEDED: Final = frozenset({"queues.scheduling.volcano.sh", "podgroups.scheduling.volcano.sh"})
"""Without these two nothing is scheduled; the others are for controllers."""
_OUR_SERVICE: Final = "volcano-py-admission"


def of_crds(installation: Installation, ours: Mapping[str, Raw]) -> Iterator[Finding]:
    """Against `ours`, by name: those that are missing, serve another version, or drop fields."""
    if any(each.what == "CustomResourceDefinition" for each in installation.unread):
        return
    there = {each["metadata"]["name"]: each for each in installation.of_kind("CustomResourceDefinition")}
    for name, wanted in ours.items():
        about = f"CustomResourceDefinition {name}"
        level = Level.BLOCKS if name in _NEEDED else Level.NOTE
        version = wanted["spec"]["versions"][0]["name"]
        if name not in there:
            yield Finding(level, about, "it is not installed", _INSTALL, _CRDS_PAGE)
            continue
        served = {each["name"]: each for each in there[name]["spec"]["versions"] if each.get("served")}
        if version not in served:
            found = ", ".join(sorted(served)) or "none"
            yield Finding(
                level, about, f"it serves {found}; volcano-py reads {version}", "upgrade Volcano's CRDs", _CRDS_PAGE
            )
            continue
        if dropped := sorted(_missing(_spec(wanted["spec"]["versions"][0]), _spec(served[version]), "spec")):
            yield Finding(
                Level.NOTE,
                about,
                f"the API server drops these fields, which volcano-py knows: {', '.join(dropped)}",
                f"to use them: {_INSTALL}",
                _CRDS_PAGE,
            )


def of_webhooks(installation: Installation) -> Iterator[Finding]:
    """Webhooks of Volcano's admission: which requests wait for them, and whether anything answers."""
    answering = {each.namespace for each in installation.workloads(Part.ADMISSION) if each.replicas}
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for configuration in installation.of_kind(kind):
            for webhook in configuration.get("webhooks") or ():
                service = (webhook.get("clientConfig") or {}).get("service") or {}
                if webhook["name"].endswith(".volcano.sh") and service.get("name") not in (None, _OUR_SERVICE):
                    yield from _of_webhook(f"{kind} {configuration['metadata']['name']}", webhook, service, answering)


def _of_webhook(about: str, webhook: Raw, service: Raw, answering: set[str]) -> Iterator[Finding]:
    what = sorted({resource for rule in webhook.get("rules") or () for resource in rule.get("resources") or ()})
    is_strict = webhook.get("failurePolicy", "Fail") == "Fail"
    where = f"{service.get('namespace', '')}/{service['name']}"
    if is_strict and service.get("namespace") not in answering:
        yield Finding(
            Level.BLOCKS,
            about,
            f"nothing answers for {where}, and with failurePolicy Fail the API server refuses {', '.join(what)}",
            "start Volcano's admission again, or delete this configuration",
            _ADMISSION_PAGE,
        )
    elif "pods" in what:
        wait = "every new pod waits for it" if is_strict else "new pods are shown to it"
        yield Finding(
            Level.NOTE,
            about,
            f"{wait}; volcano-py does not need it, and has no webhook for pods",
            "it may stay; delete it when Volcano's admission goes",
            _ADMISSION_PAGE,
        )
    else:
        yield Finding(
            Level.NOTE,
            about,
            f"it checks {', '.join(what)} by Volcano's rules, whichever scheduler runs",
            "it may stay; the overlay admission has volcano-py's own rules",
            _ADMISSION_PAGE,
        )


def _spec(version: Raw) -> Raw:
    schema: Raw = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    found: Raw = (schema.get("properties") or {}).get("spec") or {}
    return found


def _missing(ours: Raw, theirs: Raw, path: str) -> Iterator[str]:
    """Paths that our schema has and theirs drops; of a missing object, the object alone."""
    if theirs.get("x-kubernetes-preserve-unknown-fields"):
        return
    below: dict[str, Any] = theirs.get("properties") or {}
    for name, schema in (ours.get("properties") or {}).items():
        if name not in below:
            yield f"{path}.{name}"
        else:
            yield from _missing(schema, below[name], f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if isinstance(ours.get(inner), dict) and isinstance(theirs.get(inner), dict):
            yield from _missing(ours[inner], theirs[inner], f"{path}[]")
