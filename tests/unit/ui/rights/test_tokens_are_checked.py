"""TokenReviews: whose a token is, and until when."""

from __future__ import annotations

import time
from math import inf

import pytest

from tests.unit.ui.users import Reviewer, token
from volcano_py.ui.rights.sight import User
from volcano_py.ui.rights.tokens import Holder, Tokens, UncheckedError

TOMORROW = time.time() + 86_400  # (whenever the tests were collected)


@pytest.mark.parametrize(
    ("text", "until"),
    [
        (token("ann", TOMORROW), TOMORROW),
        (token("ann"), inf),
        ("opaque", inf),
        ("a.b.c", inf),
        ("a.%%%.c", inf),
        (f"a.{'A' * 8}.c", inf),
    ],
    ids=["ends", "without an end", "opaque", "odd claims", "no base64", "no JSON"],
)
async def test_a_token_is_its_users_until_it_ends(text: str, until: float) -> None:
    found = await Tokens(Reviewer({text: "ann"}).client).holder(text)
    assert found == Holder(User("ann", "uid-ann", ("people",)), until)


@pytest.mark.parametrize("text", ["", "wrong", "two words", "line\nbreak", "ü", "x" * 20_000, token("ann", 5.0)])
async def test_a_wrong_or_impossible_token_is_nobodys(text: str) -> None:
    known = {text: "ann"} if text not in ("", "wrong") else {}
    assert await Tokens(Reviewer(known).client).holder(text) is None


async def test_without_an_answer_it_is_not_known_and_the_error_has_nothing_of_the_token() -> None:
    reviewer = Reviewer({"text": "ann"})
    reviewer.is_silent = True
    with pytest.raises(UncheckedError) as caught:
        await Tokens(reviewer.client).holder("text-of-a-token")
    assert "text-of-a-token" not in str(caught.value)
    assert caught.value.__cause__ is None
