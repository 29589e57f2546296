"""The handlers of the admission webhooks: reviews are decoded, checked by the rules, and answered in one message.

Each handler is one webhook; its id is the last part of the webhook's URL. All replicas answer, leader or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import chain, islice
from typing import Any, Final, Literal, TypeVar, cast

import kopf
import msgspec
import structlog

from volcano_py.admission import hyper_nodes, jobs, network, pod_groups, queues, templates
from volcano_py.admission.jobs import JobContext
from volcano_py.admission.queue_world import QueueWorld
from volcano_py.admission.queues import QueueRules
from volcano_py.admission.sizes import size_violations
from volcano_py.admission.violation import Violations, denial_message
from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.json_values import converted
from volcano_py.api.names import DEFAULT_QUEUE, SCHEDULING_API, TOPOLOGY_API
from volcano_py.api.objects import ApiObject, PodGroup, Queue
from volcano_py.api.wording.resource_names import misnamed
from volcano_py.cluster.kubernetes.http.errors import RequestError
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.model import BATCH_API, VolcanoJob
from volcano_py.jobs.plugins import BUILTIN, JobPlugins
from volcano_py.operator.webhooks.review_json import Resource
from volcano_py.operator.webhooks.reviews import CURRENT, Raw, Review, operations
from volcano_py.operator.webhooks.view import AdmissionView

log = structlog.get_logger(__name__)

FLOW_API: Final = "flow.volcano.sh/v1alpha1"


def _parts(api: str) -> tuple[str, str]:
    group, version = api.split("/")
    return group, version


_KINDS: Final[Mapping[str, Resource]] = {
    "queues": (*_parts(SCHEDULING_API), "queues"),
    "podgroups": (*_parts(SCHEDULING_API), "podgroups"),
    "hypernodes": (*_parts(TOPOLOGY_API), "hypernodes"),
    "jobs": (*_parts(BATCH_API), "jobs"),
    "cronjobs": (*_parts(BATCH_API), "cronjobs"),
    "jobflows": (*_parts(FLOW_API), "jobflows"),
    "jobtemplates": (*_parts(FLOW_API), "jobtemplates"),
}
WEBHOOKS: Final[Mapping[str, Resource]] = {
    **{f"validate-{plural}": kind for plural, kind in _KINDS.items()},
    **{f"mutate-{plural}": _KINDS[plural] for plural in ("queues", "podgroups", "jobs")},
}
"""Id of each webhook, which is the last part of its URL, and the kind it is for."""

_REFUSED: Final = 422  # as the API server's own validation answers
_TRY_AGAIN: Final = 503
_MOST_WARNINGS: Final = 20  # of one request; each is a line of kubectl's output

Operation = Literal["CREATE", "UPDATE", "DELETE"]
_ApiObject = TypeVar("_ApiObject", bound=ApiObject)


class Outcome(StrEnum):
    """What became of a review."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    FAILED = "failed"
    """It could not be judged: the API server did not answer, or an error of ours."""


Reviewed = Callable[[str, str, Outcome, float], None]
"""Called with the webhook's id, the operation, the outcome, and how long it took in seconds."""


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """What this installation has decided."""

    queues: QueueRules = field(default_factory=QueueRules)
    jobs: JobContext = field(default_factory=lambda: JobContext(JobRules(), JobPlugins.of(BUILTIN)))
    default_queue: str = DEFAULT_QUEUE


