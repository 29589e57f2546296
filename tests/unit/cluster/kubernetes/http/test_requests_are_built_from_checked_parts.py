"""A path is made of parts that are what they must be, and no other text becomes a request."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import volcano_py
from volcano_py.cluster.kubernetes.http.errors import InvalidRequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath, field_selector, label_selector, metric_of_nodes, target

SMUGGLED = "x HTTP/1.1\r\nHost: h\r\n\r\nDELETE /api/v1/namespaces/victim/pods/v1"


def test_a_path_is_that_of_the_api() -> None:
    pods = ApiPath("v1", "pods", "ns")
    assert str(pods) == "/api/v1/namespaces/ns/pods"
    assert str(pods.of("a.b-0")) == "/api/v1/namespaces/ns/pods/a.b-0"
    assert str(pods.of("a", "binding")) == str(pods.of("a").sub("binding")) == f"{pods}/a/binding"
    assert str(ApiPath("apps/v1", "replicasets")) == "/apis/apps/v1/replicasets"
    assert str(ApiPath("v1", "namespaces", name="ns")) == "/api/v1/namespaces/ns"
    assert str(ApiPath("scheduling.volcano.sh/v1beta1")) == "/apis/scheduling.volcano.sh/v1beta1"


def test_a_metric_of_nodes_has_the_path_of_the_custom_metrics_api() -> None:
    path = metric_of_nodes("v1beta2", "node_cpu_usage_avg")
    assert str(path) == "/apis/custom.metrics.k8s.io/v1beta2/nodes/*/node_cpu_usage_avg"
    for name in ("", "../x", SMUGGLED, "a/b", "A"):
        with pytest.raises(InvalidRequestError, match="is not the name of a metric"):
            metric_of_nodes("v1beta2", name)


@pytest.mark.parametrize(
    ("parts", "reported"),
    [
        ({"name": SMUGGLED}, r"pods: name 'x HTTP/1\.1\\r\\nHost.*' is not a DNS subdomain; no request was sent"),
        ({"name": ".."}, "name '..' is not a DNS subdomain"),
        ({"name": "a/b"}, "name 'a/b' is not a DNS subdomain"),
        ({"name": "a%2fb"}, "name 'a%2fb' is not a DNS subdomain"),
        ({"name": "a?b=c"}, "is not a DNS subdomain"),
        ({"name": "a\n"}, "is not a DNS subdomain"),
        ({"name": "a" * 254}, f"name '{'a' * 100}' is not a DNS subdomain"),
        ({"namespace": "a.b"}, "namespace 'a.b' is not a DNS label"),
        ({"namespace": "a" * 64}, "is not a DNS label"),
        ({"name": "a", "subresource": "../b"}, "subresource '../b' is not a DNS label"),
        ({"subresource": "status"}, "is not complete"),
        ({"plural": "", "namespace": "ns"}, "is not complete"),
        ({"plural": "pods/x"}, "resource 'pods/x' is not the plural of a kind"),
        ({"group_version": "apps/v1/x"}, "apiVersion 'apps/v1/x' is not an API version"),
        ({"group_version": "/v1"}, "is not an API version"),
        ({"group_version": "apps/"}, "is not an API version"),
        ({"group_version": "apps/v 1"}, "is not an API version"),
        ({"group_version": ""}, "is not an API version"),
    ],
)
def test_a_part_that_cannot_be_one_is_refused_with_its_name(parts: dict[str, str], reported: str) -> None:
    with pytest.raises(InvalidRequestError, match=reported):
        ApiPath(**({"group_version": "v1", "plural": "pods"} | parts))


def test_no_way_to_make_a_path_goes_round_the_checks() -> None:
    path = ApiPath("v1", "pods", "ns", "a")
    ways: tuple[Callable[[], ApiPath], ...] = (
        lambda: path.of(SMUGGLED),
        lambda: path.of(""),
        lambda: path.sub(SMUGGLED),
        lambda: msgspec.structs.replace(path, name=SMUGGLED),
        lambda: msgspec.convert({"group_version": "v1", "plural": "pods", "name": SMUGGLED}, ApiPath),
    )
    for make in ways:
        with pytest.raises((InvalidRequestError, msgspec.ValidationError)):
            make()
    with pytest.raises(AttributeError):
        path.name = SMUGGLED  # type: ignore[misc]


TEXT = st.text() | st.from_regex(r"\A[a-z0-9.%/\r\n ?#-]{0,20}\Z")


@given(st.tuples(TEXT, TEXT, TEXT, TEXT, TEXT))
def test_whatever_becomes_a_path_is_one_word_of_as_many_segments_as_it_has_parts(parts: tuple[str, ...]) -> None:
    try:
        path = ApiPath(*parts)
    except InvalidRequestError:
        return
    assert re.fullmatch(r"(/[a-z0-9]([-a-z0-9.]*[a-z0-9])?){2,8}", str(path))
    assert urlsplit(str(path)).path == str(path)


@given(st.dictionaries(st.text(min_size=1), st.text() | st.integers()))
def test_a_query_comes_back_as_it_was(params: dict[str, str | int]) -> None:
    sent = target(ApiPath("v1", "pods"), params)
    assert re.fullmatch(r"[\x21-\x7e]+", sent)
    asked = parse_qsl(sent.partition("?")[2], keep_blank_values=True, strict_parsing=bool(params))
    assert dict(asked) == {name: str(value) for name, value in params.items()}


def test_a_value_in_a_selector_begins_no_other_condition() -> None:
    assert field_selector({"spec.queue": "a,b=c\\d", "kind": "Pod"}) == r"spec.queue=a\,b\=c\\d,kind=Pod"
    assert label_selector({"volcano.sh/job-name": "a", "b": ""}) == "volcano.sh/job-name=a,b="
    for value in ("a,b", "a b", "a)", "a!=b", "a\n"):
        with pytest.raises(InvalidRequestError, match="is not the text of a label"):
            label_selector({"a": value})


def texts(tree: ast.AST) -> Iterator[str]:
    """Every text in the code but for docstrings and what stands alone as a comment."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


# For setting up control planes of one's own and measuring on them, with their administrator's client.
OWN_CLUSTERS = {"local", "bench"}
ROOT = Path(volcano_py.__file__).parent
SERVED = ROOT / "ui" / "web"
"""Its paths are those that the page asks for, not those of an API server."""


def test_no_other_code_of_the_daemon_writes_paths() -> None:
    written = {
        f"{path.relative_to(ROOT)}: {text}"
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).parts[0] not in OWN_CLUSTERS and not path.is_relative_to(SERVED)
        for text in texts(ast.parse(path.read_text("utf-8")))
        if re.match(r"/apis?/", text)
    }
    assert written == {
        "cluster/kubernetes/http/paths.py: /api/",
        "cluster/kubernetes/http/paths.py: /apis/",
        "cluster/load/prometheus.py: /api/v1/query",  # of Prometheus
    }
