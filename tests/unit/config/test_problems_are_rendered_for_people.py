"""The sentence, the line, the caret."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from volcano_py.config import Code, ParseResult, Problem, Severity, format_problems, in_short

Parse = Callable[..., ParseResult]


def problem_at(line: int, column: int, severity: Severity = Severity.ERROR) -> Problem:
    return Problem(severity, "a.b", line, column, "is wrong", Code.WRONG_TYPE)


def test_a_problem_shows_its_line_with_a_caret_below_the_place(parse: Parse) -> None:
    text = 'actions: "enqueue, alocate"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n'
    assert format_problems(parse(text).problems, text) == (
        'volcano-scheduler.conf:1:20: error: actions[1]: unknown action "alocate" (did you mean "allocate"?)\n'
        '    1 | actions: "enqueue, alocate"\n'
        "      |                    ^\n"
        "1 error"
    )


def test_problems_are_counted() -> None:
    problems = [problem_at(0, 0), problem_at(0, 0), problem_at(0, 0, Severity.WARNING)]
    assert format_problems(problems, "", source="conf") == (
        "conf: error: a.b: is wrong\nconf: error: a.b: is wrong\nconf: warning: a.b: is wrong\n2 errors, 1 warning"
    )
    assert format_problems([], "anything") == ""


def caret_of(line: str, column: int) -> tuple[str, int]:
    """The line as shown and the index in it above the caret."""
    _, shown, caret, _ = format_problems([problem_at(1, column)], line).split("\n")
    margin = len("    1 | ")
    return shown[margin:], caret.index("^") - margin


def test_the_caret_stands_below_wide_characters_and_tabs() -> None:
    assert caret_of("a: b", 4) == ("a: b", 3)
    assert caret_of("\ta: b", 5) == ("    a: b", 7)
    assert caret_of("队列: b", 5) == ("队列: b", 6)  # two characters, four columns
    assert caret_of("e\u0301: b", 5) == ("e\u0301: b", 3)


def test_a_long_line_is_cut_around_the_place() -> None:
    shown, at = caret_of("x" * 300 + "!" + "y" * 300, 301)
    assert len(shown) == 102
    assert (shown[0], shown[-1], shown[at]) == ("…", "…", "!")
    shown, at = caret_of("!" + "y" * 300, 1)
    assert (shown[0], shown[-1], at) == ("!", "…", 0)


def test_a_place_beyond_the_text_is_shown_without_a_line() -> None:
    assert format_problems([problem_at(9, 1)], "one line") == (
        "volcano-scheduler.conf:9:1: error: a.b: is wrong\n1 error"
    )
    assert caret_of("ab", 50)[1] == 49 - 47  # past the end of the line: right behind it


def test_control_characters_of_the_text_are_not_printed() -> None:
    shown, _ = caret_of("a: \x1b[2J\u202e", 1)
    assert shown == "a: \ufffd[2J\ufffd"


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"])
def test_lines_are_counted_as_the_parser_counts_them(parse: Parse, line_break: str) -> None:
    text = line_break.join(("actions: allocate", "tires: []", "tiers: [{plugins: [{name: gang}]}]", ""))
    shown = format_problems([problem for problem in parse(text).problems if problem.path == "tires"], text)
    assert "    2 | tires: []\n" in shown


def test_credentials_are_not_shown() -> None:
    assert caret_of("  elasticsearch.password: hunter2 # old", 3) == ("  elasticsearch.password: ***", 2)
    assert caret_of("{type: x, 'bearerToken': abc}", 2)[0] == "{type: x, 'bearerToken': ***"


def test_a_problem_reads_as_a_sentence_by_itself() -> None:
    assert str(problem_at(3, 4)) == "line 3, column 4: error: a.b: is wrong"
    assert str(problem_at(0, 0)) == "error: a.b: is wrong"


def test_in_short_all_stand_on_one_line_errors_first() -> None:
    problems = [problem_at(2, 3, Severity.WARNING), problem_at(5, 7)]
    assert in_short(problems, room=1000) == (
        "line 5, column 7: error: a.b: is wrong; line 2, column 3: warning: a.b: is wrong"
    )
    assert in_short([], room=10) == ""


def test_in_short_what_there_is_no_room_for_is_counted() -> None:
    problems = [problem_at(line, 1) for line in range(1, 10)]
    shown = in_short(problems, room=150)
    assert shown == (
        "line 1, column 1: error: a.b: is wrong; line 2, column 1: error: a.b: is wrong"
        "; 7 more in the log and by volcano-py config check"
    )
    whole = in_short(problems, room=1000)
    assert in_short(problems, room=len(whole)) == whole
    assert in_short(problems, room=len(whole) - 1).endswith("more in the log and by volcano-py config check")
    assert in_short(problems, room=20) == "line 1, column 1: e…"


def test_in_short_a_message_of_several_lines_stands_on_one() -> None:
    problem = Problem(Severity.ERROR, "", 0, 0, "one\n  two", Code.UNAVAILABLE)
    assert in_short([problem], room=100) == "error: one two"
