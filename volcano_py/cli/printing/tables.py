"""Tables whose cells are text as it came from the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from volcano_py.cli.printing.one_line import plain


def titled(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table with its title on the left; brackets and colons of cells are no markup of rich."""
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    return table
