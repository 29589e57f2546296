"""examples/extender: the server runs, is asked over HTTP, and decides."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.support.registries import checked_registry
from tests.support.sessions import gang, node
from tests.unit.docs.pages import PROJECT, blocks
from volcano_py.cluster.extender.client import HttpExtender
from volcano_py.config import format_problems, parse_configuration
from volcano_py.simulation import Simulation

SERVER = PROJECT / "examples" / "extender" / "extender.py"
PAGE = PROJECT / "docs" / "guide" / "extender.md"


@pytest.fixture
def address() -> Iterator[str]:
    handler = runpy.run_path(str(SERVER))["Handler"]
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_pods_avoid_nodes_in_maintenance_and_go_to_the_coolest(address: str) -> None:
    registry = checked_registry()
    text = next(block.text for block in blocks(Path(PAGE)) if "extender.urlPrefix" in block.text)
    parsed = parse_configuration(text.replace("http://extender.ops:8080", address), registry.catalogue(), strict=True)
    assert parsed.config is not None, format_problems(parsed.problems, text)
    objects = [
        node("n1"),
        node("n2"),
        node("n3"),
        *gang("train", cpu="1"),
        *gang("large", pods=2, min_member=2, cpu="5"),
    ]
    client = HttpExtender()
    try:
        items = [(type(each).__name__, each) for each in objects]
        result = Simulation(items, parsed.config, registry, extender=client).run()
    finally:
        client.close()
    assert result.binds["team/train-0"] == "n3"
    assert {result.binds["team/large-0"], result.binds["team/large-1"]} == {"n1", "n3"}


def test_it_needs_nothing_but_the_standard_library() -> None:
    lines = SERVER.read_text(encoding="utf-8").splitlines()
    names = {line.split()[1] for line in lines if line.startswith(("import ", "from "))}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
