"""Joins files that were split to fit into packages."""

from __future__ import annotations

import shutil
from pathlib import Path

from edgemem.errors import EngineError


class JoinConverter:
    """Joins the members `part1`, `part2` ... in order."""

    def convert(self, members: dict[str, Path], out: Path) -> None:
        """Write the whole file. Raises EngineError if the card names no parts."""
        parts = [members[name] for number in range(1, len(members) + 1) if (name := f"part{number}") in members]
        if not parts:
            raise EngineError("the card names no member part1: correct source.members")
        with out.open("wb") as whole:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, whole, 1 << 20)
