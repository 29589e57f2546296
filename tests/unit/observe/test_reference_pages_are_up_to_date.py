"""docs/reference says what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from volcano_py.api.reasons import Rank, Reason
from volcano_py.observe.metrics import CATALOGUE
from volcano_py.observe.reference import EXAMPLES, PAGES, RANK_TITLES, main, metrics_page, reasons_page

DIRECTORY = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_page_is_what_the_code_makes(name: str) -> None:
    """When this fails: python -m volcano_py.observe.reference."""
    assert (DIRECTORY / name).read_text(encoding="utf-8") == PAGES[name]()


def test_every_metric_has_its_row_with_labels_and_meaning() -> None:
    page = metrics_page()
    for section in CATALOGUE:
        for definition in section.definitions:
            (row,) = [line for line in page.splitlines() if line.startswith(f"| `{definition.name}`")]
            assert all(f"`{label}`" in row for label in definition.labels)
            assert row.count("|") == 5
            assert definition.text.endswith(".")


def test_every_reason_has_a_section_under_its_rank_and_an_example() -> None:
    assert EXAMPLES.keys() == set(Reason)
    assert RANK_TITLES.keys() == set(Rank)
    page = reasons_page()
    ranks = [page.index(f"## {rank.value + 1}. {RANK_TITLES[rank]}\n") for rank in Rank]
    assert ranks == sorted(ranks)
    for reason in Reason:
        place = page.index(f"### {reason.value}\n")
        assert ranks[reason.rank] < place
        assert all(place < start for start in ranks[reason.rank + 1 :])
        assert f"\n{reason.value}: {EXAMPLES[reason]}\n" in page


def test_writing_fixes_what_checking_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "docs"
    assert main(["--check", "--directory", str(directory)]) == 1
    assert f"{directory / 'metrics.md'} is out of date: run python -m" in capsys.readouterr().err
    assert main(["--directory", str(directory)]) == 0
    assert main(["--check", "--directory", str(directory)]) == 0
    (directory / "metrics.md").write_text("old")
    assert main(["--check", "--directory", str(directory)]) == 1
    assert main(["--directory", str(directory)]) == 0
    assert (directory / "metrics.md").read_text(encoding="utf-8") == metrics_page()
    assert capsys.readouterr().out.count("wrote ") == 3
