"""Paths and queries of requests, built from checked parts. No other code builds the text of a request.

Tenants choose names: of objects, of owners, of claims. A name with CR and LF in it would end the request line and begin
a request of the tenant's own, sent with the daemon's token. So a path is a value that only these checks can make, and
clients take nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NoReturn
from urllib.parse import quote, urlencode

import msgspec

from volcano_py.api.dns_names import is_label, is_subdomain
from volcano_py.cluster.kubernetes.http.errors import InvalidRequestError

Params = Mapping[str, str | int]

CUSTOM_METRICS: Final = "custom.metrics.k8s.io"
_METRIC: Final = re.compile(r"[a-z_]{1,100}", re.ASCII)
# Of a key and of a value of a label, as the API server has it: letters, digits and these, no comma and no operator.
_LABEL_TEXT: Final = re.compile(r"[A-Za-z0-9_./-]*", re.ASCII)


class ApiPath(msgspec.Struct, frozen=True):
    """Where an object, a list or (without `plural`) the description of a group is served.

    The parts allow no character that would need quoting, so the path is made of them as they are.

    Raises:
        InvalidRequestError: a part is not what it must be.
    """

    group_version: str
    """`v1` or, for instance, `apps/v1`."""
    plural: str = ""
    namespace: str = ""
    """Empty for what belongs to no namespace, and for lists over all of them."""
    name: str = ""
    """Empty for a list."""
    subresource: str = ""

    def __post_init__(self) -> None:
        group, _, version = self.group_version.rpartition("/")
        if not is_label(version) or ("/" in self.group_version and not is_subdomain(group)):
            self._refuse("apiVersion", self.group_version, "an API version")
        for field, value, is_allowed, rule in (
            ("resource", self.plural, is_label, "the plural of a kind"),
            ("namespace", self.namespace, is_label, "a DNS label"),
            ("name", self.name, is_subdomain, "a DNS subdomain"),
            ("subresource", self.subresource, is_label, "a DNS label"),
        ):
            if value and not is_allowed(value):
                self._refuse(field, value, rule)
        if (self.subresource and not self.name) or ((self.name or self.namespace) and not self.plural):
            self._refuse("path", str(self), "complete")

    def __str__(self) -> str:
        root = "/apis/" if "/" in self.group_version else "/api/"
        namespaced = ("namespaces", self.namespace) if self.namespace else ()
        parts = (self.group_version, *namespaced, self.plural, self.name, self.subresource)
        return root + "/".join(filter(None, parts))

    def of(self, name: str, subresource: str = "") -> ApiPath:
        """The object of this name in the list.

        Raises:
            InvalidRequestError: no object can have this name.
        """
        if not name:
            self._refuse("name", name, "a DNS subdomain")
        return ApiPath(self.group_version, self.plural, self.namespace, name, subresource)

    def sub(self, subresource: str) -> ApiPath:
        """The object's subresource; "" is the object itself."""
        return ApiPath(self.group_version, self.plural, self.namespace, self.name, subresource)

    def _refuse(self, field: str, value: str, rule: str) -> NoReturn:
        raise InvalidRequestError(self.plural or "a request", field, value, rule)


class _OfServer(ApiPath, frozen=True):
    def __str__(self) -> str:
        return "/version"


class MetricOfNodes(ApiPath, frozen=True):
    """A metric of all nodes in the custom metrics API, where `*` stands for all names.

    Raises:
        InvalidRequestError: the metric has no name that a metric can have.
    """

    metric: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _METRIC.fullmatch(self.metric):
            self._refuse("metric", self.metric, "the name of a metric")

    def __str__(self) -> str:
        return f"{super().__str__()}/*/{self.metric}"


def metric_of_nodes(version: str, metric: str) -> MetricOfNodes:
    """The metric in that version of the API, such as `v1beta2`."""
    return MetricOfNodes(f"{CUSTOM_METRICS}/{version}", "nodes", metric=metric)


SERVER_VERSION: Final = _OfServer("v1")
"""Where the API server says which version it has; every login may read it."""


def target(path: ApiPath, params: Params | None = None) -> str:
    """The path with its query, as in a request line."""
    return f"{path}?{urlencode(params, quote_via=quote, safe='')}" if params else str(path)


def label_selector(labels: Mapping[str, str]) -> str:
    """Select objects that have all these labels.

    Raises:
        InvalidRequestError: no label can be so.
    """
    for text in (*labels.keys(), *labels.values()):
        if not _LABEL_TEXT.fullmatch(text):
            raise InvalidRequestError("labelSelector", "label", text, "the text of a label")
    return ",".join(f"{key}={value}" for key, value in labels.items())


def field_selector(fields: Mapping[str, str]) -> str:
    """Select objects whose fields have these values."""
    return ",".join(f"{field}={_escaped(value)}" for field, value in fields.items())


def _escaped(value: str) -> str:
    """A value may hold anything: a comma or an equals sign would begin another condition."""
    return re.sub(r"([\\,=])", r"\\\1", value)
