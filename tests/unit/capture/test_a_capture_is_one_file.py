"""The file: the same again when it is read, without what decisions do not need, and errors that name what is wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.capture.clusters import LISTS, MARK, pod, serve
from tests.unit.cluster.fakes import FakeApi
from volcano_py.capture import file
from volcano_py.capture.contents import is_decisive, stripped
from volcano_py.capture.file import of_bytes, read, written
from volcano_py.capture.live import of_cluster
from volcano_py.capture.model import Capture, CaptureError, Unread
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.manifests import Document, stored

EMPTY = Capture(taken=1_793_527_200.5, items=(), configuration="actions: allocate\n")


def packed(**content: Any) -> bytes:
    return gzip.compress(json.dumps({**json.loads(gzip.decompress(written(EMPTY))), **content}).encode())


@pytest.mark.real_time
async def test_what_is_written_is_read_back(api: FakeApi, client: KubernetesClient, tmp_path: Path) -> None:
    serve(api)
    taken = await of_cluster(client, scheduler_names=("volcano", "other"), default_queue="q")
    path = tmp_path / "cluster.capture"
    path.write_bytes(written(taken))

    assert read(path) == taken
    assert written(read(path)) == written(taken)


@pytest.mark.real_time
async def test_the_file_has_nothing_that_decisions_do_not_follow_from(api: FakeApi, client: KubernetesClient) -> None:
    serve(api)

    text = gzip.decompress(written(await of_cluster(client))).decode()

    assert MARK in json.dumps(LISTS)
    assert MARK not in text
    for kept in ("volcano.sh/preemptable", "registry.k8s.io/pause:3.10", '"claimName":"data"', '"storageClassName"'):
        assert kept in text


def test_manifests_are_stripped_to_the_same() -> None:
    (item,) = [obj for kind, obj in stored([Document("f", 1, {"kind": "Pod", **pod("a")})]) if kind == "Pod"]

    assert MARK not in repr(stripped(item))


@pytest.mark.parametrize(
    ("annotation", "decides"),
    [
        ("volcano.sh/preemptable", True),
        ("scheduling.volcano.sh/queue-name", True),
        ("scheduling.k8s.io/group-name", True),
        ("pv.kubernetes.io/bind-completed", True),
        ("volume.kubernetes.io/selected-node", True),
        ("kubectl.kubernetes.io/last-applied-configuration", False),
        ("evilvolcano.sh/token", False),
        ("volcano.sh", True),
        ("sla-waiting-time", True),
        ("note", False),
    ],
)
def test_annotations_that_the_scheduler_reads_are_kept(annotation: str, decides: bool) -> None:
    assert is_decisive(annotation) is decides


def test_what_was_not_read_is_in_the_file() -> None:
    missing = Unread("Node", "forbidden", "no pod fits anywhere")
    capture = Capture(taken=1.0, items=(), configuration="", unread=(missing,), versions={"volcano-py": "1"})

    assert of_bytes(written(capture), "f") == capture
    assert str(missing) == "Node not read: forbidden; no pod fits anywhere"


def test_the_moment_is_written_as_kubernetes_writes_it() -> None:
    assert EMPTY.moment == "2026-11-01T10:00:00Z"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"kind: Pod\n", "f: not a capture: it is not compressed with gzip"),
        (written(EMPTY)[:-9], "f: the file ends early; copy it again"),
        (
            packed(volcanoPyCapture=2),
            "f: a capture of format 2, expected 1: use the version of volcano-py that took it",
        ),
        (packed(objects={"Tea": [{}]}), "f: objects.Tea[0]: this version of volcano-py knows no kind Tea"),
        (
            packed(objects={"Pod": [{"metadata": {"name": 7}}]}),
            "f: objects.Pod[0]: Expected `str`, got `int` - at `$.metadata.name`",
        ),
        (
            gzip.compress(b"{}"),
            "f: not a capture: Object missing required field `volcanoPyCapture`; `volcano-py capture FILE` makes one",
        ),
    ],
    ids=["plain text", "cut", "later format", "unknown kind", "bad object", "other JSON"],
)
def test_what_is_no_capture_is_refused_with_the_reason(content: bytes, message: str) -> None:
    with pytest.raises(CaptureError) as refused:
        of_bytes(content, "f")

    assert str(refused.value) == message


def test_a_file_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "LARGEST", 10)

    with pytest.raises(CaptureError, match="more than 10 bytes when unpacked"):
        of_bytes(written(EMPTY), "f")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="none: No such file or directory"):
        read(tmp_path / "none")
