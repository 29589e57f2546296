"""A machine made of temporary directories: its PATH, its cache and programs that are shell scripts."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from volcano_py.local.binaries.progress import Progress


@dataclass
class Machine:
    """`environment` is what the code under test is given instead of os.environ."""

    root: Path
    said: io.StringIO = field(default_factory=io.StringIO)

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def cache(self) -> Path:
        return self.root / "cache" / "volcano-py"

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": str(self.bin), "XDG_CACHE_HOME": str(self.root / "cache"), "HOME": str(self.root)}

    @property
    def progress(self) -> Progress:
        return Progress(Console(file=self.said, force_terminal=False))

    def program(self, name: str, script: str, directory: Path | None = None) -> Path:
        """Install a program that is this shell script."""
        path = (directory or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path
