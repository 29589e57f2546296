"""Which fields of queues the configuration does not use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.text import Text

from volcano_py.api.report import QueueReport
from volcano_py.api.wording.summarize import summarize
from volcano_py.cli.printing.one_line import plain


def ignored_lines(queues: Iterable[QueueReport]) -> Iterator[Text]:
    """What the configuration ignores; a sentence that holds for several queues once, with their names."""
    names: dict[str, list[str]] = {}
    for queue in queues:
        for sentence in queue.ignored:
            names.setdefault(sentence, []).append(queue.name)
    for sentence, named in sorted(names.items(), key=lambda each: each[1]):
        which = "queue" if len(named) == 1 else "queues"
        yield Text(plain(f"{which} {summarize(named)}: {sentence}"), "yellow")
