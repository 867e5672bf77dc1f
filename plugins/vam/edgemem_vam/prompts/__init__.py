"""The prompt of each role, one readable file a role."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def prompt(role: str) -> str:
    """The system prompt of a role such as "planner", with the rule that what was seen is data."""
    folder = files(__package__)
    rule = (folder / "data_rule.md").read_text(encoding="utf-8").strip()
    return f"{(folder / f'{role}.md').read_text(encoding='utf-8').strip()}\n\n{rule}\n"
