"""The configuration in force: from the mounted file, from the watched ConfigMap, or the built-in default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import structlog

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.objects import ApiObject
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.watching.kinds import ConfigMap
from volcano_py.config import (
    Outcome,
    OutcomeKind,
    Reloader,
    SchedulerConfiguration,
    Severity,
    default_configuration_text,
    format_problems,
    in_short,
)
from volcano_py.config.config_key import config_key, no_config_key
from volcano_py.config.text.document import MAX_BYTES

log = structlog.get_logger(__name__)

# Seconds between two looks at the mounted file. The kubelet itself needs up to a minute to project an edit.
LOOK_EVERY: Final = 1.0
# The API server cuts the note of an event at 1,024 characters.
_LONGEST_NOTE: Final = 1000
_DEFAULT_ORIGIN: Final = "built-in default"
# The link that the kubelet replaces to swap the files of a mounted ConfigMap (Kubernetes' atomic writer).
_KUBELETS_LINK: Final = "..data"


class ConfigurationError(RuntimeError):
    """The first configuration is invalid and `--strict` refuses to start without a valid one."""


class LiveConfiguration:
    """Offers every text that it reads to the `Reloader`, and logs and reports the outcome.

    A `Sink` for the one ConfigMap. If there is a file, too, the ConfigMap counts only if the kubelet mounts that file
    from a ConfigMap: the watch then brings the same edits, up to minutes earlier. Any other file counts alone.

    `on_change` is called when another configuration is in force. The default is used where there is neither a file nor
    a ConfigMap. With an invalid one nothing is scheduled: the user asked for something else, and it is not known what.
    """

    def __init__(
        self,
        reloader: Reloader,
        *,
        file: Path | None,
        on_change: Callable[[], None],
        on_outcome: Callable[[Outcome], None],
        record: Callable[[Event], None],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._reloader = reloader
        self._file = file
        self._on_change, self._on_outcome, self._record = on_change, on_outcome, record
        self._clock = clock
        self._seen: tuple[int, int, int] | None = None
        self._unreadable = False
        self._map: ObjectRef | None = None
        self.rejected = ""
        """What is wrong with the text that was read last, with lines and columns; "" while it is in force."""

    @property
    def current(self) -> SchedulerConfiguration | None:
        """The configuration in force, None while there was no valid one yet."""
        return self._reloader.configuration

    @property
    def text(self) -> str:
        """Its text."""
        return self._reloader.text

    def problem(self) -> str | None:
        """For readiness: why nothing can be scheduled."""
        if self.current is not None:
            return None
        return "there is no valid scheduler configuration yet; the log names line and column of what is wrong"

    def start(self, *, strict: bool) -> None:
        """Read the file, if there is one; without one, what holds is known once the ConfigMap has been listed.

        Raises:
            ConfigurationError: strict, and the file is invalid or missing.
        """
        self._look()
        if strict and self._file is not None and self.current is None:
            raise ConfigurationError(f"{self._file} is not a valid configuration and --strict refuses to go on")

    async def follow_file(self) -> None:
        """Check the mounted file until cancelled. A ConfigMap mount swaps a link, so the path is resolved each time."""
        while True:
            await self._clock.sleep(LOOK_EVERY)
            self._look()

    def _look(self) -> None:
        if self._file is None:
            return
        origin = str(self._file)
        try:
            stat = self._file.stat()
            mark = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if mark == self._seen:
                return
            with self._file.open(encoding="utf-8") as stream:
                text = stream.read(MAX_BYTES + 1)  # one more, so that what is too large is seen to be
        except (OSError, UnicodeDecodeError) as error:
            self._seen = None
            if not self._unreadable:
                self._unreadable = True
                self._digest(self._reloader.offer_failure(str(error), origin), None)
            return
        self._unreadable = False
        self._seen = mark
        self._offer(text, origin)

    # -- the watched ConfigMap -------------------------------------------------------------------------------------

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`."""
        for obj in objects:
            self.upsert(kind, obj)
        if not objects and self._file is None:
            self._do_without()

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`."""
        if isinstance(obj, ConfigMap) and self._counts(obj):
            meta = obj.metadata
            self._map = ObjectRef("ConfigMap", meta.namespace, meta.name, meta.uid)
            key, origin = config_key(obj.data), _origin(self._map)
            if key is None:
                self._digest(self._reloader.offer_failure(no_config_key(obj.data), origin), self._map)
            else:
                self._offer(obj.data[key], origin, self._map)

    def delete(self, kind: str, obj: ApiObject) -> None:
        """`Sink`. A deleted ConfigMap leaves the last good configuration in force. If there was none, the default holds
        from now on, as it would after a restart."""
        if not isinstance(obj, ConfigMap) or not self._counts(obj):
            return
        if self.current is not None:
            log.warning("ConfigMap deleted; keeping the last valid configuration", kind=kind)
        elif self._file is not None:
            log.warning("ConfigMap deleted; nothing is scheduled until the file is valid", file=str(self._file))
        if self._file is None:
            self._do_without()

    def _do_without(self) -> None:
        """There is neither a file nor a ConfigMap."""
        if self._map is not None:
            self._on_outcome(self._reloader.withdraw(_origin(self._map)))
            self._map, self.rejected = None, ""
        if self.current is None:
            self._offer(default_configuration_text(), _DEFAULT_ORIGIN)

    def _counts(self, obj: ConfigMap) -> bool:
        if self._file is None or (self._file.parent / _KUBELETS_LINK).is_symlink():
            return True
        log.info("ConfigMap ignored: a configuration file is in use", file=str(self._file), config_map=obj.metadata.key)
        return False

    # -- outcomes --------------------------------------------------------------------------------------------------

    def _offer(self, text: str, origin: str, about: ObjectRef | None = None) -> None:
        self._digest(self._reloader.offer(text, origin), about)

    def _digest(self, outcome: Outcome, about: ObjectRef | None) -> None:
        self._on_outcome(outcome)
        if outcome.valid:
            self.rejected = ""
        if outcome.kind is OutcomeKind.REJECTED:
            self._reject(outcome, about or self._map)
            return
        if outcome.kind is OutcomeKind.ACCEPTED:
            digest = outcome.configuration.digest if outcome.configuration else ""
            log.info("configuration in force", origin=outcome.origin, digest=digest)
            self._on_change()
            if about is not None:
                self._record(Event(about, "Normal", "ConfigurationLoaded", f"in force, digest {digest[:12]}"))
        self._warn(outcome, about)

    def _warn(self, outcome: Outcome, about: ObjectRef | None) -> None:
        """Also where nothing else changes: a key that is misspelt has no effect but this."""
        warnings = [problem for problem in outcome.problems if problem.severity is Severity.WARNING]
        if not warnings:
            return
        rendered = format_problems(warnings, outcome.text, source=outcome.origin)
        log.warning("configuration warnings", origin=outcome.origin, warnings=rendered)
        if about is not None:
            note = in_short(warnings, room=_LONGEST_NOTE)
            self._record(Event(about, "Warning", "ConfigurationWarning", note))

    def _reject(self, outcome: Outcome, about: ObjectRef | None) -> None:
        kept = "the last good one stays in force" if outcome.configuration else "nothing is scheduled until it is fixed"
        self.rejected = format_problems(outcome.problems, outcome.text, source=outcome.origin)
        log.error("configuration rejected", origin=outcome.origin, consequence=kept, problems=self.rejected)
        if about is not None:
            note = f"{kept}: "
            note += in_short(outcome.problems, room=_LONGEST_NOTE - len(note))
            self._record(Event(about, "Warning", "InvalidConfiguration", note))


def _origin(config_map: ObjectRef) -> str:
    return f"ConfigMap {config_map.key}"
