"""Rights as SubjectAccessReviews say them, for a page that many users share.

Answers are kept for a short time, of a bounded number of users. Without an answer nothing is shown.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
import structlog

from volcano_py.api import names
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import RequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.ui.rights.sight import CLUSTER_WIDE, CONFIGURATION, GROUPS, IN_NAMESPACES, POD_GROUPS, Sight, User

log = structlog.get_logger(__name__)

ALLOWED_FOR: Final = 30.0
"""Seconds for which a yes counts: as long a right that was taken away may still show."""
DENIED_FOR: Final = 120.0
"""Seconds for which a no counts: as long a new right may not show yet."""
UNANSWERED_FOR: Final = 2.0
"""Seconds until a question that had no answer is asked again."""
MOST_USERS: Final = 200
"""Whose answers are kept; those who were here longest ago are asked about again."""
_AT_ONCE: Final = 16
"""Reviews that one user has under way; namespaces are asked about in batches of so many."""
_WITHIN: Final = 5.0
"""Seconds for an answer."""

REVIEWS: Final = ApiPath("authorization.k8s.io/v1", "subjectaccessreviews")


class Question(msgspec.Struct, frozen=True):
    """Whether objects may be listed; with a `name`, whether one may be read. Without a namespace: in all of them."""

    resource: str
    namespace: str = ""
    name: str = ""


class Review(msgspec.Struct, frozen=True):
    """An answer of the API server."""

    class Status(msgspec.Struct, frozen=True):
        """`denied`: a no that no other authorizer overrules."""

        allowed: bool = False
        denied: bool = False

    status: Status = Status()


class _Known:
    """The answers about one user: question → (answer, until when it counts)."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.answers: dict[Question, tuple[bool | None, float]] = {}
        self.sight: tuple[frozenset[str], Sight, float] | None = None


class ReviewedRights:
    """Asks the API server. Its own account needs the right to create subjectaccessreviews."""

    def __init__(
        self, client: KubernetesClient, config_namespace: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._clock = client, clock
        self._configuration = Question(CONFIGURATION, config_namespace, names.CONFIG_MAP)
        self._users: OrderedDict[User, _Known] = OrderedDict()

    async def sight(self, user: User, namespaces: frozenset[str]) -> Sight:
        """What the user may see. It takes as long as the questions that have no answer yet."""
        known = self._known_of(user)
        async with known.lock:
            if known.sight is None or known.sight[0] != namespaces or known.sight[2] <= self._clock():
                known.sight = namespaces, *await self._asked(user, known, namespaces)
            return known.sight[1]

    def _known_of(self, user: User) -> _Known:
        known = self._users.setdefault(user, _Known())
        self._users.move_to_end(user)
        if len(self._users) > MOST_USERS:
            self._users.popitem(last=False)
        return known

    async def _asked(self, user: User, known: _Known, namespaces: frozenset[str]) -> tuple[Sight, float]:
        """The sight, and until when it counts."""
        everywhere = [*map(Question, (*CLUSTER_WIDE, *IN_NAMESPACES)), self._configuration]
        await self._ask(user, known, everywhere)
        yes = {question.resource for question in everywhere if known.answers[question][0]}
        # A namespace is the user's to see if its PodGroups are: the rest is asked about those only.
        inside: dict[str, frozenset[str]] = {}
        own = namespaces
        for resource in IN_NAMESPACES:
            if resource not in yes:
                questions = [Question(resource, name) for name in sorted(own)]
                await self._ask(user, known, questions)
                inside[resource] = frozenset(each.namespace for each in questions if known.answers[each][0])
            if resource == POD_GROUPS:
                own = inside.get(resource, namespaces)
        known.answers = {
            question: answer
            for question, answer in known.answers.items()
            if not question.namespace or question.namespace in namespaces or question == self._configuration
        }
        unanswered = any(answer is None for answer, _ in known.answers.values())
        return Sight(frozenset(yes), inside, unanswered), min(until for _, until in known.answers.values())

    async def _ask(self, user: User, known: _Known, questions: Iterable[Question]) -> None:
        now = self._clock()
        due = [each for each in questions if known.answers.get(each, (None, now))[1] <= now]
        for start in range(0, len(due), _AT_ONCE):
            batch = due[start : start + _AT_ONCE]
            for question, allowed in zip(
                batch, await asyncio.gather(*(self._review(user, each) for each in batch)), strict=True
            ):
                lasts = UNANSWERED_FOR if allowed is None else ALLOWED_FOR if allowed else DENIED_FOR
                known.answers[question] = allowed, self._clock() + lasts

    async def _review(self, user: User, question: Question) -> bool | None:
        """None: there is no answer."""
        attributes = {
            "group": GROUPS.get(question.resource, ""),
            "resource": question.resource,
            "verb": "get" if question.name else "list",
            "namespace": question.namespace,
            "name": question.name,
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {**as_json(user), "resourceAttributes": attributes},
        }
        try:
            answer = msgspec.json.decode(await self._client.post(REVIEWS, body, within=_WITHIN), type=Review)
        except (RequestError, msgspec.MsgspecError) as error:
            log.warning("no answer about a right", user=user.name, resource=question.resource, error=str(error))
            return None
        return answer.status.allowed and not answer.status.denied


def as_json(user: User) -> dict[str, Any]:
    """As the specification of a SubjectAccessReview has it."""
    return {
        "user": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra},
    }
