"""What the guide's pages about fair queues have readers write into files settles on a real API server, too.

Who gets how much, when all of it is there at once, is seen where the pages are replayed. Here it comes bit by bit, and
without `reclaim` or `preempt` who comes first keeps what it got.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Final

import pytest

from volcano_py.cluster.manifests import read_text

# So that it is left out on a foreign cluster, where there may be no binaries for one of our own.
pytestmark = pytest.mark.usefixtures("control_plane")

GUIDE: Final = Path(__file__).parents[2] / "docs" / "guide"
EXAMPLES: Final = Path(__file__).parents[2] / "examples"
_UP_SECONDS: Final = 240.0
_FILE: Final = re.compile(r"<!-- file: (\S+?)(?:;[^>]*)? -->\n```yaml\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(
    ("page", "files", "running"),
    [
        ("share-a-cluster", ["nodes.yaml", "queues.yaml", "vision.yaml", "others.yaml"], 8),
        ("hdrf", ["queues.yaml", "work.yaml"], 36),
        ("namespaces", ["weights.yaml", "jobs.yaml"], 8),
        ("evictions", ["nodes.yaml", "queues.yaml", "running.yaml", "three.yaml"], 8),
    ],
)
async def test_the_files_of_a_page_settle(page: str, files: list[str], running: int, tmp_path: Path) -> None:
    """All CPUs are in use in the end; with `reclaim` every queue has a part."""
    blocks = dict(_FILE.findall((GUIDE / f"{page}.md").read_text(encoding="utf-8")))
    configuration = next(name for name in blocks if name.endswith(".conf"))
    for name in (configuration, *files):
        (tmp_path / name).write_text(blocks[name], encoding="utf-8")
    said = await settled(
        f"--work-dir={tmp_path / 'plane'}",
        f"--scheduler-conf={tmp_path / configuration}",
        *(f"--filename={tmp_path / name}" for name in files),
    )
    assert "Settled." in said, said
    bodies = [each.body for name in files for each in read_text(blocks[name], name)]
    expected = {each["metadata"]["name"].partition("-")[0] for each in bodies if each["kind"] in ("PodGroup", "Job")}
    # The last that is said of each.
    counts = dict(re.findall(r"PodGroup \w+/(\w+)\S*(?: \(\w+\))?: Running in [\w-]+, (\d+)/\d+ pods running", said))
    assert counts.keys() <= expected, said
    if "reclaim" in blocks[configuration]:
        assert all(int(counts[name]) for name in expected), said
    assert sum(int(count) for count in counts.values()) == running, said


@pytest.mark.parametrize(
    ("example", "running"),
    [
        ("network", {"spans-two-racks": "6/6", "small": "1/1", "fits-a-rack": "3/3"}),
        ("partitions", {"train": "8/8", "tune": "4/6"}),
    ],
)
async def test_an_example_in_a_network_settles(example: str, running: dict[str, str], tmp_path: Path) -> None:
    folder = EXAMPLES / example
    said = await settled(
        f"--work-dir={tmp_path / 'plane'}",
        "--no-sample",
        f"--scheduler-conf={folder / 'volcano-scheduler.conf'}",
        f"--filename={folder}",
    )
    for name, pods in running.items():
        assert re.search(rf"PodGroup default/{name}\S*(?: \(\w+\))?: Running in [\w-]+, {pods} pods running", said), (
            said
        )


async def settled(*arguments: str) -> str:
    """What `volcano-py up --once` says."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "volcano_py", "up", "--once", *arguments,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_UP_SECONDS):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, output.decode()
    return output.decode()
