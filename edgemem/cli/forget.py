"""`edgemem forget`: what it takes is in no file any more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgemem.cli.app import CommandContext, common_options, json_option, memory_option, note, pass_session, print_json
from edgemem.cli.ask import evidence_rows, make_kit
from edgemem.clock import from_iso
from edgemem.errors import UsageError
from edgemem.remember.forgetting.selection import Receipt, Wanted
from edgemem.serve.messages import MAX_QUESTION_CHARS, ForgetRequest

if TYPE_CHECKING:
    from edgemem.records import Evidence

_WAYS = "give one of --from with --to, --entity, --evidence, --stream, --query"


@click.command()
@memory_option
@click.option("--from", "from_", metavar="ISO8601", help="Everything seen from then on, with --to.")
@click.option("--to", metavar="ISO8601", help="Everything seen until then, with --from.")
@click.option("--entity", metavar="NAME", help="A person or thing by name or alias, or a word that was read.")
@click.option("--evidence", multiple=True, metavar="ID", help="What an answer cited, such as m12 or d3. Repeatable.")
@click.option("--stream", metavar="NAME", help="A whole stream.")
@click.option("--query", metavar="TEXT", help="What a search for TEXT finds; preview it with --dry-run.")
@click.option("--top-k", type=click.IntRange(1, 200), default=10, show_default=True, help="With --query: how many hits.")
@click.option("--recipe", metavar="NAME", help="Recipe to search and to describe anew with (default: the settings').")
@click.option("--dry-run", is_flag=True, help="Only say what would be forgotten.")
@json_option
@common_options
@pass_session
def forget(
    session: CommandContext,
    memory: Path,
    from_: str | None,
    to: str | None,
    entity: str | None,
    evidence: tuple[str, ...],
    stream: str | None,
    query: str | None,
    top_k: int,
    recipe: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Forget for good: pictures, texts, vectors and everything that quotes them. Pins do not hold it back, and there is no undo.

    Documents about what is left of an event are written anew. Prints a receipt that `edgemem memory check` verifies.
    """
    from edgemem.cli.asking import forgotten
    from edgemem.remember.forget import forget as forget_it

    wanted = _wanted(session, memory, from_, to, entity, evidence, stream, query, top_k, recipe, as_json=as_json)
    chosen = recipe or session.settings.recipe
    if wanted is None:
        receipt = Receipt(id="", moments=0, documents=0, relations=0, bytes=0)
    elif dry_run:
        session.recipes.read(chosen)
        receipt = forget_it(memory, wanted, dry_run=True)
    else:
        receipt = forgotten(session, memory, ForgetRequest(wanted=wanted, recipe=chosen)).receipt
    receipt_id = receipt.id or None
    counts = {name: getattr(receipt, name) for name in ("moments", "documents", "relations", "bytes")}
    if as_json:
        print_json({"receipt": receipt_id, **counts, "dry_run": dry_run})
        return
    says = (
        f"{counts['moments']} moments, {counts['documents']} documents, {counts['relations']} relations, {counts['bytes'] / 2**20:.1f} MiB"
    )
    click.echo(f"would forget {says}" if dry_run else f"forgot {says}; receipt {receipt_id or 'none'}")


def _wanted(
    session: CommandContext,
    memory: Path,
    from_: str | None,
    to: str | None,
    entity: str | None,
    evidence: tuple[str, ...],
    stream: str | None,
    query: str | None,
    top_k: int,
    recipe: str | None,
    *,
    as_json: bool,
) -> Wanted | None:
    """The one way that was given; None when a query finds nothing. Raises UsageError for none or several."""
    spans = from_ is not None or to is not None
    if sum((spans, entity is not None, bool(evidence), stream is not None, query is not None)) != 1:
        raise UsageError(f"say what to forget in one way: {_WAYS}")
    if from_ is not None or to is not None:
        if from_ is None or to is None:
            raise UsageError("--from and --to belong together: give both ends of what to forget")
        tz = session.settings.timezone
        from_us, to_us = from_iso(from_, tz), from_iso(to, tz)
        if from_us > to_us:
            raise UsageError("--from is later than --to; swap them")
        return Wanted(from_us=from_us, to_us=to_us)
    if query is not None:
        hits = _found(session, memory, query, top_k, recipe)
        if not as_json:
            evidence_rows(hits, session.settings.timezone)
            if not hits:
                note("nothing found")
        return Wanted(evidence=tuple(hit.id for hit in hits)) if hits else None
    if not (entity or stream or evidence):
        raise UsageError(f"the name is empty; {_WAYS}")
    return Wanted(entity=entity or "", stream=stream or "", evidence=evidence)


def _found(session: CommandContext, memory: Path, query: str, top_k: int, recipe: str | None) -> list[Evidence]:
    """What `edgemem search` finds: the same memory and the same words give the same hits again."""
    from edgemem.answer.retrieve import search
    from edgemem.remember.view import View

    if not query.strip():
        raise UsageError('the query is empty; search for something, such as "red mug"')
    with View.open(memory) as view:
        return search(view, query[:MAX_QUESTION_CHARS], make_kit(session, recipe, None), "any", None, None, top_k)
