"""Every JSON object that edgemem prints or sends, in one place. Their keys are fixed: scripts depend on them.

Times are ISO 8601 UTC with milliseconds, offsets are seconds from the start of the stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from edgemem.clock import to_iso
from edgemem.records import US, Answer, Document, Entity, Evidence, Moment, Quote, Relation
from edgemem.remember.forgetting.selection import Receipt
from edgemem.remember.results import SessionHead, SessionLog, Stats
from edgemem.serve.messages import ThingReply
from edgemem.serve.results import Ingested, IngestReport, Shown, TimelineEntry

Json = dict[str, Any]
"""A JSON object; its keys are in print order."""

_MOST_SEEN = 12
"""Most observations of a picture that are listed, the most probable first."""


def evidence_json(item: Evidence) -> Json:
    """A piece of evidence, the same in every output."""
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


def answer_json(answer: Answer) -> Json:
    """An answer. Its notes are for people and are not part of it."""
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


def search_json(query: str, hits: Iterable[Evidence]) -> Json:
    """What a search found, best first."""
    return {"query": query, "hits": [evidence_json(hit) for hit in hits]}


def shown_json(shown: Shown) -> Json:
    """A piece of evidence with all known facts; the keys depend on its kind. Its picture is written to a file and is not included."""
    item = shown.item
    kind = item.kind if isinstance(item, Document) else type(item).__name__.lower()
    facts: Json = {"id": shown.id, "kind": kind, "stream": item.stream}
    if isinstance(item, Moment):
        facts |= {"t0": to_iso(item.t_us), "tier": item.tier}
    else:
        facts |= {"t0": to_iso(item.t0_us), "t1": to_iso(item.t1_us)}
    if isinstance(item, Relation):
        facts |= _relation_facts(item)
    elif isinstance(item, Document):
        speaker = {"speaker": shown.speaker} if shown.speaker is not None else {}
        facts |= {"origin": item.origin, **speaker, "text": shown.text}
    elif not isinstance(item, Moment):
        facts |= {"segmenter": item.segmenter, "text": shown.text}
    if not isinstance(item, Relation):
        facts["offset_s"] = item.offset_us / US
    return facts | (_seen_facts(shown) if shown.moment is not None else {})


def _relation_facts(item: Relation) -> Json:
    return {
        "source": item.source.name, "type": item.type, "target": item.target.name, "confidence": round(item.confidence, 3),
        "quotes": [_quoted(quote) for quote in item.quotes],
    }  # fmt: skip


def _quoted(quote: Quote) -> str:
    """The words of a quote, and the id of their source."""
    number = quote.document_id if quote.document_id is not None else quote.moment_id
    where = "" if number is None else f" ({'d' if quote.document_id is not None else 'm'}{number})"
    return f'"{quote.text}"{where}'


def _seen_facts(shown: Shown) -> Json:
    things = sorted((seen for seen in shown.observations if seen.kind != "text"), key=lambda seen: -seen.score)
    return {
        "seen": [f"{seen.colour + ' ' if seen.colour else ''}{seen.name} {seen.score:.2f}" for seen in things][:_MOST_SEEN],
        "read": [seen.name for seen in shown.observations if seen.kind == "text"],
    }


def timeline_json(entries: Iterable[TimelineEntry]) -> Json:
    """Segments with their texts, in order."""
    return {"events": [_entry_json(entry) for entry in entries]}


def _entry_json(entry: TimelineEntry) -> Json:
    segment = entry.segment
    return {
        "id": f"s{segment.id}", "stream": segment.stream, "segmenter": segment.segmenter, "t0": to_iso(segment.t0_us),
        "t1": to_iso(segment.t1_us), "offset_s": segment.offset_us / US, "moments": entry.moments, "text": entry.text,
    }  # fmt: skip


def ingest_json(report: IngestReport) -> Json:
    """The report on one source. Its notes are for people and are not part of it; the exit code tells the signal."""
    return {name: value for name, value in msgspec.to_builtins(report).items() if name not in {"notes", "signal"}}


def ingests_json(results: Iterable[Ingested]) -> Json:
    """The reports on several sources: each names its source; one that failed has an "error" instead of a report."""
    sources = [{"source": one.source} | (ingest_json(one.report) if one.report is not None else {"error": one.error}) for one in results]
    return {"sources": sources, "failed": sum("error" in one for one in sources)}


def stats_json(stats: Stats) -> Json:
    """Number of stored items, their times, and the size on disk."""
    return {
        "disk_bytes": stats.disk_bytes,
        "budget_bytes": stats.budget_bytes,
        "moments": stats.moments,
        "tiers": dict(stats.tiers),
        "segments": stats.segments,
        "documents": stats.documents,
        "entities": stats.entities,
        "relations": stats.relations,
        "oldest": None if stats.oldest_us is None else to_iso(stats.oldest_us),
        "newest": None if stats.newest_us is None else to_iso(stats.newest_us),
        "foreign_files": stats.foreign_files,
        "foreign_bytes": stats.foreign_bytes,
        "encrypted": stats.encrypted,
        "paused": stats.paused,
    }


def receipt_json(receipt: Receipt, *, dry_run: bool) -> Json:
    """What was forgotten, or would be; "receipt" is null if nothing was."""
    return {
        "receipt": receipt.id or None, "moments": receipt.moments, "documents": receipt.documents, "relations": receipt.relations,
        "bytes": receipt.bytes, "dry_run": dry_run,
    }  # fmt: skip


def named_json(number: int, name: str, utterances: int) -> Json:
    """A voice that got a name; "name" is null if its name was removed."""
    return {"speaker": number, "name": name or None, "utterances": utterances}


def entity_json(entity: Entity) -> Json:
    """Somebody or something, with its other names."""
    return {"id": entity.id, "kind": entity.kind, "name": entity.name, "also": list(entity.aliases)}


def thing_json(reply: ThingReply) -> Json:
    """A thing that was taught or taken back, and where it is seen again."""
    return {
        "thing": reply.name, "moment": f"m{reply.moment_id}" if reply.moment_id else None, "found": reply.found,
        "evidence": [evidence_json(one) for one in reply.evidence], "unsearched": reply.unsearched,
    }  # fmt: skip


def sessions_json(heads: Iterable[SessionHead]) -> Json:
    """Questions and answers, newest first."""
    return {"sessions": [{**msgspec.to_builtins(head), "asked": to_iso(head.asked_us)} for head in heads]}


def session_json(log: SessionLog) -> Json:
    """One question with every step to its answer."""
    plain: Json = msgspec.to_builtins(log)
    return plain
