"""`edgemem ask`, `edgemem search` and `edgemem show`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from edgemem.cli.app import CommandContext, common_options, json_option, memory_option, note, pass_session, print_json, table
from edgemem.clock import from_iso, now_us, offset_text, to_iso, to_local
from edgemem.errors import UsageError
from edgemem.records import US, Answer, Document, Evidence, Moment, Quote, Relation, Segment
from edgemem.serve.messages import MAX_QUESTION_CHARS

if TYPE_CHECKING:
    from edgemem.answer.planner import AnswerKit
    from edgemem.remember.view import View
    from edgemem.serve.session_log import Trace

BESIDE_US = 5 * US
"""What was said is shown with a moment that is no further from it than this."""
WRITTEN = ("event", "fused")
"""Kinds of documents that tell what happened in a segment."""
CHANNELS = ("frame", "event", "text", "speech", "entity", "any")


def evidence_json(item: Evidence) -> dict[str, Any]:
    """The evidence object of every `--json` output."""
    return {
        "id": item.id,
        "channel": item.channel,
        "stream": item.stream,
        "t0": to_iso(item.t0_us),
        "t1": to_iso(item.t1_us),
        "offset_s": round(item.offset_us / US, 3),
        "score": round(item.score, 4),
        "text": item.text,
    }


def answer_json(answer: Answer) -> dict[str, Any]:
    """The object that `ask --json` prints. Its keys are fixed; notes go to stderr."""
    return {
        "question": answer.question,
        "status": answer.status,
        "answer": answer.answer,
        "option": answer.option,
        "confidence": round(answer.confidence, 4),
        "evidence": [evidence_json(item) for item in answer.evidence],
        "alternatives": [evidence_json(item) for item in answer.alternatives],
        "unverified": list(answer.unverified),
        "steps": answer.steps,
        "usage": msgspec.to_builtins(answer.usage),
    }


def evidence_rows(items: tuple[Evidence, ...] | list[Evidence], tz: str) -> None:
    """Evidence as a table for people: where it stands in the stream, when that was, what it says."""
    rows = [
        (
            e.id,
            e.channel,
            offset_text(e.offset_us),
            to_local(e.t0_us, tz).strftime("%Y-%m-%d %H:%M:%S"),
            f"{e.score:.2f}",
            e.stream,
            _short(e.text),
        )
        for e in items
    ]
    if rows:
        table(rows, ("id", "channel", "offset", "time", "score", "stream", "text"))


def _short(text: str, limit: int = 90) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def make_kit(session: CommandContext, recipe: str | None, planner: str | None) -> AnswerKit:
    """What a recipe answers with: engines, retrievers, planner and checks."""
    from edgemem.extend.assembly import make_kit as make

    return make(session.recipes, session.recipes.read(recipe or session.settings.recipe), session.context, planner)


@click.command()
@click.argument("question")
@memory_option
@click.option("--as-of", metavar="ISO8601", help="Answer as if it were then: nothing that became known later is read.")
@click.option("--option", "options", multiple=True, metavar="TEXT", help="One of the possible answers. Repeatable.")
@click.option("--recipe", metavar="NAME", help="Recipe to answer with (default: the settings').")
@click.option("--planner", metavar="NAME", help="Planner to reason with (default: the recipe's).")
@click.option("--session", "follows", default="", metavar="ID|last", help="The session that this question goes on about.")
@click.option("--trace", is_flag=True, help="Tell step by step how the answer was found; with --json on stderr.")
@json_option
@common_options
@pass_session
def ask(
    session: CommandContext,
    question: str,
    memory: Path,
    as_of: str | None,
    options: tuple[str, ...],
    recipe: str | None,
    planner: str | None,
    follows: str,
    trace: bool,
    as_json: bool,
) -> None:
    """Answer QUESTION from the memory, with the evidence that proves it. Exit code 3: no answer could be proved."""
    from edgemem.cli.asking import answered
    from edgemem.serve.messages import AskRequest

    tz = session.settings.timezone
    if not question.strip():
        raise UsageError('the question is empty; ask something, such as "where did I leave my keys?"')
    as_of_us = from_iso(as_of, tz) if as_of else None
    request = AskRequest(
        question=question[:MAX_QUESTION_CHARS],
        asked_us=as_of_us if as_of_us is not None else now_us(),
        as_of_us=as_of_us,
        options=options,
        tz=tz,
        recipe=recipe or session.settings.recipe,
        planner=planner or "",
        trace=trace,
        session=follows,
    )
    found, unkept = answered(session, memory, request)
    answer = found.answer
    if as_json:
        print_json(answer_json(answer))
    else:
        _print_answer(answer, tz)
    if trace:
        click.echo(found.story, err=as_json)
    cut = [f"only the first {MAX_QUESTION_CHARS} characters of the question were read"] if len(question) > MAX_QUESTION_CHARS else []
    for text in (*answer.notes, *cut, *found.notes):
        note(f"note: {text}")
    if unkept is not None:
        _keep(memory, unkept, tell=trace)
    if answer.status != "answered":
        raise click.exceptions.Exit(3)


def _keep(memory: Path, trace: Trace, *, tell: bool) -> None:
    """Keep how the answer was found, now that it stands on the screen; why that cannot be matters only to who asked for it."""
    from edgemem.serve.session_log import keep_if_free

    sys.stdout.flush()
    why = keep_if_free(memory, trace)
    if why and tell:
        note(f"note: this trace was not kept: {why}")


def _print_answer(answer: Answer, tz: str) -> None:
    click.echo(answer.answer)
    if answer.option is not None:
        click.echo(f"option {answer.option}")
    click.echo(f"{answer.status}, confidence {answer.confidence:.2f}, {answer.steps} steps, {answer.usage.ms:.0f} ms")
    evidence_rows(answer.evidence, tz)


@click.command()
@click.argument("query")
@memory_option
@click.option("--channel", type=click.Choice(CHANNELS), default="any", show_default=True, help="Where to look.")
@click.option("--from", "from_", metavar="ISO8601", help="Only what was seen from then on.")
@click.option("--to", metavar="ISO8601", help="Only what was seen until then.")
@click.option("--top-k", type=click.IntRange(1, 200), default=10, show_default=True, help="How many hits.")
@click.option("--recipe", metavar="NAME", help="Recipe to search with (default: the settings').")
@json_option
@common_options
@pass_session
def search(
    session: CommandContext,
    query: str,
    memory: Path,
    channel: Literal["frame", "event", "text", "speech", "entity", "any"],
    from_: str | None,
    to: str | None,
    top_k: int,
    recipe: str | None,
    as_json: bool,
) -> None:
    """Find QUERY in the memory: moments, events and text, best first."""
    from edgemem.cli.asking import hits
    from edgemem.serve.messages import SearchRequest

    tz = session.settings.timezone
    if not query.strip():
        raise UsageError('the query is empty; search for something, such as "red mug"')
    from_us, to_us = (from_iso(text, tz) if text else None for text in (from_, to))
    if from_us is not None and to_us is not None and from_us > to_us:
        raise UsageError("--from is later than --to; swap them")
    request = SearchRequest(
        query=query[:MAX_QUESTION_CHARS],
        channel=channel,
        from_us=from_us,
        to_us=to_us,
        top_k=top_k,
        recipe=recipe or session.settings.recipe,
    )
    found = hits(session, memory, request).evidence
    if as_json:
        print_json({"query": query, "hits": [evidence_json(hit) for hit in found]})
    elif found:
        evidence_rows(found, tz)
    else:
        click.echo("nothing found")


@click.command()
@click.argument("evidence_id")
@memory_option
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the picture here instead of beside you.")
@json_option
@common_options
@pass_session
def show(_session: CommandContext, evidence_id: str, memory: Path, out: Path | None, as_json: bool) -> None:
    """Open a piece of evidence: write its picture to a file and say what is known of it."""
    from edgemem.remember.view import View

    with View.open(memory) as view:
        facts, picture = describe(view, evidence_id)
    path = out or Path(f"{evidence_id}.jpg")
    if picture is not None:
        try:
            path.write_bytes(picture)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written ({error.strerror}); choose another place with --out") from None
        facts["picture"] = str(path)
    if as_json:
        print_json(facts)
        return
    for key, value in facts.items():
        if value not in ("", []):
            click.echo(f"{key}: {value if not isinstance(value, list) else ', '.join(map(str, value))}")
    if picture is None:
        click.echo("there is no picture of it, or it has faded; this is what is left")


def describe(view: View, evidence_id: str) -> tuple[dict[str, Any], bytes | None]:
    """(what is known, JPEG or None) of `m<moment>`, `d<document>`, `s<segment>` or `r<relation>`. Raises UsageError for anything else.

    What was said has no picture of its own: it is shown with what was seen while it was said.
    """
    known = _known(view, evidence_id)
    facts: dict[str, Any] = {"id": evidence_id, "kind": type(known).__name__.lower(), "stream": known.stream}
    if isinstance(known, Moment):
        moment_id: int | None = known.id
        facts |= {"t0": to_iso(known.t_us), "tier": known.tier}
    elif isinstance(known, Document):
        moment_id = known.moment_id
        facts |= {"kind": known.kind, "t0": to_iso(known.t0_us), "t1": to_iso(known.t1_us), "origin": known.origin}
        for spoken in view.spoken([known.id]):
            moment_id = _seen_at(view, known)
            facts["speaker"] = spoken.speaker.name if spoken.speaker else ""
        facts["text"] = known.text
    elif isinstance(known, Relation):
        moment_id = next((quote.moment_id for quote in known.quotes if quote.moment_id is not None), None) or _seen_at(view, known)
        facts |= {"t0": to_iso(known.t0_us), "t1": to_iso(known.t1_us)}
        facts |= {"source": known.source.name, "type": known.type, "target": known.target.name, "confidence": round(known.confidence, 3)}
        facts["quotes"] = [_quoted(quote) for quote in known.quotes]
    else:
        moment_id = known.representative_id
        facts |= {"t0": to_iso(known.t0_us), "t1": to_iso(known.t1_us), "segmenter": known.segmenter}
        written = view.documents(kinds=WRITTEN, stream=known.stream, from_us=known.t0_us, to_us=known.t1_us)
        facts["text"] = " ".join(document.text for document in written if document.segment_id == known.id)
    if not isinstance(known, Relation):
        facts["offset_s"] = known.offset_us / US
    if moment_id is None:
        return facts, None
    seen = view.observations([moment_id]).get(moment_id, ())
    facts["seen"] = [
        f"{o.colour + ' ' if o.colour else ''}{o.name} {o.score:.2f}" for o in sorted(seen, key=lambda o: -o.score) if o.kind != "text"
    ][:12]
    facts["read"] = [o.name for o in seen if o.kind == "text"]
    shown = view.moment(moment_id)
    return facts, None if shown is None or shown.tier == "stub" else view.picture(moment_id)


def _known(view: View, evidence_id: str) -> Moment | Document | Segment | Relation:
    kind, number = evidence_id[:1], evidence_id[1:]
    if kind not in {"m", "d", "s", "r"} or not number.isdecimal():
        raise UsageError(f'"{evidence_id[:40]}" is not an evidence id; take one from ask or search, such as m12 or d3')
    find = {"m": view.moment, "d": view.document, "s": view.segment, "r": view.relation}[kind]
    known: Moment | Document | Segment | Relation | None = find(int(number[:18]))
    if known is None:
        raise UsageError(f"this memory has no {evidence_id}: it was never there, or it has faded")
    return known


def _quoted(quote: Quote) -> str:
    """Its words, and where they stand."""
    number = quote.document_id if quote.document_id is not None else quote.moment_id
    where = "" if number is None else f" ({'d' if quote.document_id is not None else 'm'}{number})"
    return f'"{quote.text}"{where}'


def _seen_at(view: View, known: Document | Relation) -> int | None:
    """The moment nearest to the middle of what was said or done, if it was not long before or after."""
    near = view.nearest((known.t0_us + known.t1_us) // 2, known.stream)
    return near.id if near and known.t0_us - BESIDE_US <= near.t_us <= known.t1_us + BESIDE_US else None
