"""The Markdown pages of the project, taken apart: code blocks with their marks, links, headings, code in running text.

A mark is an HTML comment in front of a block, which readers do not see: `<!-- file: gang.yaml; with: nodes.yaml -->`.

- `file: NAME`: commands further down on the page find the block in a file of that name.
- `with: NAME, …`: YAML objects are tried together with those files (otherwise on three nodes of 8 CPUs and 32Gi).
- `conf: NAME`: objects are tried under the configuration in that file, otherwise under the shipped one.
- `waits: REASON`: the block's pods are not placed, for that reason; `waits: some`: some are not, and their messages say
why.
  Otherwise all of them are placed.
- `scheduler: NAME`: the scheduler is called so.
- `rejected`: the configuration is an example of an invalid one.
- `refused: NAME`: admission refuses the object next to those of that file; the next block of text is the answer.
- `include: PATH`: the block is a copy of that file of the project.
- `made: FILE`: the block is for another operator, and is tried as the objects that it makes, in `made_by_operators/`.
- `plugin`: the Python code defines plugins, which are put to use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from volcano_py.yaml_events import documents

PROJECT: Final = Path(__file__).resolve().parents[3]
PAGES: Final = tuple(
    sorted(
        [
            *PROJECT.glob("*.md"),
            *(PROJECT / "docs").rglob("*.md"),
            *(PROJECT / "manifests").rglob("*.md"),
            *(PROJECT / "examples").rglob("*.md"),
        ]
    )
)
_MARK: Final = re.compile(r"\A<!--\s*(.+?)\s*-->\s*\Z", re.DOTALL)
_NOT_IN_ANCHORS: Final = re.compile(r"[^\w\- ]")


def yaml_documents(text: str) -> list[Any]:
    """The documents of a text that are not empty, made again with each call: a test may change its own."""
    return [document for document in documents(text) if document is not None]


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. `line` counts from 1 and is that of the fence."""

    page: Path
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.page.relative_to(PROJECT)}:{self.line}"

    @property
    def documents(self) -> list[Any]:
        """The documents of a YAML block."""
        return yaml_documents(self.text)


@dataclass(frozen=True, slots=True)
class Link:
    page: Path
    line: int
    target: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(PROJECT)}:{self.line} → {self.target}"


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page in their order."""
    before: Token | None = None
    for token in _tokens(page):
        if token.type == "fence":
            line = (token.map or [0])[0] + 1
            yield Block(page, line, token.info.strip(), token.content, _marks(before))
        if token.type != "list_item_open":
            before = token


def links(page: Path) -> Iterator[Link]:
    """Targets of links and pictures, those in HTML included."""
    for token in _tokens(page):
        line = (token.map or [0])[0] + 1
        for child in (token, *(token.children or ())):
            target = child.attrs.get("href") or child.attrs.get("src")
            if target:
                yield Link(page, line, str(target))
            elif child.type in ("html_block", "html_inline"):
                for target in re.findall(r"(?:href|src)=\"([^\"]+)\"", child.content):
                    yield Link(page, line, target)


def code_spans(page: Path) -> Iterator[tuple[int, str]]:
    """Line and text of `code` in running text."""
    for token in _tokens(page):
        for child in token.children or ():
            if child.type == "code_inline":
                yield (token.map or [0])[0] + 1, child.content


def anchors(page: Path) -> set[str]:
    """What `#…` may follow the page's name in a link, as GitHub makes it from the headings."""
    tokens = _tokens(page)
    found: set[str] = set()
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            title = "".join(child.content for child in tokens[number + 1].children or ())
            found.add(_NOT_IN_ANCHORS.sub("", title.lower()).replace(" ", "-"))
    return found


def all_blocks(*languages: str) -> list[Block]:
    """The blocks in these languages of all pages."""
    return [block for page in PAGES for block in blocks(page) if block.language in languages]


def _tokens(page: Path) -> tuple[Token, ...]:
    return _parsed(page.read_text(encoding="utf-8"))


@cache
def _parsed(text: str) -> tuple[Token, ...]:
    return tuple(MarkdownIt("commonmark").enable("table").parse(text))


def _marks(token: Token | None) -> dict[str, str]:
    found = _MARK.match(token.content) if token is not None and token.type == "html_block" else None
    if found is None:
        return {}
    pairs = (part.partition(":") for part in found.group(1).split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}