class AdmissionHandlers:
    """All webhooks; `register` puts them into kopf's registry."""

    def __init__(self, view: AdmissionView, rules: AdmissionRules, reviewed: Reviewed) -> None:
        self._view, self._rules, self._reviewed = view, rules, reviewed

    def register(self, registry: kopf.OperatorRegistry) -> None:
        """Add them all."""
        handlers: dict[str, Callable[[Review], Awaitable[Any]]] = {
            "validate-queues": self._queue,
            "validate-podgroups": self._pod_group,
            "validate-hypernodes": self._hyper_node,
            "validate-jobs": self._job,
            **{f"validate-{kind}s": partial(self._template, kind) for kind in templates.KINDS},
            "mutate-queues": self._queue_defaults,
            "mutate-podgroups": self._pod_group_defaults,
            "mutate-jobs": self._job_defaults,
        }
        for name, resource in WEBHOOKS.items():
            mutates = name.startswith("mutate-")
            decorate = kopf.on.mutate if mutates else kopf.on.validate
            operations: list[Operation] = ["CREATE"] if mutates else ["CREATE", "UPDATE"]
            if name == "mutate-jobs":
                # `kubectl apply` of the same manifest again brings the list of tasks without what was filled in.
                operations.append("UPDATE")
            if name == "validate-queues":
                operations.append("DELETE")
            # A partial has no name that kopf could take for the id, so it is given.
            decorate(*resource, registry=registry, id=name, operations=operations)(
                cast(Any, partial(self._run, name, handlers[name]))
            )

    async def _run(
        self, webhook: str, handler: Callable[[Review], Awaitable[Any]], warnings: list[str], **_: object
    ) -> None:
        current = CURRENT.get()
        review = current.review
        begun = asyncio.get_running_loop().time()
        outcome = Outcome.FAILED
        try:
            patch = None if review.is_farewell else await handler(review)
            if patch:
                current.patch = operations(review.new or {}, patch)
            warnings.extend(current.warnings)
            outcome = Outcome.ALLOWED
        except kopf.AdmissionError as error:
            if error.code == _REFUSED:
                outcome = Outcome.REFUSED
            log.info(
                "request denied",
                webhook=webhook,
                operation=review.operation,
                object=_key(review),
                answer=str(error),
            )
            raise
        except RequestError as error:
            log.warning("admission review failed", webhook=webhook, object=_key(review), error=str(error))
            raise kopf.AdmissionError(
                f"the request cannot be checked: the API server did not answer ({error}); try again",
                code=_TRY_AGAIN,
            ) from error
        except Exception as error:
            log.exception("admission review failed", webhook=webhook, object=_key(review))
            raise kopf.AdmissionError(
                f"the request cannot be checked: {type(error).__name__}: {error}; please report this", code=500
            ) from error
        finally:
            self._reviewed(webhook, review.operation, outcome, asyncio.get_running_loop().time() - begun)

    # Queues. The tree is checked by what the API server has now: a mistake in it would stay.

    async def _queue(self, review: Review) -> None:
        rules = self._rules.queues
        if review.new is None:
            _refuse(
                "queue", review.name, queues.validate_delete(review.name, await self._view.fresh(review.name), rules)
            )
            if not review.is_rehearsal:
                self._view.forget_promise(review.name)
            return
        after = _decoded(review.new, Queue, "queue")
        before = None if review.old is None else _decoded_old(review.old, Queue) or Queue(metadata=after.metadata)
        if before is not None and not queues.needs_others(before, after):
            return
        world = await self._view.fresh(after.spec.parent)
        if before is None:
            _refuse("queue", review.name, queues.validate_create(after, world, rules))
        else:
            _refuse("queue", review.name, queues.validate_update(before, after, world, rules))
        if not review.is_rehearsal:
            self._view.promise(after)
        _warn(misnamed(after))

    async def _queue_defaults(self, review: Review) -> dict[str, Any]:
        return queues.defaults(_decoded(review.new or {}, Queue, "queue"))

    # Work. It is checked again when it is scheduled, so that a view a moment old is good enough to admit it.

    async def _pod_group(self, review: Review) -> None:
        default = self._rules.default_queue
        after = _decoded(review.new or {}, PodGroup, "podgroup")
        before = None if review.old is None else _decoded_old(review.old, PodGroup)

        def judge(world: QueueWorld) -> Violations:
            if before is None:
                return pod_groups.validate_create(after, world, default)
            return pod_groups.validate_update(before, after, world, default)

        _refuse("podgroup", review.name, await self._judged(judge))
        _warn((*network.group_warnings(after.spec), *pod_groups.ignored_warnings(after)))

    async def _pod_group_defaults(self, review: Review) -> dict[str, Any]:
        group = _decoded(review.new or {}, PodGroup, "podgroup")
        annotations = self._view.namespace_annotations(review.namespace)
        return pod_groups.defaults(group, annotations, self._rules.default_queue)

    async def _job(self, review: Review) -> None:
        after = _decoded(review.new or {}, VolcanoJob, "job")
        before = None if review.old is None else _decoded_old(review.old, VolcanoJob)
        context = self._context(review)
        if before is not None and review.old is not None and review.new is not None:
            found = jobs.validate_update(
                before, after, review.old.get("spec") or {}, review.new.get("spec") or {}, context
            )
        else:
            found = await self._judged(lambda world: jobs.validate_create(after, world, context))
        _refuse("job", review.name, found)
        _warn(
            chain(
                network.job_warnings(after.spec),
                jobs.plugin_warnings(after, context.plugins),
                jobs.annotation_warnings(after),
            )
        )

    async def _hyper_node(self, review: Review) -> None:
        after = _decoded(review.new or {}, HyperNode, "hypernode")
        before = None if review.old is None else _decoded_old(review.old, HyperNode)
        if before is None:
            _refuse("hypernode", review.name, hyper_nodes.validate_create(after))
        else:
            _refuse("hypernode", review.name, hyper_nodes.validate_update(before, after))
        tiers = await self._view.tiers(hyper_nodes.children(after))
        _warn(hyper_nodes.warnings(after, tiers))

    async def _job_defaults(self, review: Review) -> dict[str, Any]:
        new = review.new or {}
        job = _decoded(new, VolcanoJob, "job")
        if next(size_violations("spec", job.spec), None) is not None:
            return {}  # it is refused when it is validated
        return jobs.defaults(job, new.get("spec") or {}, self._context(review))

    async def _template(self, kind: str, review: Review) -> None:
        new, old = _spec(review.new) or {}, _spec(review.old)
        # A name that the server draws is not part of the request.
        name = ((review.new or {}).get("metadata") or {}).get("name") or review.name
        context = self._context(review)
        with _readable(kind):
            found = await self._judged(lambda world: templates.judge(kind, name, new, old, world, context))
        _refuse(kind, review.name, found)

    def _context(self, review: Review) -> JobContext:
        return msgspec.structs.replace(self._rules.jobs, namespace=self._view.namespace_annotations(review.namespace))

    async def _judged(self, judge: Callable[[QueueWorld], Violations]) -> Violations:
        """A refusal is checked again against the current state: the queue may have been created a moment ago."""
        found = judge(self._view.world())
        return judge(await self._view.fresh()) if found else found


def _refuse(kind: str, name: str, violations: Violations) -> None:
    if violations:
        raise kopf.AdmissionError(denial_message(kind, name, violations), code=_REFUSED)


def _warn(warnings: Iterable[str]) -> None:
    """Warn the author, if the request is admitted."""
    CURRENT.get().warnings.extend(islice(warnings, _MOST_WARNINGS))


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except msgspec.ValidationError as error:
        raise kopf.AdmissionError(f"the {name} cannot be read: {error}; correct this field", code=_REFUSED) from error


def _decoded(raw: Raw, kind: type[_ApiObject], name: str) -> _ApiObject:
    with _readable(name):
        return converted(raw, kind)


def _decoded_old(raw: Raw, kind: type[_ApiObject]) -> _ApiObject | None:
    """An object that is stored already, maybe from before there were rules; None when it cannot be read."""
    try:
        return converted(raw, kind)
    except msgspec.ValidationError:
        return None


def _spec(raw: Raw | None) -> Raw | None:
    return None if raw is None else raw.get("spec") or {}


def _key(review: Review) -> str:
    return f"{review.namespace}/{review.name}" if review.namespace else review.name
