"""What the page is made of: files of our own, and libraries as their authors ship them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

import pytest

from volcano_py.ui.web.files import STATIC, read

OURS: Final = [path for path in sorted(STATIC.rglob("*")) if path.is_file() and "vendor" not in path.parts]
VENDOR: Final = STATIC / "vendor"


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.relative_to(STATIC).as_posix())
def test_a_file_of_ours_names_no_other_site_and_has_no_script_or_style_inside(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    sites = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
    assert not sites
    assert not re.search(r"\sstyle=|<style|\son\w+=\"|<script(?![^>]*\ssrc=)|javascript:|unsafeHTML|innerHTML", text)


def test_every_import_leads_to_a_file() -> None:
    files = read()
    missing = []
    for path in files:
        if path.endswith(".js"):
            for target in re.findall(r"""from\s*["'](\.[^"']+)["']""", files[path][0].decode()):
                there = ((STATIC / path).parent / target).resolve().relative_to(STATIC).as_posix()
                missing += [] if there in files else [f"{path}: {target}"]
    assert not missing


def test_every_file_of_ours_is_used() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in OURS if path.suffix in (".js", ".html"))
    assert [path.name for path in OURS if path.suffix != ".html" and f"/{path.name}" not in text] == []


def test_libraries_are_the_pinned_files_with_their_licences() -> None:
    """The list is in vendor/README.md; `sha256sum` makes it."""
    listed = dict(
        reversed(line.split(maxsplit=1))
        for line in re.findall(r"^[0-9a-f]{64}  \S+$", (VENDOR / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    there = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    assert listed == there
    for folder in VENDOR.iterdir():
        assert folder.is_file() or (folder / "LICENSE").is_file()
