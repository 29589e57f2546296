"""The arguments of extender."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, ValidationInfo

from volcano_py.api.go_values import parse_duration
from volcano_py.config.arguments import Arguments, advise, argument, instead
from volcano_py.config.text.logins import without_login
from volcano_py.config.values import GoBool, PositiveDuration, ResourceNames, TypeName

_DEFAULT_TIMEOUT: Final = timedelta(seconds=1)
LONGEST_BUDGET: Final = timedelta(seconds=60)
"""A cycle that runs for five minutes counts as hanging."""
_SHOWN: Final = PlainSerializer(without_login)
"""Wherever the arguments are written, and in the digest of a configuration."""


def is_url(text: str) -> bool:
    """Whether requests can be sent to it."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an IPv6 address, or a port that is none
        return False


def _address(value: str, info: ValidationInfo) -> str:
    """No message shows it: it may contain a login."""
    if not is_url(value):
        advise(info, "is no http or https URL, so every question counts as a failure; write http://my-extender.ns:8080")
    return value.rstrip("/")


def _timeout(value: Any, info: ValidationInfo) -> Any:
    """As in Volcano, what cannot be read counts as 1s."""
    if isinstance(value, timedelta):
        return value
    try:
        duration = parse_duration(str(value))
    except ValueError:
        duration = timedelta()
    if duration > timedelta():
        return duration
    return instead(info, "1s", "must be a duration above 0, such as 500ms")


def _bounded(value: timedelta, info: ValidationInfo) -> timedelta:
    if value > LONGEST_BUDGET:
        advise(info, "is longer than 60s, so it counts as 60s")
    return min(value, LONGEST_BUDGET)


class ExtenderArguments(Arguments):
    url: Annotated[str, AfterValidator(_address), _SHOWN, Field(repr=False), TypeName("URL")] = argument(
        "extender.urlPrefix",
        "",
        "Address of the extender; a verb is appended to it, after a slash. No message shows it.",
    )
    timeout: Annotated[timedelta, BeforeValidator(_timeout), TypeName("duration above 0")] = argument(
        "extender.httpTimeout", _DEFAULT_TIMEOUT, "How long one answer may take."
    )
    budget: Annotated[PositiveDuration, AfterValidator(_bounded)] = argument(
        "extender.cycleBudget",
        timedelta(seconds=5),
        "How long one cycle spends on questions and answers; then the other questions of the cycle count as failures. "
        "At most 60s. Not in Volcano.",
    )
    ignorable: GoBool = argument(
        "extender.ignorable", False, "Go on without an answer when the extender fails, as if it had no objection."
    )
    managed_resources: ResourceNames = argument(
        "extender.managedResources",
        (),
        "The extender is asked only about pods that request one of these resources. Empty: about all pods.",
    )
    on_session_open: str = argument("extender.onSessionOpenVerb", "", "Called when a cycle begins, with the cluster.")
    on_session_close: str = argument("extender.onSessionCloseVerb", "", "Called when a cycle ends.")
    predicate: str = argument("extender.predicateVerb", "", "Asked whether a node may take a pod.")
    prioritize: str = argument("extender.prioritizeVerb", "", "Asked for scores of nodes.")
    preemptable: str = argument("extender.preemptableVerb", "", "Asked which pods of the queue may be evicted.")
    reclaimable: str = argument("extender.reclaimableVerb", "", "Asked which pods of other queues may be evicted.")
    queue_overused: str = argument("extender.queueOverusedVerb", "", "Asked whether a queue has its share.")
    job_enqueueable: str = argument("extender.jobEnqueueableVerb", "", "Asked whether a job may be admitted.")
    job_enqueued: str = argument("extender.jobEnqueuedVerb", "", "Called when a job was admitted.")
    job_ready: str = argument("extender.jobReadyVerb", "", "Asked whether a job may be bound.")
    allocate: str = argument("extender.allocateFuncVerb", "", "Called when a pod gets a place.")
    deallocate: str = argument("extender.deallocateFuncVerb", "", "Called when a pod loses its place.")

    def unused_points(self) -> frozenset[str]:
        """Those of verbs that are not configured."""
        follows = bool(self.allocate or self.deallocate)
        closes = bool(self.predicate or self.allocate or (self.prioritize and not self.ignorable))
        used = {
            "predicate": closes,
            "late_predicate": closes,
            "batch_node_order": bool(self.prioritize),
            "preemptable": bool(self.preemptable),
            "reclaimable": bool(self.reclaimable),
            "overused": bool(self.queue_overused),
            "job_enqueueable": bool(self.job_enqueueable),
            "job_enqueued": bool(self.job_enqueued),
            "job_ready": bool(self.job_ready or self.allocate),
            "job_pipelined": bool(self.allocate),
            "on_allocate": follows,
            "on_deallocate": follows,
        }
        return frozenset(point for point, is_used in used.items() if not is_used)
