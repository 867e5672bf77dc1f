"""`edgemem forget`: after it, no file contains the forgotten data any more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgemem.cli.app import CommandContext, common_options, json_option, memory_option, note, pass_environment, print_json
from edgemem.cli.evidence import print_evidence
from edgemem.errors import UsageError
from edgemem.remember.forgetting.selection import Receipt

if TYPE_CHECKING:
    from edgemem.serve.memory import Memory

_WAYS = "give one of --from with --to, --entity, --evidence, --stream, --query"


@click.command()
@memory_option
@click.option("--from", "from_", metavar="ISO8601", help="Everything from this time on; needs --to.")
@click.option("--to", metavar="ISO8601", help="Everything up to this time; needs --from.")
@click.option("--entity", metavar="NAME", help="A person or thing by name or alias, or a word in pictures.")
@click.option("--evidence", multiple=True, metavar="ID", help="Evidence of an answer, such as m12 or d3. Repeatable.")
@click.option("--stream", metavar="NAME", help="A whole stream.")
@click.option("--query", metavar="TEXT", help="The results of a search for TEXT; check them first with --dry-run.")
@click.option("--top-k", type=click.IntRange(1, 200), default=10, show_default=True, help="With --query: number of hits.")
@click.option(
    "--recipe", default="", metavar="NAME", help="Recipe for searching and for new descriptions (default: the one of the settings)."
)
@click.option("--dry-run", is_flag=True, help="Only print what would be forgotten.")
@json_option
@common_options
@pass_environment
def forget(
    environment: CommandContext,
    memory: Path,
    from_: str | None,
    to: str | None,
    entity: str | None,
    evidence: tuple[str, ...],
    stream: str | None,
    query: str | None,
    top_k: int,
    recipe: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Forget permanently: pictures, texts, vectors and everything that quotes them. Pinned moments are forgotten too, and there is no undo.

    Documents about what is left of an event are written again. Prints a receipt that `edgemem memory check` verifies.
    """
    opened = environment.memory(memory)
    _require_one_way(from_, to, entity, evidence, stream, query)
    if query is not None:
        evidence = _found(opened, query, top_k, recipe, environment.settings.timezone, show=not as_json)
    if query is not None and not evidence:
        receipt = Receipt(id="", moments=0, documents=0, relations=0, bytes=0)
    else:
        receipt = opened.forget(
            from_=from_, to=to, entity=entity or "", stream=stream or "", evidence=evidence, recipe=recipe, dry_run=dry_run
        )
    _print_receipt(receipt, dry_run=dry_run, as_json=as_json)


def _require_one_way(
    from_: str | None, to: str | None, entity: str | None, evidence: Sequence[str], stream: str | None, query: str | None
) -> None:
    """Raises UsageError unless exactly one way was given, and completely."""
    span = from_ is not None or to is not None
    if sum((span, entity is not None, bool(evidence), stream is not None, query is not None)) != 1:
        raise UsageError(f"say what to forget in one way: {_WAYS}")
    if span and (from_ is None or to is None):
        raise UsageError("give both --from and --to: the two ends of the time range to forget")
    if not (span or entity or evidence or stream or query):
        raise UsageError(f"the name is empty; {_WAYS}")


def _found(memory: Memory, query: str, top_k: int, recipe: str, tz: str, *, show: bool) -> tuple[str, ...]:
    """The hits of `edgemem search`: the same memory and the same words give the same hits."""
    hits = memory.search(query, top_k=top_k, recipe=recipe)
    if show:
        print_evidence(hits, tz)
        if not hits:
            note("nothing found")
    return tuple(hit.id for hit in hits)


def _print_receipt(receipt: Receipt, *, dry_run: bool, as_json: bool) -> None:
    from edgemem.serve.rendering import receipt_json

    if as_json:
        print_json(receipt_json(receipt, dry_run=dry_run))
        return
    what = f"{receipt.moments} moments, {receipt.documents} documents, {receipt.relations} relations, {receipt.bytes / 2**20:.1f} MiB"
    click.echo(f"would forget {what}" if dry_run else f"forgot {what}; receipt {receipt.id or 'none'}")
