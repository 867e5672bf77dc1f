"""The tools that look at pictures: the inspector (VAM section 3.4) and the adjudicator of anchors (appendix B.6)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from edgemem.answer.retrieve import as_evidence
from edgemem.answer.tool_base import BaseTool
from edgemem.answer.tools import describe_moment
from edgemem.clock import to_iso
from edgemem.errors import ChatError, MemoryDirError
from edgemem.infer.chat import Prompt
from edgemem.llm.readable import UnreadableError, readable_reply
from edgemem.records import US, Evidence, Moment, Observation
from edgemem_vam.actions import Adjudicate, Inspected, InspectionFinding, Judged, Judgement, Target, VisualInspection
from edgemem_vam.roles import ADJUDICATOR, INSPECTOR, Role, request
from edgemem_vam.shorten import shortened
from edgemem_vam.verdict import split_confidence, weight
from edgemem_vam.wire import ADJUDICATION_SCHEMA, Adjudication, decode_adjudication

if TYPE_CHECKING:
    from edgemem.llm.models import Models
    from edgemem.remember.view import View

T = TypeVar("T")
JUDGED_FRAMES = 6
"""Pictures of one candidate that the adjudicator sees, evenly spread (VAM)."""
NEARBY_US = 2 * US
"""Around a picture that was found, what else is looked at (VAM: 2 s)."""
POINT_US = 3 * US // 2
"""A stretch of no length is widened by so much on both sides (VAM: 1.5 s)."""
FINDING_CHARS = 4000
"""Of what the inspector said: more than its 500 tokens can hold."""
_VERDICT_CHARS = 1000
"""Of each text of a verdict, whose 220 tokens rarely hold more."""
_CANDIDATES = 2000


class LookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the inspector writes."""

    inspector: Role = INSPECTOR


class JudgeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the adjudicator judges."""

    adjudicator: Role = ADJUDICATOR


def evenly(items: Sequence[T], limit: int) -> list[T]:
    """At most `limit` of them, evenly spread, the first and the last among them; of one the middle."""
    if len(items) <= limit:
        return list(items)
    if limit == 1:
        return [items[len(items) // 2]]
    return [items[round(i * (len(items) - 1) / (limit - 1))] for i in range(limit)]


def moments_of(view: View, target: Target, limit: int, bounds: VisualInspection | Adjudicate) -> list[Moment]:
    """What was kept in the target's stretch of time, evenly spread; of a picture also what is near it. All within the action's bounds."""
    low, high = bounds.from_us, bounds.to_us
    from_us, to_us = target.from_us, target.to_us
    if target.id.startswith("m"):
        from_us, to_us = from_us - NEARBY_US, to_us + NEARBY_US
    elif from_us == to_us:
        from_us, to_us = from_us - POINT_US, to_us + POINT_US
    from_us, to_us = from_us if low is None else max(from_us, low), to_us if high is None else min(to_us, high)
    found = view.moments(stream=target.stream or None, from_us=from_us, to_us=to_us, limit=_CANDIDATES)
    own = view.moment(int(target.id[1:])) if target.id.startswith("m") else None
    if own is not None and not from_us <= own.t_us <= to_us:
        own = None
    chosen = evenly(found, limit)
    if own is not None and own.id not in {moment.id for moment in chosen}:
        chosen = sorted([*chosen[: limit - 1], own], key=lambda moment: moment.t_us)
    return chosen


def notes_of(moments: Sequence[Moment], view: View) -> list[dict[str, Any]]:
    """Per picture what a model is told of it: number, time, what was recognised, what was read."""
    seen = view.observations([moment.id for moment in moments])
    return [_note(number, moment, seen.get(moment.id, ())) for number, moment in enumerate(moments, 1)]


def _note(number: int, moment: Moment, observations: Sequence[Observation]) -> dict[str, Any]:
    things = sorted((o for o in observations if o.kind in {"label", "object"}), key=lambda o: -o.score)
    names = list(dict.fromkeys(f"{o.colour} {o.name}".strip() for o in things))[:8]
    read = [o.name.strip() for o in observations if o.kind == "text" and o.name.strip()]
    note: dict[str, Any] = {"picture": number, "time": to_iso(moment.t_us), "seen": names}
    return {**note, "read": read[:12]} if read else note


def shown_of(task: str, moments: Sequence[Moment], view: View, models: Models) -> tuple[list[Moment], tuple[bytes, ...]]:
    """The moments, and the pictures of the first of them: numbers in the notes are those of the pictures, so what has faded comes last."""
    if not models.sees(task):
        return list(moments), ()
    images: dict[int, bytes] = {}
    for moment in moments:
        with suppress(MemoryDirError):  # it has faded to what was seen in it
            images[moment.id] = view.picture(moment.id)
    return sorted(moments, key=lambda moment: moment.id not in images), tuple(images.values())


def ids_of(moments: Sequence[Moment], images: Sequence[bytes]) -> tuple[str, ...]:
    """The evidence ids of the pictures that are shown: those of the first moments."""
    return tuple(f"m{moment.id}" for moment in moments[: len(images)])


def evidence_of(moments: Sequence[Moment], view: View, score: float) -> tuple[Evidence, ...]:
    """The pictures as evidence."""
    seen = view.observations([moment.id for moment in moments])
    return tuple(as_evidence(m, "frame", score, describe_moment(seen.get(m.id, ()))) for m in moments)


def _shared(group: Sequence[Target], action: VisualInspection, view: View) -> tuple[list[Target], dict[int, Moment]]:
    """The targets that are looked at together, best first, and their pictures: each its share of `max_frames`, no more in all."""
    share = max(1, action.max_frames // len(group))
    shown, moments = list[Target](), dict[int, Moment]()
    for target in group:
        own = {moment.id: moment for moment in moments_of(view, target, share, action)}
        if own and len(moments | own) <= action.max_frames:
            shown.append(target)
            moments |= own
    return shown, moments


class InspectTool(BaseTool):
    """Carries out `VisualInspection`: the inspector on each target, or on all of them together."""

    name = "visual_inspection"
    action = VisualInspection

    def __init__(self, settings: LookSettings | None = None, models: Models | None = None) -> None:
        self._role = (settings or LookSettings()).inspector
        self._models = models

    def run(self, action: VisualInspection, view: View) -> Inspected:
        looks, notes = self._looks(action, view)
        models = self._models if self._models is not None and self._models.there else None
        findings = _by_notes(action.prompt, looks, view) if models is None else self._by_model(action.prompt, looks, view, models)
        if len(findings) < len(looks):
            notes[f"{len(looks) - len(findings)} of {len(looks)} inspections failed"] = None
        evidence = _seen_in(findings, looks, view, judged=models is not None)
        return Inspected(evidence=tuple(evidence.values()), findings=tuple(findings), notes=tuple(notes))

    def _looks(self, action: VisualInspection, view: View) -> tuple[list[_Look], dict[str, None]]:
        """What is looked at, and notes on what is not."""
        groups = [action.targets] if action.joint else [(target,) for target in action.targets]
        looks, notes = list[_Look](), dict[str, None]()
        for group in groups:
            shown, moments = _shared(group, action, view)
            if not moments:
                notes["nothing was kept in that stretch of time"] = None
                continue
            if len(shown) < len(group):
                notes[f"only {len(shown)} of {len(group)} candidates were looked at together, with {action.max_frames} pictures"] = None
            ordered = sorted(moments.values(), key=lambda moment: (moment.t_us, moment.id))
            looks.append(_Look(tuple(target.id for target in shown), ordered))
        return looks, notes

    def _by_model(self, question: str, looks: Sequence[_Look], view: View, models: Models) -> list[InspectionFinding]:
        """The findings, asked for together; one that fails does not take the others along. Raises ChatError when all fail."""
        prompts, shown = list[Prompt](), list[tuple[tuple[int, ...], int]]()
        for look in looks:
            moments, images = shown_of("inspector", look.moments, view, models)
            body = {"request": question, "pictures": notes_of(moments, view), "pictures_shown": len(images)}
            prompts.append(request("inspector", self._role, body, images, image_ids=ids_of(moments, images)))
            shown.append((tuple(moment.id for moment in moments), len(images)))
        replies = models.complete_all(prompts)
        _raise_if_all_failed(replies)
        findings = []
        for look, reply, (moment_ids, count) in zip(looks, replies, shown, strict=True):
            if not isinstance(reply, ChatError):
                text, confidence = split_confidence(reply.text)
                findings.append(
                    InspectionFinding(
                        targets=look.targets, text=shortened(text, FINDING_CHARS), moment_ids=moment_ids, shown=count, prompt=question,
                        confidence=confidence,
                    )
                )  # fmt: skip
        return findings


class _Look(NamedTuple):
    """Targets that are looked at together, and their pictures in the order of time."""

    targets: tuple[str, ...]
    moments: Sequence[Moment]


def _raise_if_all_failed(replies: Sequence[object]) -> None:
    failed = [reply for reply in replies if isinstance(reply, ChatError)]
    if failed and len(failed) == len(replies):
        raise failed[0]


def _by_notes(question: str, looks: Sequence[_Look], view: View) -> list[InspectionFinding]:
    """Without a language model a finding is what was recognised and read in the pictures."""
    findings = []
    for look in looks:
        notes = notes_of(look.moments, view)
        text = "; ".join(f"picture {note['picture']}: {', '.join(note['seen'])} {note.get('read', '')}".strip() for note in notes)
        ids = tuple(moment.id for moment in look.moments)
        findings.append(InspectionFinding(targets=look.targets, text=shortened(text, FINDING_CHARS), moment_ids=ids, prompt=question))
    return findings


def _seen_in(findings: Sequence[InspectionFinding], looks: Sequence[_Look], view: View, *, judged: bool) -> dict[str, Evidence]:
    """The pictures of the findings by evidence id, each with the largest confidence of a finding that saw it."""
    moments = {moment.id: moment for look in looks for moment in look.moments}
    found: dict[str, Evidence] = {}
    for finding in sorted(findings, key=lambda one: weight(one.confidence, judged=judged)):
        ordered = [moments[moment_id] for moment_id in sorted(finding.moment_ids, key=lambda one: (moments[one].t_us, one))]
        found.update({one.id: one for one in evidence_of(ordered, view, weight(finding.confidence, judged=judged))})
    return found


class AdjudicateTool(BaseTool):
    """Carries out `Adjudicate`: a verdict on each candidate, several at once. A verdict that cannot be read is no match; a candidate on
    which none came is left out of the judgements, so that nobody takes it for judged.
    """

    name = "adjudicate"
    action = Adjudicate

    def __init__(self, settings: JudgeSettings | None = None, models: Models | None = None) -> None:
        self._role = (settings or JudgeSettings()).adjudicator
        self._models = models

    def run(self, action: Adjudicate, view: View) -> Judged:
        """Raises ChatError when a verdict came on none of the candidates that have pictures."""
        if self._models is None or not self._models.there:
            return Judged(notes=("candidates were not judged: no language model is configured",))
        seen = {target.id: moments_of(view, target, JUDGED_FRAMES, action) for target in action.targets}
        asked = {
            target.id: self._prompt(action, target, seen[target.id], view, self._models) for target in action.targets if seen[target.id]
        }
        calls = [partial(_verdict, self._models, prompt) for prompt in asked.values()]
        verdicts = dict(zip(asked, self._models.at_once(calls), strict=True))
        _raise_if_all_failed(list(verdicts.values()))
        empty = [
            Judgement(target=t.id, match=False, confidence=0.0, reason="nothing was kept there") for t in action.targets if not seen[t.id]
        ]
        judged = [_judgement(name, verdict) for name, verdict in verdicts.items() if not isinstance(verdict, ChatError)]
        evidence: dict[str, Evidence] = {}
        for one in sorted(judged, key=lambda j: j.confidence if j.match else 0.0):
            evidence |= {e.id: e for e in evidence_of(seen[one.target], view, one.confidence if one.match else 0.0)}
        missing = len(verdicts) - len(judged)
        notes = (f"{missing} of {len(verdicts)} candidates could not be judged",) if missing else ()
        return Judged(evidence=tuple(evidence.values()), judgements=(*judged, *empty), notes=notes)

    def _prompt(self, action: Adjudicate, target: Target, moments: Sequence[Moment], view: View, models: Models) -> Prompt:
        moments, images = shown_of("adjudicator", moments, view, models)
        body = {
            "request": {"target_event": action.event, "verification_focus": action.verification_prompt or action.event},
            "candidate": {"document": target.hint, "from": to_iso(target.from_us), "to": to_iso(target.to_us)},
            "pictures": notes_of(moments, view),
            "pictures_shown": len(images),
        }
        return request("adjudicator", self._role, body, images, ADJUDICATION_SCHEMA, ids_of(moments, images))


def _verdict(models: Models, prompt: Prompt) -> Adjudication | None:
    """None where it cannot be read, not even after its repair. Raises ChatError."""
    try:
        return readable_reply(models, prompt, decode_adjudication)
    except UnreadableError:
        return None


def _judgement(target: str, verdict: Adjudication | None) -> Judgement:
    if verdict is None:
        return Judgement(target=target, match=False, confidence=0.0, reason="the verdict could not be read")
    return Judgement(
        target=target, match=verdict.match, confidence=verdict.confidence,
        observed_event=shortened(verdict.observed_event, _VERDICT_CHARS), reason=shortened(verdict.reason, _VERDICT_CHARS),
    )  # fmt: skip
