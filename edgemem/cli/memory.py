"""`edgemem memory`: look after a memory."""

from __future__ import annotations

from pathlib import Path

import click

from edgemem.cli.app import Session, common_options, json_option, memory_option, pass_session, print_json
from edgemem.clock import to_iso
from edgemem.config import parse_bytes


@click.group()
def memory() -> None:
    """Look after a memory: stats, check."""


@memory.command()
@memory_option
@json_option
@common_options
@pass_session
def stats(session: Session, memory: Path, as_json: bool) -> None:
    """Say how much is remembered, from when, and what it takes on disk."""
    from edgemem.remember.view import View

    with View.open(memory) as view:
        s = view.stats()
    facts = {
        "disk_bytes": s.disk_bytes,
        "budget_bytes": s.budget_bytes or parse_bytes(session.settings.budget.disk),
        "moments": s.moments,
        "tiers": dict(s.tiers),
        "segments": s.segments,
        "documents": s.documents,
        "entities": s.entities,
        "relations": s.relations,
        "oldest": None if s.oldest_us is None else to_iso(s.oldest_us),
        "newest": None if s.newest_us is None else to_iso(s.newest_us),
    }
    if as_json:
        print_json(facts)
        return
    for key, value in facts.items():
        click.echo(f"{key}: {value if not isinstance(value, dict) else ', '.join(f'{k} {v}' for k, v in value.items()) or 'none'}")


@memory.command()
@memory_option
@json_option
@common_options
@pass_session
def check(session: Session, memory: Path, as_json: bool) -> None:  # noqa: ARG001 - every command takes the session
    """Check the database and the vector files against each other. Exit code 1: something is wrong."""
    from edgemem.remember.check import check_memory

    problems = check_memory(memory)
    if as_json:
        print_json({"ok": not problems, "problems": problems})
    else:
        click.echo("\n".join(problems) or "the memory is sound")
    if problems:
        raise click.exceptions.Exit(1)
