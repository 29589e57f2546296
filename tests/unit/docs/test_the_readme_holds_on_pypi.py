"""The README on PyPI, where no file is next to it: links are made whole when the package is built."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from tests.unit.docs.pages import PROJECT, links

PYPROJECT: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
HOOK: dict[str, Any] = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
HOMEPAGE: str = PYPROJECT["project"]["urls"]["Homepage"]


def as_on_pypi() -> str:
    """As hatch-fancy-pypi-readme makes it: the fragments, then each substitution."""
    text = "".join((PROJECT / each["path"]).read_text(encoding="utf-8") for each in HOOK["fragments"])
    for each in HOOK["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    return text


def test_no_link_is_relative() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", as_on_pypi())
    assert len(targets) >= len([link for link in links(PROJECT / "README.md") if "://" not in link.target]) > 10
    assert not [target for target in targets if not target.startswith(("https://", "#"))]


def test_pages_and_pictures_are_those_of_the_repository() -> None:
    page, picture = f"{HOMEPAGE}/blob/main/", HOMEPAGE.replace("//github.com", "//raw.githubusercontent.com") + "/main/"
    targets = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", as_on_pypi())
    ours = [(mark, target) for mark, target in targets if target.startswith((page, picture))]
    assert {mark for mark, _ in ours} == {"", "!"}
    for mark, target in ours:
        base = picture if mark else page
        assert target.startswith(base), target
        assert (PROJECT / target.removeprefix(base).partition("#")[0]).exists(), target


def test_all_urls_of_the_project_are_of_one_repository() -> None:
    assert all(url.startswith(HOMEPAGE) for url in PYPROJECT["project"]["urls"].values())
