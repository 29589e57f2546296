"""What `up` shows of logs, and what an error about a process ends with."""

from __future__ import annotations

import pytest

from volcano_py.local.processes.log_lines import readable


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        (
            '{"ts":"2026-01-01T10:15:02.123Z","level":"info","msg":"cycle","binds":4,"pending":1,"logger":"volcano_py.x"}',
            "10:15:02 info cycle  binds=4 pending=1",
        ),
        ('{"ts":"2026-01-01T10:15:02Z","level":"error","msg":"no"}', "10:15:02 error no"),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
        ('{"cut off', '{"cut off'),
        ('{"other": 1}', '{"other": 1}'),
        ("[1, 2]", "[1, 2]"),
        ("", ""),
    ],
)
def test_the_log_of_the_daemon_is_shown_in_a_form_for_people(line: str, reported: str) -> None:
    assert readable(line) == reported
