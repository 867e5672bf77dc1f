"""The prompt of each task, one readable file a task."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def prompt(task: str) -> str:
    """The system prompt of a task such as "eventmem_caption", with the rule that what was seen is data."""
    folder = files(__package__)
    rule = (folder / "data_rule.md").read_text(encoding="utf-8").strip()
    return f"{(folder / f'{task}.md').read_text(encoding='utf-8').strip()}\n\n{rule}\n"
