"""Building a binary: the flags for Go, and the messages for the user."""

from __future__ import annotations

import pytest

from tests.unit.local.machine import Machine
from volcano_py.local.binaries.binaries import ensure_binaries
from volcano_py.local.binaries.builder import build_failure
from volcano_py.local.binaries.recipes import RECIPES
from volcano_py.local.errors import WITHOUT_A_CLUSTER, BinaryUnavailableError

# Answers `go version`, and for `go build … -o FILE PACKAGE` writes down how it was called and makes FILE.
_FAKE_GO = """
if [ "$1" = version ]; then echo go version go1.26.8 linux/amd64; exit; fi
{ echo "directory=$PWD"; /usr/bin/env; for argument in "$@"; do echo "argument=$argument"; done; } > "$LOG"
while [ "$1" != -o ]; do shift; done
echo built > "$2"
"""

_UNREACHABLE = (
    'go: k8s.io/kubernetes@v1.36.1: Get "https://proxy.example/k8s.io/kubernetes/@v/v1.36.1.info": '
    "dial tcp: lookup proxy.example: no such host"
)


def test_a_binary_is_built_once_and_then_found(machine: Machine) -> None:
    machine.program("go", _FAKE_GO)
    environment = {**machine.environment, "LOG": str(machine.root / "log")}
    expected = {"etcd": machine.cache / RECIPES["etcd"].cache_key() / "etcd"}
    assert ensure_binaries(["etcd"], environment=environment, progress=machine.progress) == expected
    assert expected["etcd"].read_text() == "built\n"
    (machine.root / "log").unlink()
    assert ensure_binaries(["etcd"], environment=environment, progress=machine.progress) == expected
    assert not (machine.root / "log").exists()
    said = machine.said.getvalue()
    version = RECIPES["etcd"].version
    assert said.startswith(f"building etcd {version} (once, into {machine.cache}), about 70 s\n")
    assert said.endswith(f"building etcd {version} (once, into {machine.cache}): done in 1 s\n")


def test_go_builds_the_pinned_module_reproducibly_and_fetches_no_tool_chain(machine: Machine) -> None:
    machine.program("go", _FAKE_GO)
    environment = {**machine.environment, "LOG": str(machine.root / "log"), "GOPROXY": "the machine's own"}
    ensure_binaries(["kubectl"], environment=environment, progress=machine.progress)
    call = (machine.root / "log").read_text().splitlines()
    assert f"directory={RECIPES['kubectl'].source}" in call
    assert {"CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOWORK=off", "GOPROXY=the machine's own"} <= set(call)
    arguments = [line.removeprefix("argument=") for line in call if line.startswith("argument=")]
    assert {"-trimpath", "-mod=readonly"} <= set(arguments)
    assert arguments[-1] == "k8s.io/kubernetes/cmd/kubectl"
    ldflags = arguments[arguments.index("-ldflags") + 1]
    assert ldflags.startswith("-s -w -X k8s.io/component-base/version.gitVersion=v1.36.1 ")


def test_a_failed_build_leaves_nothing_and_says_why(machine: Machine) -> None:
    machine.program("go", '[ "$1" = version ] && echo go version go1.26.8 && exit; echo main.go:1: no luck; exit 2')
    with pytest.raises(BinaryUnavailableError) as failure:
        ensure_binaries(["etcd"], environment=machine.environment, progress=machine.progress)
    assert str(failure.value) == (
        f"etcd: building version {RECIPES['etcd'].version} failed. Fix what the compiler says, or put the binary on "
        "PATH or into $KUBEBUILDER_ASSETS.\n"
        "--- end of the output of `go build` ---\n"
        "main.go:1: no luck\n"
        f"{WITHOUT_A_CLUSTER}"
    )
    assert list(machine.cache.glob("etcd-*/*")) == []


@pytest.mark.parametrize(
    "output",
    [
        _UNREACHABLE,
        "go: download: dial tcp 192.0.2.1:443: connect: connection refused",
        "go: go.etcd.io/etcd/server/v3@v3.6.16: module lookup disabled by GOPROXY=off",
        "read tcp 10.0.0.2:51724->192.0.2.1:443: i/o timeout",
        "net/http: TLS handshake timeout",
    ],
)
def test_no_network_and_no_cache_names_the_way_without_a_cluster(output: str, machine: Machine) -> None:
    machine.program("go", f"[ \"$1\" = version ] && echo go version go1.26.8 && exit; echo '{output}'; exit 1")
    with pytest.raises(BinaryUnavailableError) as failure:
        ensure_binaries(["kube-apiserver"], environment=machine.environment, progress=machine.progress)
    message = str(failure.value)
    assert message.startswith(
        "kube-apiserver: version 1.36.1 is not in the cache, and its Go modules cannot be downloaded"
    )
    assert output in message
    assert "volcano-py simulate" in message


def test_a_long_compiler_output_is_cut_at_its_beginning() -> None:
    message = build_failure(RECIPES["etcd"], "first\n" + "x" * 10_000 + "\nlast")
    assert message.endswith("last")
    assert "first" not in message
    assert len(message) < 4000
