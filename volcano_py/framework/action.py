"""The action interface: one step of a cycle, working on the session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from volcano_py.config.arguments import Arguments, NoArguments

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


class Action:
    """An action class has a `name`, a model of its arguments, and `execute`. Every cycle has a new instance."""

    name: ClassVar[str]
    arguments_type: ClassVar[type[Arguments]] = NoArguments

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments

    def execute(self, ssn: Session) -> None:
        """Decide on the session's copy of the cluster; only committed statements reach the outside world."""
        raise NotImplementedError
