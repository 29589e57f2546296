"""Reads an AdmissionReview from JSON, within bounds: deeper or larger values are refused."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import orjson

from volcano_py.api.json_values import is_deeper_than

DEEPEST: Final = 50
"""Levels of lists and objects in each other. The deepest field of a CronJob, a value of a node affinity, is at 21."""
MOST_VALUES: Final = 1_000_000
"""A value takes up to 64 bytes as an object of Python's, but may be sent in three."""

LONGEST_NAME: Final = 253
"""Characters of a name, as for the API server. Rules repeat a job's name for each of its tasks."""

Resource = tuple[str, str, str]
"""API group, version and plural of a kind."""

_OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE"})


class _ResourceOf(msgspec.Struct, frozen=True):
    group: str
    version: str
    resource: str


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """What of a review decides where it goes, and when."""

    uid: str
    resource: _ResourceOf
    operation: str
    user_info: dict[str, msgspec.Raw]
    namespace: str = ""
    name: str = ""


class _Review(msgspec.Struct, frozen=True):
    request: Request


_REVIEW: Final = msgspec.json.Decoder(_Review)


def read_request(body: bytes, expected: Resource) -> Request:
    """What the review is about, without making objects of all that is in it.

    Raises:
        ValueError: it is no review of an object of the kind `expected`, or exceeds a bound.
    """
    if sum(map(body.count, (b",", b"{", b"["))) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES} values")
    try:
        request = _REVIEW.decode(body).request
    except RecursionError as error:
        raise ValueError(f"it is nested deeper than {DEEPEST} levels") from error
    except msgspec.DecodeError as error:
        raise ValueError(f"it is not an AdmissionReview: {error}") from error
    resource = request.resource
    if (resource.group, resource.version, resource.resource) != expected:
        raise ValueError(f"it is not about {expected[2]}.{expected[1]}.{expected[0]}")
    if request.operation not in _OPERATIONS:
        raise ValueError("its operation is unknown")
    if len(request.name) > LONGEST_NAME or len(request.namespace) > LONGEST_NAME:
        raise ValueError(f"its name or namespace has more than {LONGEST_NAME} characters")
    return request


def read_review(body: bytes) -> dict[str, Any]:
    """The whole review, after `read_request`.

    Raises:
        ValueError: an object in it is none, or exceeds a bound. Numbers beyond the range of floats do.
    """
    review: dict[str, Any] = orjson.loads(body)
    if is_deeper_than(DEEPEST, review):
        raise ValueError(f"it is nested deeper than {DEEPEST} levels")
    request = review["request"]
    if request.get("object") is None and request.get("oldObject") is None:
        raise ValueError("it has neither an object nor an oldObject")
    for key in ("object", "oldObject"):
        found = request.get(key)
        metadata = found.get("metadata") if isinstance(found, dict) else None
        if found is not None and not isinstance(metadata, dict):
            raise ValueError(f"its {key} is not an object with metadata")
        if metadata is not None and len(str(metadata.get("name", ""))) > LONGEST_NAME:
            raise ValueError(f"the name of its {key} has more than {LONGEST_NAME} characters")
    return review
