"""Whatever is sent to the webhook port: a request head and a review are read, or refused with a reason."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from volcano_py.operator.webhooks.requests import LARGEST_HEAD, Head, RefusedError, read_head
from volcano_py.operator.webhooks.review_json import DEEPEST, LONGEST_NAME, read_request, read_review

KIND = ("g", "v", "queues")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["metadata", "name", "uid"]), inner),
    max_leaves=20,
)


def review(**changes: Any) -> bytes:
    request = {
        "uid": "1",
        "resource": dict(zip(("group", "version", "resource"), KIND, strict=True)),
        "operation": "CREATE",
        "userInfo": {},
        "object": {"metadata": {"name": "q"}},
    }
    return json.dumps({"request": {**request, **changes}}).encode()


def read_all(body: bytes) -> dict[str, Any]:
    read_request(body, KIND)
    return read_review(body)


def read(body: bytes) -> dict[str, Any] | None:
    """None for a bad request; any other error fails the test."""
    try:
        return read_all(body)
    except ValueError:
        return None


@given(st.binary(max_size=200))
@example(b"[" * 100_000)
@example(b'{"request":' * 100_000)
def test_bytes(body: bytes) -> None:
    assert read(body) is None


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(
    ("uid", "resource", "operation", "userInfo", "object", "oldObject", "namespace", "name"), JSON
)))  # fmt: skip
def test_reviews_with_anything_in_them(changes: dict[str, Any]) -> None:
    found = read(review(**changes))
    if found is not None:
        objects = [found["request"].get(key) for key in ("object", "oldObject")]
        assert any(objects)
        assert all(isinstance(each["metadata"], dict) for each in objects if each is not None)


@pytest.mark.parametrize("deeper", [False, True])
def test_the_deepest_review(deeper: bool) -> None:
    value: Any = 1
    for _ in range(DEEPEST - 2 + deeper):
        value = {"a": value}
    body = review(object={"metadata": {}, **value})
    assert (read(body) is None) is deeper


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": "a" * (LONGEST_NAME + 1)}, "its name or namespace has more than 253 characters"),
        ({"object": {"metadata": {"name": "a" * (LONGEST_NAME + 1)}}}, "the name of its object has more than 253"),
        ({"object": None}, "it has neither an object nor an oldObject"),
        ({"object": {}}, "its object is not an object with metadata"),
        ({"operation": "EAT"}, "its operation is unknown"),
        ({"userInfo": None}, r"it is not an AdmissionReview: Expected `object`, got `null` - at `\$.request.userInfo`"),
    ],
)
def test_what_kopf_would_fail_on_is_refused_before(changes: dict[str, Any], problem: str) -> None:
    body = review(**changes)
    with pytest.raises(ValueError, match=problem):
        read_all(body)


async def _head(text: bytes) -> Head | None:
    reader = asyncio.StreamReader(limit=LARGEST_HEAD)
    reader.feed_data(text[1:])
    reader.feed_eof()
    try:
        return await read_head(reader, text[:1])
    except (RefusedError, asyncio.IncompleteReadError):
        return None


LINE = st.text(st.characters(max_codepoint=255), max_size=20)


@given(st.binary(min_size=1, max_size=200) | st.lists(LINE, min_size=1).map(lambda lines: (
    "POST / HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
))  # fmt: skip
def test_heads(text: bytes) -> None:
    found = asyncio.run(_head(text))
    if found is not None:
        # One length, which the parser and we have read alike: nothing can be hidden behind a body.
        assert text.lower().count(b"content-length") == 1
        assert found.length >= 0
