"""The pages as a site with search (`make docs`). Sphinx reads the Markdown as GitHub does; each warning is an error.

The pages themselves know nothing of it. Two things are added while they are read: the navigation, which is the list of
pages in index.md, and addresses for links that leave docs/.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from sphinx.errors import ExtensionError

_DOCS: Final = Path(__file__).resolve().parent
_PROJECT: Final[dict[str, Any]] = tomllib.loads((_DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
_LINK: Final = re.compile(r"\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
_LOADED: Final = re.compile(
    r"""<(?:script|img|iframe|source)[^>]+src="(?P<url>(?:https?:)?//[^"]+)|<link[^>]+href="(?P<link>(?:https?:)?//[^"]+)"""
)

project = _PROJECT["name"]
version = release = _PROJECT["version"]
extensions = ["myst_parser"]
myst_heading_anchors = 6
nitpicky = True
html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_show_sphinx = False
templates_path: list[str] = []


def navigation(index: str) -> str:
    """Tables of contents for the sidebar: one for each section of index.md, with its pages in the order of links."""
    tables: list[str] = []
    seen: set[str] = set()
    for section in reversed(index.split("\n## ")):  # a page that several sections name belongs to the last of them
        title = section.partition("\n")[0].removeprefix("# ")
        named = dict.fromkeys(link["path"] for link in _LINK.finditer(section))
        pages = [page for page in named if (_DOCS / page).is_file() and page not in seen]
        seen.update(pages)
        if pages:
            tables.append("\n".join(("", "```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", "")))
    return "".join(reversed(tables))


def links_that_leave(page: Path, text: str) -> str:
    """The text with the address in the repository for each link to a file outside of docs/. Links to what is not there
    stay, and are reported."""

    def address(link: re.Match[str]) -> str:
        target = (page.parent / link["path"]).resolve()
        if target.is_relative_to(_DOCS) or not target.exists():
            return link[0]
        path = target.relative_to(_DOCS.parent).as_posix()
        return f"]({_PROJECT['urls']['Homepage']}/blob/main/{path}{link['anchor'] or ''})"

    return _LINK.sub(address, text)


def _read(_app: object, name: str, source: list[str]) -> None:
    source[0] = links_that_leave(_DOCS / f"{name}.md", source[0])
    if name == "index":
        source[0] += navigation(source[0])


def _check_requests(app: Any, error: Exception | None) -> None:
    """Readers' browsers ask no other server: scripts, styles, fonts and pictures come with the pages.

    Raises:
        ExtensionError: a page would load something from elsewhere.
    """
    for page in () if error else Path(app.outdir).rglob("*.html"):
        if found := _LOADED.search(page.read_text(encoding="utf-8")):
            raise ExtensionError(f"{page.name} would load {found['url'] or found['link']}: ship it in docs/")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _read)
    app.connect("build-finished", _check_requests)
    return {"parallel_read_safe": True}
