"""Fields whose text the daemon makes part of a request: the definitions take names there, and nothing else.

The daemon checks every name again before it sends a request; tests/property sends it worse.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.unit.manifests.crds.schemas import Find, accepts, nodes, schema

Field = tuple[str, str]
"""Name of a definition, and path in its schema."""

JOB_SPECS: Final = {
    "jobs.batch.volcano.sh": "spec",
    "cronjobs.batch.volcano.sh": "spec.jobTemplate.spec",
    "jobtemplates.flow.volcano.sh": "spec",
}
PROBE: Final = "spec.flows[].dependsOn.probe"

SUBDOMAINS: Final = [
    ("commands.bus.volcano.sh", "target.name"),
    ("jobflows.flow.volcano.sh", "spec.flows[].name"),
    ("jobflows.flow.volcano.sh", "spec.flows[].dependsOn.targets[]"),
    ("podgroups.scheduling.volcano.sh", "spec.queue"),
    ("queues.scheduling.volcano.sh", "spec.parent"),
    ("hypernodes.topology.volcano.sh", "spec.members[].selector.exactMatch.name"),
    *((name, f"{spec}.queue") for name, spec in JOB_SPECS.items()),
    *((name, f"{spec}.volumes[].volumeClaimName") for name, spec in JOB_SPECS.items()),
]
LABELS: Final = [
    *((name, f"{spec}.tasks[].name") for name, spec in JOB_SPECS.items()),
    *(("jobflows.flow.volcano.sh", f"{PROBE}.{kind}[].taskName") for kind in (
        "httpGetList", "tcpSocketList", "taskStatusList"
    )),
]  # fmt: skip
TIME_ZONES: Final = [("cronjobs.batch.volcano.sh", "spec.timeZone")]
HEADER_NAMES: Final = [("jobflows.flow.volcano.sh", f"{PROBE}.httpGetList[].httpHeader.name")]
HEADER_VALUES: Final = [("jobflows.flow.volcano.sh", f"{PROBE}.httpGetList[].httpHeader.value")]

BREAKS: Final = ["a\n", "\na", "a\nb", "a\r\n", "a\r\nb", "a HTTP/1.1\r\n\r\nDELETE /", "a\0", "a\x7f"]
"""What ends a line, or a text; part of no name and of no header."""
SEPARATORS: Final = [" ", "a b", "a\t", "a?b=c", "a#b", "a%2fb", "%2e%2e", "a&b", "a:b", "a\\b", "a@b", "é", "a\u2028"]
PATHS: Final = ["..", ".", "../a", "a/..", "a//b", "/a", "a/", "//"]
NO_NAMES: Final = [*BREAKS, *SEPARATORS, *PATHS, "a/b", "A", "aB", "-a", "a-", "a_b", "a..b", ".a", "a.", "a" * 254]


def each(*cases: tuple[list[Field], list[str]]) -> list[Any]:
    """Every field with all of its texts."""
    return [
        pytest.param(name, path, texts, id=f"{name.partition('.')[0]}-{path}")
        for fields, texts in cases
        for name, path in fields
    ]


def accepted(named: Find, name: str, path: str, texts: list[str]) -> list[str]:
    """Those of the texts that the field takes."""
    node = dict(nodes(schema(named("CustomResourceDefinition", name))))[path]
    return [text for text in texts if accepts(node, text)]


@pytest.mark.parametrize(
    ("name", "path", "texts"),
    each(
        (SUBDOMAINS, ["a", "0", "web-1", "x.y-z", "a--b", "a" * 63, "a" * 253]),
        (LABELS, ["a", "0", "web-1", "a--b", "a" * 63]),
        (TIME_ZONES, ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+1", "Etc/GMT-14", "EST5EDT"]),
        (HEADER_NAMES, ["Host", "X-Probe", "x_probe", "a.b", "!#$%&'*+-.^_`|~"]),
        (HEADER_VALUES, ["", "a b", "a\tb", "Bearer x/y=", "é", "[::1]:80"]),
    ),
)
def test_names_are_accepted(named: Find, name: str, path: str, texts: list[str]) -> None:
    assert accepted(named, name, path, texts) == texts


@pytest.mark.parametrize(
    ("name", "path", "texts"),
    each(
        (SUBDOMAINS, NO_NAMES),
        (LABELS, [*NO_NAMES, "a.b"]),
        (TIME_ZONES, ["", *BREAKS, *SEPARATORS, *PATHS, "/etc/localtime", "Europe/../Berlin", "a" * 65]),
        (HEADER_NAMES, ["", *BREAKS, "a b", "a ", "X: y", "X:", "é", "a/b", "a,b", "(a)", "[a]", '"a"', "a\t"]),
        (HEADER_VALUES, [*BREAKS, "a\x0bb", "a\x1fb"]),
    ),
)
def test_what_would_change_a_request_is_refused(named: Find, name: str, path: str, texts: list[str]) -> None:
    assert accepted(named, name, path, texts) == []
