"""Where each binary comes from: $KUBEBUILDER_ASSETS, PATH if its version fits, the cache, or a build."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from volcano_py.local.binaries.builder import build_binary, cached_binary
from volcano_py.local.binaries.cache import cache_root
from volcano_py.local.binaries.progress import Progress
from volcano_py.local.binaries.recipes import KUBERNETES_MINOR, RECIPES
from volcano_py.local.binaries.toolchain import discard_leftovers
from volcano_py.local.errors import LocalError

CONTROL_PLANE_BINARIES = ("etcd", "kube-apiserver", "kubectl", "kwok", "kube-controller-manager")
"""What every control plane needs. kube-scheduler is built only for comparisons, helm only for the chart, actionlint
only for the workflows, and Prometheus only for dashboards and alerts."""

_PROBE_TIMEOUT_SECONDS = 20.0

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class VersionProbe:
    """How a binary on PATH is asked for its version, and which versions [oldest, newest] will do."""

    arguments: tuple[str, ...]
    parse: Callable[[str], Version | None]
    oldest: Version
    newest: Version

    @property
    def wanted(self) -> str:
        return f"{_dotted(self.oldest)} to {_dotted(self.newest)}"


def parse_kubectl_version(output: str) -> Version | None:
    """(major, minor) of `kubectl version --client -o json`; None when it is not what kubectl answers.

    Vendors write a minor like "36+".
    """
    try:
        client = json.loads(output)["clientVersion"]
        return int(client["major"]), int(str(client["minor"]).rstrip("+"))
    except (ValueError, KeyError, TypeError):
        return None


def parse_version_line(output: str) -> Version | None:
    """(major, minor) of the first `1.2.3` or `v1.2.3` in the output of `--version`."""
    found = re.search(r"\bv?(\d+)\.(\d+)\.\d+", output)
    return (int(found[1]), int(found[2])) if found else None


# Kubernetes supports a skew of one minor version between kubectl and the server, in both directions; the other
# components are held to the same span because the flags we start them with are those of the pinned version.
_KUBERNETES_SPAN = ((1, KUBERNETES_MINOR - 1), (1, KUBERNETES_MINOR + 1))

PROBES: Mapping[str, VersionProbe] = {
    "kubectl": VersionProbe(("version", "--client", "-o", "json"), parse_kubectl_version, *_KUBERNETES_SPAN),
    "kube-apiserver": VersionProbe(("--version",), parse_version_line, *_KUBERNETES_SPAN),
    "kube-controller-manager": VersionProbe(("--version",), parse_version_line, *_KUBERNETES_SPAN),
    "kube-scheduler": VersionProbe(("--version",), parse_version_line, *_KUBERNETES_SPAN),
    "etcd": VersionProbe(("--version",), parse_version_line, (3, 5), (3, 99)),
    "kwok": VersionProbe(("--version",), parse_version_line, (0, 8), (0, 99)),
    "helm": VersionProbe(("version", "--short"), parse_version_line, (4, 0), (4, 99)),
    "actionlint": VersionProbe(("-version",), parse_version_line, (1, 7), (1, 99)),
    "prometheus": VersionProbe(("--version",), parse_version_line, (2, 40), (3, 99)),
    "promtool": VersionProbe(("--version",), parse_version_line, (2, 40), (3, 99)),
}
"""etcd from 3.5 on works with this API server; KWOK reads our Stage manifests from 0.8 on.
The tests use flags of Helm 4. Debian 12 has Prometheus 2.42."""


def ensure_binaries(
    names: Iterable[str] = CONTROL_PLANE_BINARIES,
    *,
    environment: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Path]:
    """The path of each named binary; builds what is missing, which takes minutes the first time.

    `environment` (default: this process's) supplies KUBEBUILDER_ASSETS, PATH and the place of the cache. Raises
    BinaryUnavailableError when a binary is missing and cannot be built, LocalError for an unknown name.
    """
    environment = os.environ if environment is None else environment
    progress = Progress() if progress is None else progress
    wanted = set(names)
    if unknown := wanted - RECIPES.keys():
        raise LocalError(f"no such binary: {', '.join(sorted(unknown))}; known: {', '.join(RECIPES)}")
    root = cache_root(environment)
    found: dict[str, Path] = {}
    built = False
    # The order of the recipes, not that of the caller: what starts first is built first.
    for name in (name for name in RECIPES if name in wanted):
        path = given_binary(name, environment, progress) or cached_binary(RECIPES[name], root)
        if path is None:
            path = build_binary(RECIPES[name], root, environment, progress)
            built = True
        found[name] = path
    if built:
        discard_leftovers(root)
    return found


def given_binary(name: str, environment: Mapping[str, str], progress: Progress) -> Path | None:
    """The binary the machine provides: one in $KUBEBUILDER_ASSETS as it is, one on PATH if its version will do."""
    assets = environment.get("KUBEBUILDER_ASSETS", "")
    if assets and os.access(candidate := Path(assets) / name, os.X_OK) and candidate.is_file():
        return candidate.absolute()
    found = shutil.which(name, path=environment.get("PATH", ""))
    if found is None:
        return None
    probe = PROBES[name]
    version = _probe(found, probe, environment)
    if version is not None and probe.oldest <= version <= probe.newest:
        # Not resolved: a program that serves under several names looks at the one it was called by.
        return Path(found).absolute()
    what = f"is {_dotted(version)}" if version is not None else "does not report its version"
    progress.note(f"{found} {what}, needed is {probe.wanted}: using our own {name} {RECIPES[name].version}")
    return None


def _probe(binary: str, probe: VersionProbe, environment: Mapping[str, str]) -> Version | None:
    try:
        answer = subprocess.run(
            [binary, *probe.arguments],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return probe.parse(answer.stdout)


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
