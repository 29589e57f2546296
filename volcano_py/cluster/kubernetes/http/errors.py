"""What can go wrong with a request: the server refused it (`ApiError`), or did not answer (`UnreachableError`).

Only the statuses that some code reacts to are classes of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

# An error page of a proxy may be long, and may hold what should not be in a log; a Status object's message is short.
_LONGEST_MESSAGE = 500
_LONGEST_SHOWN = 100  # characters of a value that is refused
# API servers ask for seconds; a page of a proxy that asks for an hour must not stop us for an hour.
_LONGEST_WAIT = 30.0


class RequestError(Exception):
    """A request that did not succeed."""

    verb: str
    path: str

    @property
    def transient(self) -> bool:
        """Whether the same request may well succeed a little later."""
        return False

    @property
    def is_refusal(self) -> bool:
        """Whether the reason is in the request, so that its author has to hear of it."""
        return False

    @property
    def retry_after(self) -> float:
        """Seconds the server asked to wait before the next attempt; 0 when it did not."""
        return 0.0


class UnreachableError(RequestError):
    """No (whole) answer: refused, reset or timed out. Whether the server carried the request out is unknown."""

    def __init__(self, verb: str, path: str, cause: BaseException | str) -> None:
        text = str(cause) or type(cause).__name__
        super().__init__(f"{verb} {path}: no answer: {text}")
        self.verb, self.path = verb, path

    @property
    def transient(self) -> bool:
        return True


class AnswerError(RequestError):
    """The server agreed, but its answer cannot be read: something else than an API server may be speaking."""

    def __init__(self, verb: str, path: str, cause: Exception) -> None:
        super().__init__(f"{verb} {path}: the answer cannot be read: {cause}")
        self.verb, self.path = verb, path


class TooLargeError(RequestError):
    """The answer is larger than any answer to such a request; the rest of it was not read."""

    def __init__(self, verb: str, path: str, limit: int) -> None:
        super().__init__(
            f"{verb} {path}: the answer is larger than {limit >> 10} KiB, the limit for such a request; "
            "delete objects there that are not needed, or make them smaller"
        )
        self.verb, self.path = verb, path

    @property
    def is_refusal(self) -> bool:
        return True


class InvalidRequestError(RequestError):
    """A part of a request cannot be one, so nothing was sent."""

    def __init__(self, what: str, field: str, value: str, rule: str) -> None:
        super().__init__(f"{what}: {field} {value[:_LONGEST_SHOWN]!r} is not {rule}; no request was sent")
        self.verb, self.path = "", ""

    @property
    def is_refusal(self) -> bool:
        return True


class StoppedError(RequestError):
    """We ourselves gave the request up: the lease is lost, or the process ends."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: given up: {why}")
        self.verb, self.path = "", ""


class ApiError(RequestError):
    """The server's refusal; the fields are those of its Status object, as far as it sent one."""

    def __init__(
        self,
        verb: str,
        path: str,
        status: int,
        *,
        reason: str = "",
        message: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float = 0.0,
    ) -> None:
        self.verb, self.path, self.status = verb, path, status
        self.reason, self.message = reason, message
        self.details: Mapping[str, Any] = details or {}
        self._retry_after = retry_after
        name = f"{status} {reason}" if reason else str(status)
        super().__init__(f"{verb} {path}: {name}: {message or 'no explanation given'}")

    @property
    def is_refusal(self) -> bool:
        return not self.transient

    @property
    def retry_after(self) -> float:
        return self._retry_after

    def complains_about(self, field: str) -> bool:
        """Whether the refusal names this field among its causes."""
        causes = self.details.get("causes")
        return isinstance(causes, list) and any(
            isinstance(cause, dict) and cause.get("field") == field for cause in causes
        )


class UnauthorizedError(ApiError):
    """401: the credentials are wrong or have expired."""


class ForbiddenError(ApiError):
    """403: the ServiceAccount may not do this; or the namespace is being deleted."""

    @property
    def namespace_ends(self) -> bool:
        """Whether nothing can be created because the namespace is being deleted: no fault, and soon over."""
        causes = self.details.get("causes")
        return isinstance(causes, list) and any(
            isinstance(cause, dict) and cause.get("reason") == "NamespaceTerminating" for cause in causes
        )

    just_restarted = False
    """Set when the server was unreachable a moment ago: it serves before it has read the RBAC rules."""

    @property
    def transient(self) -> bool:
        return self.just_restarted


class NotFoundError(ApiError):
    """404: no such object, or no such resource (a CRD that is not installed)."""


class ConflictError(ApiError):
    """409: a precondition (UID, resourceVersion) does not hold, or the object exists already."""


class GoneError(ApiError):
    """410: the resourceVersion or continue token is too old; a new list is needed."""


class UnprocessableError(ApiError):
    """422: the object would be invalid."""

    @property
    def is_about_another_object(self) -> bool:
        """Whether a patch that carries a UID met a namesake: the server calls that field immutable."""
        return self.complains_about("metadata.uid")


class TooManyRequestsError(ApiError):
    """429: the server protects itself; nothing was done."""

    @property
    def transient(self) -> bool:
        return True


class ServerError(ApiError):
    """5xx: the server or something before it failed; the request may have been carried out nevertheless."""

    @property
    def transient(self) -> bool:
        return True


_CLASSES: Mapping[int, type[ApiError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: UnprocessableError,
    429: TooManyRequestsError,
}


def api_error(verb: str, path: str, status: int, body: bytes, *, retry_after: str | None = None) -> ApiError:
    """The error for an answer with this status and body (a Status object, or any text), and Retry-After header."""
    reason, message, details = "", "", {}
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        answer = None
    if isinstance(answer, dict):
        reason, message = _text(answer.get("reason")), _text(answer.get("message"))
        if isinstance(answer.get("details"), dict):
            details = answer["details"]
    elif body:
        message = _text(body.decode(errors="replace").strip())
    kind = ServerError if status >= 500 else _CLASSES.get(status, ApiError)
    seconds = _seconds(retry_after) or _seconds(details.get("retryAfterSeconds"))
    return kind(verb, path, status, reason=reason, message=message, details=details, retry_after=seconds)


def _text(value: object) -> str:
    return value[:_LONGEST_MESSAGE] if isinstance(value, str) else ""


def _seconds(value: object) -> float:
    """A Retry-After in seconds; 0 for its other form, a date, which API servers do not send."""
    try:
        return min(_LONGEST_WAIT, max(0.0, float(str(value))))
    except ValueError:
        return 0.0
