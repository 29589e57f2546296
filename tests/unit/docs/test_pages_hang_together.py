"""Links, and names of options and metrics in running text."""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import click
import pytest

from tests.support.registries import checked_registry
from tests.unit.docs.pages import PAGES, PROJECT, Link, anchors, code_spans, links
from volcano_py.cli.main import main
from volcano_py.observe.metrics import CATALOGUE

DOCUMENTATION = [page for page in PAGES if page.is_relative_to(PROJECT / "docs") or page.parent == PROJECT]
LINKS = [link for page in PAGES for link in links(page)]


def where(link: Link) -> Path:
    """The file or folder that a link within the project leads to."""
    path = unquote(link.target.partition("#")[0])
    return (link.page.parent / path).resolve() if path else link.page


@pytest.mark.parametrize("link", [link for link in LINKS if "://" not in link.target], ids=str)
def test_it_leads_to_a_page_and_a_heading_that_exist(link: Link) -> None:
    target, anchor = where(link), link.target.partition("#")[2]
    assert target.exists(), f"{target} does not exist"
    assert target.is_relative_to(PROJECT)
    if anchor:
        assert anchor in anchors(target), f"{target.name} has no heading for #{anchor}"


@pytest.mark.parametrize("link", [link for link in LINKS if "://" in link.target], ids=str)
def test_links_to_elsewhere_are_encrypted(link: Link) -> None:
    assert link.target.startswith("https://")


def test_every_threat_names_tests_that_exist() -> None:
    """Tests without a folder are in e2e/tenants, as the page says above its table."""
    page = PROJECT / "SECURITY.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    named = [name for row in rows for name in re.findall(r"`((?:e2e/|tests/|test_)[\w./]+)`", row)]
    assert len(named) > 10
    missing = [name for name in named if not ((PROJECT / name).exists() or (PROJECT / "e2e/tenants" / name).exists())]
    assert not missing


def test_every_page_is_reached_from_the_readme() -> None:
    reached, to_visit = set(), [PROJECT / "README.md"]
    while to_visit:
        page = to_visit.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            to_visit += [where(link) for link in links(page) if "://" not in link.target]
    assert not set(DOCUMENTATION) - reached


ARCHITECTURE = PROJECT / "docs/architecture.md"
MODULES = sorted(str(path) for path in (PROJECT / "volcano_py").rglob("*.py"))


def test_every_file_that_the_architecture_names_exists() -> None:
    """A path may leave out the folders that the text around it names."""
    named = set(re.findall(r"`([\w/]+\.py)`", ARCHITECTURE.read_text()))
    assert len(named) > 100
    unknown = {name for name in named if not any(path.endswith(f"/{name}") for path in MODULES)}
    assert not {name for name in unknown if not (PROJECT / name).exists()}


def test_functions_to_start_from_are_in_the_files_named() -> None:
    found = re.findall(r"`([\w.]+)` (?:in|of) `([\w/]+\.py)`", ARCHITECTURE.read_text())
    assert len(found) > 10
    for name, file in found:
        sources = [Path(path).read_text() for path in MODULES if path.endswith(f"/{file}")]
        for part in name.split("."):
            definition = re.compile(rf"^\s*(async def|def|class) {part}\b|^{part}\b.* = ", re.MULTILINE)
            assert any(definition.search(source) for source in sources), f"{file} has no {name}"


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_ten_first_questions_are_answered_one_click_away(name: str) -> None:
    """Each leads to a heading; that the headings exist is tested above."""
    page = PROJECT / name
    section = page.read_text(encoding="utf-8").partition("## Ten first questions\n")[2].partition("\n## ")[0]
    questions = re.findall(r"^\d+\. \[(.+\?)\]\((\S+)\)$", section, re.MULTILINE)
    targets = {target for _, target in questions}
    assert len(questions) == len(targets) == 10
    assert targets <= {link.target for link in links(page) if link.target.partition("#")[2]}
    leaving = [target for target in targets if target.startswith("..")]
    assert not leaving, "the site has the pages of docs/ alone"


@cache
def known_options() -> set[str]:
    return options(main, click.Context(main))


def options(command: click.Command, context: click.Context) -> set[str]:
    found = {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | {"--help"}
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            found |= options(below, context)
    return found


@pytest.mark.parametrize("page", DOCUMENTATION, ids=lambda page: str(page.relative_to(PROJECT)))
def test_options_and_metrics_in_the_text_exist(page: Path) -> None:
    known_metrics = {definition.name for section in CATALOGUE for definition in section.definitions}
    for line, code in code_spans(page):
        if found := re.fullmatch(r"(--[a-z][a-z-]+)(?:[= ].*)?", code):
            assert found.group(1) in known_options(), f"{page}:{line}: there is no {found.group(1)}"
        if re.fullmatch(r"volcano_[a-z0-9_]+", code) and code != "volcano_py":
            assert code in known_metrics, f"{page}:{line}: there is no metric {code}"


@pytest.mark.parametrize("name", ["explain", "layers", "network_before_after"])
def test_a_picture_is_what_the_code_makes(name: str) -> None:
    """Of a session, the contract of imports, and the example. When this fails: python docs/images/NAME.py."""
    images = PROJECT / "docs" / "images"
    script = runpy.run_path(str(images / f"{name}.py"))
    assert (images / f"{name.replace('_', '-')}.svg").read_text(encoding="utf-8") == script["picture"]()


def test_the_readme_lists_the_plugins_and_actions_that_are_there_and_those_that_are_not() -> None:
    catalogue = checked_registry().catalogue()
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    actions, plugins = (re.search(rf"^\| {name} \| (.+) \|$", text, re.MULTILINE) for name in ("Actions", "Plugins"))
    assert actions is not None
    assert plugins is not None
    assert set(re.findall(r"`([^`]+)`", actions.group(1))) == set(catalogue.actions)
    assert set(re.findall(r"`([^`]+)`", plugins.group(1))) == set(catalogue.plugins)
    missing = set(re.findall(r"`([^`]+)`", text.partition("## Not there yet")[2].partition("\n## ")[0]))
    assert catalogue.plugins_known_elsewhere | catalogue.actions_known_elsewhere <= missing
