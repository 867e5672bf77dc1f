"""`edgemem sessions`: what was asked of a memory, and how each answer was found."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from edgemem.cli.app import CommandContext, common_options, json_option, memory_option, pass_session, print_json, table
from edgemem.clock import to_iso, to_local
from edgemem.errors import UsageError


@click.group()
def sessions() -> None:
    """What was asked of a memory, and how each answer was found."""


@sessions.command("list")
@memory_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many, the newest first.")
@json_option
@common_options
@pass_session
def list_(session: CommandContext, memory: Path, limit: int, as_json: bool) -> None:
    """List questions and answers, the newest first."""
    from edgemem.remember.view import View

    with View.open(memory) as view:
        found = view.sessions(limit)
    if as_json:
        print_json({"sessions": [{**msgspec.to_builtins(one), "asked": to_iso(one.asked_us)} for one in found]})
        return
    tz = session.settings.timezone
    asked = [to_local(one.asked_us, tz).strftime("%Y-%m-%d %H:%M") for one in found]
    rows = [
        (str(one.id), when, one.planner, one.status, _short(one.question), _short(one.answer))
        for one, when in zip(found, asked, strict=True)
    ]
    if rows:
        table(rows, ("session", "asked", "planner", "status", "question", "answer"))
    else:
        click.echo("nothing was asked yet, or it was forgotten")


@sessions.command()
@click.argument("number", type=click.IntRange(1))
@memory_option
@json_option
@common_options
@pass_session
def show(session: CommandContext, number: int, memory: Path, as_json: bool) -> None:
    """Tell how the answer of session NUMBER was found, step by step."""
    from edgemem.answer.trace import trace_text
    from edgemem.remember.view import View

    with View.open(memory) as view:
        log = view.session(number)
    if log is None:
        raise UsageError(f"this memory has no session {number}; see: edgemem sessions list --memory {memory}")
    if as_json:
        print_json(msgspec.to_builtins(log))
    else:
        click.echo(trace_text(log, session.settings.timezone))


def _short(text: str, limit: int = 60) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
