"""`edgemem sessions`: past questions, and how each answer was found."""

from __future__ import annotations

from pathlib import Path

import click

from edgemem.cli.app import (
    COUNT,
    CommandContext,
    common_options,
    json_option,
    memory_option,
    pass_environment,
    print_json,
    print_line,
    print_lines,
    short,
    table,
)
from edgemem.clock import to_local
from edgemem.errors import UsageError


@click.group()
def sessions() -> None:
    """Past questions of a memory, and how each answer was found."""


@sessions.command("list")
@memory_option
@click.option("--limit", type=COUNT, default=20, show_default=True, help="Number of sessions, newest first.")
@json_option
@common_options
@pass_environment
def list_(environment: CommandContext, memory: Path, limit: int, as_json: bool) -> None:
    """List questions and answers, newest first."""
    from edgemem.remember.administration import open_view
    from edgemem.serve.rendering import sessions_json

    with open_view(memory) as view:
        found = view.sessions(limit)
    if as_json:
        print_json(sessions_json(found))
        return
    tz = environment.settings.timezone
    asked = [to_local(one.asked_us, tz).strftime("%Y-%m-%d %H:%M") for one in found]
    rows = [
        (str(one.id), when, one.planner, one.status, short(one.question, 60), short(one.answer, 60))
        for one, when in zip(found, asked, strict=True)
    ]
    if rows:
        table(rows, ("session", "asked", "planner", "status", "question", "answer"))
    else:
        print_line("nothing was asked yet, or it was forgotten")


@sessions.command()
@click.argument("number", type=COUNT)
@memory_option
@json_option
@common_options
@pass_environment
def show(environment: CommandContext, number: int, memory: Path, as_json: bool) -> None:
    """Print how the answer of session NUMBER was found, step by step."""
    from edgemem.remember.administration import open_view
    from edgemem.serve.rendering import session_json
    from edgemem.serve.trace import trace_text

    with open_view(memory) as view:
        log = view.session(number)
    if log is None:
        raise UsageError(f"this memory has no session {number}; see: edgemem sessions list --memory {memory}")
    if as_json:
        print_json(session_json(log))
    else:
        print_lines(trace_text(log, environment.settings.timezone))
